-- Which workspaces have notes that are in the full text index in portions: a search looks for these
-- in a second query.
CREATE INDEX fulltext_notes_long ON fulltext_notes (workspace) WHERE portions > 0;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('fulltext_notes', 'fulltext_notes_long', '100 10');
ANALYZE sqlite_schema;
