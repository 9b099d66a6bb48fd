
-- Texts are compressed already.
ALTER TABLE contents ALTER COLUMN compressed SET STORAGE EXTERNAL;
CREATE SEQUENCE content_numbers;

-- The tokens of notes, each preceded by the tag of its workspace: those of the name in piece 0,
-- those of the text in the others, as a vector has a limited size. The note is its key in
-- fulltext_notes, fulltext_beginnings or fulltext_removals.
CREATE SEQUENCE search_numbers;
CREATE TABLE search (
    workspace_id UUID NOT NULL,
    note BIGINT NOT NULL,
    piece BIGINT NOT NULL,
    tokens TSVECTOR NOT NULL,
    PRIMARY KEY (workspace_id, note, piece)
);
-- Every search reads the entries that are not yet sorted into the index: their size is limited
-- (kB).
CREATE INDEX search_by_tokens ON search USING GIN (tokens) WITH (gin_pending_list_limit = 256);
