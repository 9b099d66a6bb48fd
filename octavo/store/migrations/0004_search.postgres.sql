-- The tokens of notes, each behind the tag of its workspace, under the number of the note: those of
-- its name in piece 0, those of its text in the others, as a vector holds only so many.
CREATE SEQUENCE search_numbers;
CREATE TABLE search (
    workspace_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    piece BIGINT NOT NULL,
    tokens TSVECTOR NOT NULL,
    PRIMARY KEY (workspace_id, number, piece)
);
-- What waits to be sorted into the index is read by every search: little may wait (kB).
CREATE INDEX search_by_tokens ON search USING GIN (tokens) WITH (gin_pending_list_limit = 256);

-- Whether words that were taken out are to be overwritten where an index still has them: 0 for no,
-- 1 when it was asked for, 2 when it was begun.
CREATE TABLE erasing (
    state BIGINT NOT NULL
);
INSERT INTO erasing (state) VALUES (0);
