-- The mark of the newest position: a revision that its changeset made. Positions can be given twice,
-- when a history was taken back; marks can't. Position 0 has the nil UUID.
ALTER TABLE workspaces ADD COLUMN mark_id UUID NOT NULL
    DEFAULT '00000000-0000-0000-0000-000000000000';
UPDATE workspaces SET mark_id = COALESCE((
    SELECT revision_id FROM files
    WHERE files.workspace = workspaces.number AND files.position = workspaces.position
    ORDER BY revision_id DESC LIMIT 1
), mark_id);

-- The mark of the position of a receipt.
ALTER TABLE receipts ADD COLUMN mark_id UUID NOT NULL
    DEFAULT '00000000-0000-0000-0000-000000000000';
UPDATE receipts SET mark_id = COALESCE((
    SELECT revision_id FROM files
    WHERE files.workspace = receipts.workspace AND files.position = receipts.position
    ORDER BY revision_id DESC LIMIT 1
), (
    SELECT revision_id FROM revisions
    WHERE revisions.workspace = receipts.workspace AND revisions.position = receipts.position
    ORDER BY revision_id DESC LIMIT 1
), mark_id);

-- The marks of revisions that history pruning has removed.
CREATE TABLE removed_marks (
    workspace BIGINT NOT NULL,
    position BIGINT NOT NULL,
    mark_id UUID NOT NULL,
    removed_at BIGINT NOT NULL,
    PRIMARY KEY (workspace, position, mark_id)
);
CREATE INDEX removed_marks_by_time ON removed_marks (removed_at);

-- A process of a version that knows no marks would move positions without them. It can't move any
-- from here on, should it still be running.
ALTER TABLE workspaces RENAME COLUMN documents_read TO documents_were_read;

