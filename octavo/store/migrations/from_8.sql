-- What version 9 of the schema added.

-- The mark of the newest position: a revision that its changeset made.
ALTER TABLE workspaces ADD COLUMN mark_id {uuid} NOT NULL DEFAULT {nil};
UPDATE workspaces SET mark_id = COALESCE((
    SELECT revision_id FROM files
    WHERE files.workspace = workspaces.number AND files.position = workspaces.position
    ORDER BY revision_id DESC LIMIT 1
), mark_id);

-- The mark of the position of a receipt.
ALTER TABLE receipts ADD COLUMN mark_id {uuid} NOT NULL DEFAULT {nil};
UPDATE receipts SET mark_id = COALESCE((
    SELECT revision_id FROM files
    WHERE files.workspace = receipts.workspace AND files.position = receipts.position
    ORDER BY revision_id DESC LIMIT 1
), (
    SELECT revision_id FROM revisions
    WHERE revisions.workspace = receipts.workspace AND revisions.position = receipts.position
    ORDER BY revision_id DESC LIMIT 1
), mark_id);

CREATE TABLE removed_marks (
    workspace {int} NOT NULL,
    position {int} NOT NULL,
    mark_id {uuid} NOT NULL,
    removed_at {int} NOT NULL,
    PRIMARY KEY (workspace, position, mark_id)
){strict_by_key};
CREATE INDEX removed_marks_by_time ON removed_marks (removed_at);

ALTER TABLE workspaces RENAME COLUMN documents_read TO documents_were_read;
