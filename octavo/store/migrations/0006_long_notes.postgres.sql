-- The same number as on SQLite, where searches look for long notes in a second query.
SELECT 1;
