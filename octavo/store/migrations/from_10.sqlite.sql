
-- On PostgreSQL, these indexes had the second column already.
DROP INDEX audit_by_kind;
DROP INDEX audit_by_actor;
DROP INDEX audit_by_subject;
CREATE INDEX audit_by_kind ON audit (kind, id);
CREATE INDEX audit_by_actor ON audit (actor_id, id) WHERE actor_id IS NOT NULL;
CREATE INDEX audit_by_subject ON audit (subject_id, id) WHERE subject_id IS NOT NULL;

DELETE FROM sqlite_stat1 WHERE tbl = 'removed_marks' OR idx LIKE '%_of_program';
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('files', 'files_of_program', '50000 5000'),
    ('revisions', 'revisions_of_program', '250000 25000'),
    ('removed_marks', 'removed_marks', '100000 1000 1 1'),
    ('removed_marks', 'removed_marks_by_time', '100000 10');
ANALYZE sqlite_schema;
