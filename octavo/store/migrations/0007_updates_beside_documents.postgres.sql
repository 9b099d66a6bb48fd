-- Updates of devices that were merged into a document since it was stored, in the order of the
-- positions that they came with: each follows its length.
CREATE TABLE document_updates (
    workspace BIGINT NOT NULL,
    file BIGINT NOT NULL,
    position BIGINT NOT NULL,
    updates BYTEA NOT NULL,
    PRIMARY KEY (workspace, file, position)
);
