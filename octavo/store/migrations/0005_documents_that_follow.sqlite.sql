-- 1 when somebody may have read the document of a note. Until then a note needs no document.
ALTER TABLE workspaces ADD COLUMN documents_read INTEGER NOT NULL DEFAULT 0;
UPDATE workspaces SET documents_read = 1;

-- A document names the content whose text it has; that of the head may be newer. Without a state
-- vector it is the insertion of a text, which is stored in place of its state. The state comes last:
-- the other columns are read without it.
CREATE TABLE following_documents (
    workspace INTEGER NOT NULL,
    file INTEGER NOT NULL,
    epoch_id BLOB NOT NULL,
    content_id BLOB,
    vector BLOB NOT NULL,
    state BLOB NOT NULL,
    PRIMARY KEY (workspace, file)
) STRICT;
INSERT INTO following_documents (workspace, file, epoch_id, content_id, vector, state)
SELECT documents.workspace, documents.file, documents.epoch_id,
    COALESCE(files.content_id, files.revision_id), documents.vector, documents.state
FROM documents LEFT JOIN files
    ON files.workspace = documents.workspace AND files.number = documents.file;
DROP TABLE documents;
ALTER TABLE following_documents RENAME TO documents;
DELETE FROM sqlite_stat1 WHERE tbl = 'following_documents' OR tbl = 'documents';
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('documents', 'sqlite_autoindex_documents_1', '1000000 10000 1');
ANALYZE sqlite_schema;
