-- A long note is in the full text index in portions: its rows there have negative numbers. This is
-- how many portions its text has; 0 for a note that is one row.
ALTER TABLE fulltext_notes ADD COLUMN portions INTEGER NOT NULL DEFAULT 0;

-- Long notes that are indexed in part, with as many portions of their texts. They are not found.
CREATE TABLE fulltext_beginnings (
    number INTEGER PRIMARY KEY,
    workspace INTEGER NOT NULL,
    file INTEGER NOT NULL,
    content INTEGER NOT NULL,
    portions INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX fulltext_beginnings_by_file ON fulltext_beginnings (workspace, file);

-- Notes that are no longer found, and whose words are still to be removed from the full text index,
-- from a portion on. The path is NULL when its words are not in the index.
CREATE TABLE fulltext_removals (
    number INTEGER PRIMARY KEY,
    workspace INTEGER NOT NULL,
    content INTEGER NOT NULL,
    path TEXT,
    portions INTEGER NOT NULL,
    removed INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX fulltext_removals_by_workspace ON fulltext_removals (workspace);

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('fulltext_beginnings', 'fulltext_beginnings_by_file', '100 10 1'),
    ('fulltext_removals', 'fulltext_removals_by_workspace', '1000 100');
ANALYZE sqlite_schema;
