-- How many portions the text of a long note has; 0 for a note that was indexed as a whole.
ALTER TABLE fulltext_notes ADD COLUMN portions BIGINT NOT NULL DEFAULT 0;

-- Long notes that are indexed in part, with as many portions of their texts. They are not found.
CREATE TABLE fulltext_beginnings (
    number BIGINT PRIMARY KEY,
    workspace BIGINT NOT NULL,
    file BIGINT NOT NULL,
    content BIGINT NOT NULL,
    portions BIGINT NOT NULL
);
CREATE UNIQUE INDEX fulltext_beginnings_by_file ON fulltext_beginnings (workspace, file);

-- Notes that are no longer found, and whose words are still to be removed from the full text index,
-- from a portion on. The path is NULL when its words are not in the index.
CREATE TABLE fulltext_removals (
    number BIGINT PRIMARY KEY,
    workspace BIGINT NOT NULL,
    content BIGINT NOT NULL,
    path TEXT,
    portions BIGINT NOT NULL,
    removed BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX fulltext_removals_by_workspace ON fulltext_removals (workspace);
