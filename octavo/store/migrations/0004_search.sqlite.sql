-- The tokens of notes, each behind the tag of its workspace, under the number of the note. They come
-- made: the tokenizer has nothing to do but to split at spaces. The table keeps no copy of them.
CREATE VIRTUAL TABLE search
    USING fts5 (name, body, tokenize = 'ascii', content = '', columnsize = 0);

-- The number that was given last. None is given twice: whatever is left of a note in the table when
-- it was taken out, nobody finds.
CREATE TABLE search_numbers (
    last BIGINT NOT NULL
);
INSERT INTO search_numbers (last) VALUES (0);

-- Whether words that were taken out are to be overwritten where an index still has them: 0 for no,
-- 1 when it was asked for, 2 when it was begun.
CREATE TABLE erasing (
    state BIGINT NOT NULL
);
INSERT INTO erasing (state) VALUES (0);
