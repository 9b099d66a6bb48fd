-- When nobody allowed the program anything any more; null while somebody does.
ALTER TABLE oauth_programs ADD COLUMN ended_at BIGINT;

-- Whether any revision refers to a program.
CREATE INDEX files_of_program ON files (program) WHERE program IS NOT NULL;
CREATE INDEX revisions_of_program ON revisions (program) WHERE program IS NOT NULL;
