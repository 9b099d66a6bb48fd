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
CREATE INDEX search_by_tokens ON search USING GIN (tokens);
