-- How many rows the planner may expect for the first columns of each index whose first column is the
-- workspace. Without these numbers it assumes ten files in a workspace, and reads all of its rows to
-- find three of them. They are fixed, for a workspace with ten thousand files, so that a statement
-- has the same plan in every database: nothing else runs ANALYZE.
-- https://www.sqlite.org/fileformat2.html#stat1tab
--
-- The first statement creates the table of the statistics, the last one loads them.
ANALYZE sqlite_schema;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('files', 'files', '1000000 10000 1'),
    ('files', 'files_by_id', '1000000 10000 1'),
    ('files', 'files_by_position', '1000000 10000 10'),
    ('files', 'files_by_path', '1000000 10000 5000 1'),
    ('files', 'files_by_revision', '1000000 10000 1'),
    ('files', 'files_by_program', '50000 500 50'),
    ('revisions', 'revisions', '5000000 50000 10 1'),
    ('revisions', 'revisions_by_id', '5000000 50000 1'),
    ('revisions', 'revisions_by_file', '5000000 50000 5 1'),
    ('revisions', 'revisions_by_program', '250000 2500 250'),
    ('documents', 'sqlite_autoindex_documents_1', '1000000 10000 1'),
    ('fulltext_notes', 'fulltext_notes_by_file', '1000000 10000 1'),
    ('link_index', 'link_index', '1000000 10000 1'),
    ('link_sources', 'link_sources', '5000000 50000 5 1'),
    ('link_targets', 'link_targets', '5000000 50000 2 1'),
    ('receipts', 'receipts', '1000000 10000 1'),
    ('restorations', 'restorations', '10000 100 1'),
    ('restorations', 'restorations_by_start', '10000 100 1 1'),
    ('folder_purges', 'folder_purges', '10000 1000 5 1');
ANALYZE sqlite_schema;
