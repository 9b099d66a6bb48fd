-- The names of the baseline. A process of an earlier version that should still be running can't save
-- anything from here on.

ALTER TABLE workspaces RENAME COLUMN number TO pk;
ALTER TABLE deleted_workspaces RENAME COLUMN number TO pk;
ALTER TABLE files RENAME COLUMN number TO pk;
ALTER TABLE files RENAME COLUMN content_id TO content_revision_id;
ALTER TABLE revisions RENAME COLUMN content_id TO content_revision_id;
ALTER TABLE documents RENAME COLUMN content_id TO content_revision_id;
ALTER TABLE contents RENAME COLUMN number TO pk;
ALTER TABLE images RENAME COLUMN number TO pk;
ALTER TABLE fulltext_notes RENAME COLUMN number TO pk;
ALTER TABLE fulltext_beginnings RENAME COLUMN number TO pk;
ALTER TABLE fulltext_removals RENAME COLUMN number TO pk;
ALTER TABLE oauth_programs RENAME COLUMN number TO pk;
ALTER TABLE mail_budgets RENAME COLUMN paid_at TO theoretical_arrival_at;
ALTER TABLE imports RENAME COLUMN read TO bytes_read;
ALTER TABLE restorations RENAME COLUMN present TO start_position;
ALTER TABLE restorations RENAME COLUMN last TO last_position;
ALTER TABLE restorations RENAME COLUMN left_count TO skipped_count;
ALTER TABLE restorations RENAME COLUMN left_files TO skipped_files;
