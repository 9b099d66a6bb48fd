
-- The tokens of notes, each preceded by the tag of its workspace. They are passed already
-- separated: the tokenizer only splits at spaces. The table keeps no copy of them. The body is the
-- first column: its entries need no mark of their column then. The rows of a long note, one for each
-- portion, have negative numbers.
CREATE VIRTUAL TABLE search
    USING fts5 (body, name, tokenize = 'ascii', content = '', columnsize = 0);

-- The key that was assigned last. Keys are not reused: what is left of a removed note in the table
-- is not found.
CREATE TABLE search_numbers (
    last INTEGER NOT NULL
) STRICT;
INSERT INTO search_numbers (last) VALUES (0);

-- Which workspaces have notes that are in the full text index in portions: a search looks for these
-- in a second query.
CREATE INDEX fulltext_notes_long ON fulltext_notes (workspace) WHERE portions > 0;

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
    ('files', 'files_of_program', '50000 5000'),
    ('revisions', 'revisions', '5000000 50000 10 1'),
    ('revisions', 'revisions_by_id', '5000000 50000 1'),
    ('revisions', 'revisions_by_file', '5000000 50000 5 1'),
    ('revisions', 'revisions_by_program', '250000 2500 250'),
    ('revisions', 'revisions_of_program', '250000 25000'),
    ('documents', 'sqlite_autoindex_documents_1', '1000000 10000 1'),
    ('document_updates', 'document_updates', '100000 1000 10 1'),
    ('fulltext_notes', 'fulltext_notes_by_file', '1000000 10000 1'),
    ('fulltext_notes', 'fulltext_notes_long', '100 10'),
    ('fulltext_beginnings', 'fulltext_beginnings_by_file', '100 10 1'),
    ('fulltext_removals', 'fulltext_removals_by_workspace', '1000 100'),
    ('link_index', 'link_index', '1000000 10000 1'),
    ('link_sources', 'link_sources', '5000000 50000 5 1'),
    ('link_targets', 'link_targets', '5000000 50000 2 1'),
    ('receipts', 'receipts', '1000000 10000 1'),
    ('removed_marks', 'removed_marks', '100000 1000 1 1'),
    ('removed_marks', 'removed_marks_by_time', '100000 10'),
    ('restorations', 'restorations', '10000 100 1'),
    ('restorations', 'restorations_by_start', '10000 100 1 1'),
    ('folder_purges', 'folder_purges', '10000 1000 5 1');
ANALYZE sqlite_schema;
