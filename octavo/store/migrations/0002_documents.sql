-- The Yjs document of each note whose text changed since it was made. As long as a note has none, its
-- document is the insertion of its text, which follows from the text.
CREATE TABLE documents (
    workspace_id TEXT NOT NULL,
    file_id TEXT NOT NULL,
    epoch TEXT NOT NULL,
    state BYTEA NOT NULL,
    vector BYTEA NOT NULL,
    PRIMARY KEY (workspace_id, file_id)
);

-- By which way a revision came.
ALTER TABLE files ADD COLUMN origin TEXT NOT NULL DEFAULT 'device';
ALTER TABLE revisions ADD COLUMN origin TEXT NOT NULL DEFAULT 'device';
