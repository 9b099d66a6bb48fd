-- When nobody allowed the program anything any more; null while somebody does.
ALTER TABLE oauth_programs ADD COLUMN ended_at INTEGER;

-- Whether any revision refers to a program.
CREATE INDEX files_of_program ON files (program) WHERE program IS NOT NULL;
CREATE INDEX revisions_of_program ON revisions (program) WHERE program IS NOT NULL;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('files', 'files_of_program', '50000 5000'),
    ('revisions', 'revisions_of_program', '250000 25000');
ANALYZE sqlite_schema;
