-- 1 when somebody may have read the document of a note. Until then a note needs no document.
ALTER TABLE workspaces ADD COLUMN documents_read SMALLINT NOT NULL DEFAULT 0;
UPDATE workspaces SET documents_read = 1;

-- The content whose text the document has; that of the head may be newer. A document without a
-- state vector is the insertion of a text, which is stored in place of its state.
ALTER TABLE documents ADD COLUMN content_id UUID;
UPDATE documents SET content_id = (
    SELECT COALESCE(files.content_id, files.revision_id) FROM files
    WHERE files.workspace = documents.workspace AND files.number = documents.file
);
