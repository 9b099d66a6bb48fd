-- A process of a version that knows no updates beside documents would store documents without them.
-- It can't read or store any document from here on, should it still be running.
ALTER TABLE documents RENAME COLUMN state TO base_state;
