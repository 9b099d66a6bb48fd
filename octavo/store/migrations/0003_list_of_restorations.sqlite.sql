-- The restorations of a workspace are listed by the time of their start.
CREATE INDEX restorations_by_start ON restorations (workspace, started_at, id);
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('restorations', 'restorations_by_start', '10000 100 1 1');
ANALYZE sqlite_schema;
