-- Updates of devices that were merged into a document since it was stored, in the order of the
-- positions that they came with: each follows its length.
CREATE TABLE document_updates (
    workspace INTEGER NOT NULL,
    file INTEGER NOT NULL,
    position INTEGER NOT NULL,
    updates BLOB NOT NULL,
    PRIMARY KEY (workspace, file, position)
) STRICT, WITHOUT ROWID;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('document_updates', 'document_updates', '100000 1000 10 1');
ANALYZE sqlite_schema;
