-- The restorations of a workspace are listed by the time of their start.
CREATE INDEX restorations_by_start ON restorations (workspace, started_at, id);
