CREATE TABLE accounts (
    id BLOB NOT NULL PRIMARY KEY,
    address TEXT NOT NULL UNIQUE,
    display_name TEXT NOT NULL,
    password TEXT NOT NULL,
    role TEXT NOT NULL,
    state TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    theme_family TEXT NOT NULL DEFAULT 'paper',
    appearance TEXT NOT NULL DEFAULT 'system',
    spell_check INTEGER NOT NULL DEFAULT 1,
    lock_reason TEXT,
    storage_limit INTEGER,
    controls_revision INTEGER NOT NULL DEFAULT 1,
    controls_locked INTEGER NOT NULL DEFAULT 0,
    controls_lock_reason TEXT,
    controls_storage_limit INTEGER,
    controls_download_bytes INTEGER,
    controls_download_objects INTEGER,
    controls_publishing INTEGER NOT NULL DEFAULT 1,
    consent_terms TEXT,
    consent_privacy TEXT,
    consent_at INTEGER,
    address_proven INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE TABLE removed_accounts (
    id BLOB NOT NULL PRIMARY KEY,
    removed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE audit (
    id BLOB NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    actor TEXT,
    actor_id BLOB,
    subject_id BLOB,
    client TEXT,
    outcome TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_by_kind ON audit (kind);
CREATE INDEX audit_by_actor ON audit (actor_id) WHERE actor_id IS NOT NULL;
CREATE INDEX audit_by_subject ON audit (subject_id) WHERE subject_id IS NOT NULL;
CREATE TABLE audit_erasures (
    account_id BLOB NOT NULL PRIMARY KEY,
    after_id BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE installation (
    registration_policy TEXT NOT NULL
) STRICT;
INSERT INTO installation (registration_policy) VALUES ('invitation');
CREATE TABLE portal_tokens (
    digest BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX portal_tokens_by_account ON portal_tokens (account_id);
CREATE TABLE account_usage (
    account_id BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    month TEXT NOT NULL,
    download_bytes INTEGER NOT NULL,
    download_objects INTEGER NOT NULL,
    PRIMARY KEY (account_id, month)
) STRICT, WITHOUT ROWID;
CREATE INDEX account_usage_by_month ON account_usage (month);
CREATE TABLE installation_usage (
    month TEXT NOT NULL PRIMARY KEY,
    download_bytes INTEGER NOT NULL,
    download_objects INTEGER NOT NULL,
    write_objects INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE usage_writers (
    id BLOB NOT NULL PRIMARY KEY,
    batch INTEGER NOT NULL,
    written_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE mail_budgets (
    address TEXT NOT NULL PRIMARY KEY,
    paid_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE outbox (
    id BLOB NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    address TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    due_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX outbox_by_due ON outbox (due_at);
CREATE TABLE password_resets (
    digest BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX password_resets_by_account ON password_resets (account_id);
CREATE TABLE sessions (
    id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    digest BLOB NOT NULL UNIQUE,
    device TEXT NOT NULL,
    client TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    active_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_account ON sessions (account_id);
CREATE TABLE api_keys (
    id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    digest BLOB NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    used_at INTEGER,
    scopes TEXT,
    workspaces TEXT,
    folder TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX api_keys_by_account ON api_keys (account_id);
CREATE INDEX api_keys_by_folder ON api_keys (workspaces) WHERE folder IS NOT NULL;
CREATE TABLE workspaces (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id BLOB NOT NULL UNIQUE,
    name TEXT NOT NULL,
    position INTEGER NOT NULL,
    last_file INTEGER NOT NULL DEFAULT 0,
    size INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL
) STRICT;
CREATE TABLE invitations (
    id BLOB NOT NULL PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    address TEXT,
    role TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at INTEGER,
    revoked_at INTEGER,
    bootstrap INTEGER NOT NULL DEFAULT 0,
    workspace_id BLOB REFERENCES workspaces (id) ON DELETE CASCADE,
    workspace_role TEXT,
    created_by_id BLOB
) STRICT, WITHOUT ROWID;
CREATE INDEX invitations_by_workspace ON invitations (workspace_id);
CREATE INDEX invitations_unused ON invitations (workspace_id, expires_at)
    WHERE used_at IS NULL AND revoked_at IS NULL;
CREATE INDEX invitations_by_end ON invitations ((COALESCE(used_at, revoked_at, expires_at)));
CREATE TABLE members (
    workspace_id BLOB NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    account_id BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    role TEXT NOT NULL,
    joined_at INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, account_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX members_by_account ON members (account_id, workspace_id);
CREATE TABLE deleted_workspaces (
    id BLOB NOT NULL PRIMARY KEY,
    number INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE files (
    workspace INTEGER NOT NULL,
    number INTEGER NOT NULL,
    file_id BLOB NOT NULL,
    state TEXT NOT NULL,
    kind TEXT NOT NULL,
    path TEXT NOT NULL,
    revision_id BLOB NOT NULL,
    position INTEGER NOT NULL,
    content_id BLOB,
    content INTEGER,
    digest BLOB NOT NULL,
    size INTEGER NOT NULL,
    media_type TEXT,
    author_id BLOB NOT NULL,
    mutation_id BLOB NOT NULL,
    changed_at INTEGER NOT NULL,
    origin TEXT NOT NULL,
    program INTEGER,
    PRIMARY KEY (workspace, number)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX files_by_id ON files (workspace, file_id);
CREATE INDEX files_by_position ON files (workspace, position);
CREATE INDEX files_by_path ON files (workspace, state, path);
CREATE INDEX files_by_revision ON files (workspace, revision_id);
CREATE INDEX files_by_program ON files (workspace, program) WHERE program IS NOT NULL;
CREATE TABLE revisions (
    workspace INTEGER NOT NULL,
    position INTEGER NOT NULL,
    file INTEGER NOT NULL,
    state TEXT NOT NULL,
    path TEXT NOT NULL,
    revision_id BLOB NOT NULL,
    content_id BLOB,
    content INTEGER,
    digest BLOB NOT NULL,
    size INTEGER NOT NULL,
    media_type TEXT,
    author_id BLOB NOT NULL,
    mutation_id BLOB NOT NULL,
    changed_at INTEGER NOT NULL,
    origin TEXT NOT NULL,
    program INTEGER,
    PRIMARY KEY (workspace, position, file)
) STRICT, WITHOUT ROWID;
CREATE INDEX revisions_by_file ON revisions (workspace, file, position);
CREATE INDEX revisions_by_id ON revisions (workspace, revision_id);
CREATE INDEX revisions_by_program ON revisions (workspace, program) WHERE program IS NOT NULL;
CREATE TABLE folder_purges (
    workspace INTEGER NOT NULL,
    file INTEGER NOT NULL,
    key_id BLOB NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
    PRIMARY KEY (workspace, file, key_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX folder_purges_by_key ON folder_purges (key_id);
CREATE TABLE contents (
    number INTEGER PRIMARY KEY,
    compressed BLOB NOT NULL
) STRICT;
CREATE TABLE purged_contents (
    content INTEGER PRIMARY KEY,
    size INTEGER NOT NULL
) STRICT;
CREATE TABLE blobs (
    key TEXT NOT NULL PRIMARY KEY,
    digest BLOB NOT NULL,
    size INTEGER NOT NULL,
    crc INTEGER NOT NULL,
    stored INTEGER NOT NULL,
    check_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX blobs_by_digest ON blobs (digest);
CREATE INDEX blobs_by_check ON blobs (check_at) WHERE check_at IS NOT NULL;
CREATE TABLE deleted_blobs (
    key TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;
CREATE TABLE uploads (
    id BLOB NOT NULL PRIMARY KEY,
    workspace_id BLOB NOT NULL,
    account_id BLOB NOT NULL,
    blob TEXT NOT NULL,
    media_type TEXT NOT NULL,
    width INTEGER NOT NULL,
    height INTEGER NOT NULL,
    frames INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX uploads_by_blob ON uploads (blob);
CREATE INDEX uploads_by_expiry ON uploads (expires_at);
CREATE INDEX uploads_by_account ON uploads (account_id);
CREATE INDEX uploads_by_workspace ON uploads (workspace_id);
CREATE TABLE imports (
    id BLOB NOT NULL PRIMARY KEY,
    workspace_id BLOB NOT NULL,
    account_id BLOB NOT NULL,
    read INTEGER NOT NULL,
    total INTEGER NOT NULL,
    files INTEGER NOT NULL,
    result TEXT,
    failure TEXT,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX imports_by_expiry ON imports (expires_at);
CREATE INDEX imports_by_account ON imports (account_id);
CREATE INDEX imports_by_workspace ON imports (workspace_id);
CREATE TABLE import_parts (
    import_id BLOB NOT NULL REFERENCES imports (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    blob TEXT NOT NULL,
    PRIMARY KEY (import_id, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX import_parts_by_blob ON import_parts (blob);
CREATE TABLE archive_jobs (
    slot INTEGER NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL UNIQUE,
    job_id BLOB NOT NULL,
    renewed_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE images (
    number INTEGER PRIMARY KEY,
    blob TEXT NOT NULL,
    width INTEGER NOT NULL,
    height INTEGER NOT NULL,
    frames INTEGER NOT NULL
) STRICT;
CREATE INDEX images_by_blob ON images (blob);
CREATE TABLE thumbnails (
    image TEXT NOT NULL,
    width INTEGER NOT NULL,
    blob TEXT NOT NULL,
    PRIMARY KEY (image, width)
) STRICT, WITHOUT ROWID;
CREATE INDEX thumbnails_by_blob ON thumbnails (blob);
CREATE TABLE receipts (
    workspace INTEGER NOT NULL,
    mutation_id BLOB NOT NULL,
    fingerprint BLOB NOT NULL,
    position INTEGER NOT NULL,
    changes BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (workspace, mutation_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE restorations (
    workspace INTEGER NOT NULL,
    id BLOB NOT NULL,
    account_id BLOB NOT NULL,
    continuer_id BLOB,
    moment INTEGER,
    target INTEGER NOT NULL,
    present INTEGER NOT NULL,
    folder TEXT NOT NULL,
    state TEXT NOT NULL,
    steps INTEGER NOT NULL,
    last INTEGER NOT NULL,
    total INTEGER NOT NULL,
    done INTEGER NOT NULL,
    left_count INTEGER NOT NULL,
    left_files TEXT NOT NULL,
    failure TEXT,
    started_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (workspace, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX restorations_running ON restorations (updated_at) WHERE state = 'running';
CREATE TABLE documents (
    workspace INTEGER NOT NULL,
    file INTEGER NOT NULL,
    epoch_id BLOB NOT NULL,
    state BLOB NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (workspace, file)
) STRICT;
CREATE TABLE link_index (
    workspace INTEGER NOT NULL,
    file INTEGER NOT NULL,
    targets BLOB NOT NULL,
    sources BLOB NOT NULL,
    PRIMARY KEY (workspace, file)
) STRICT, WITHOUT ROWID;
CREATE TABLE link_targets (
    workspace INTEGER NOT NULL,
    key INTEGER NOT NULL,
    file INTEGER NOT NULL,
    PRIMARY KEY (workspace, key, file)
) STRICT, WITHOUT ROWID;
CREATE TABLE link_sources (
    workspace INTEGER NOT NULL,
    key INTEGER NOT NULL,
    file INTEGER NOT NULL,
    PRIMARY KEY (workspace, key, file)
) STRICT, WITHOUT ROWID;
CREATE VIRTUAL TABLE search
    USING fts5 (body, name, tokenize = 'ascii', content = '', columnsize = 0);
CREATE TABLE search_numbers (
    last INTEGER NOT NULL
) STRICT;
INSERT INTO search_numbers (last) VALUES (0);
CREATE TABLE fulltext_notes (
    number INTEGER PRIMARY KEY,
    workspace INTEGER NOT NULL,
    file INTEGER NOT NULL,
    content INTEGER NOT NULL,
    path TEXT
) STRICT;
CREATE UNIQUE INDEX fulltext_notes_by_file ON fulltext_notes (workspace, file);
CREATE TABLE index_cursors (
    workspace INTEGER NOT NULL,
    name TEXT NOT NULL,
    position INTEGER NOT NULL,
    file INTEGER NOT NULL,
    PRIMARY KEY (workspace, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE fulltext_erasure (
    state INTEGER NOT NULL
) STRICT;
INSERT INTO fulltext_erasure (state) VALUES (0);
CREATE TABLE publications (
    id BLOB NOT NULL PRIMARY KEY,
    workspace_id BLOB NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    digest BLOB NOT NULL UNIQUE,
    file_id BLOB,
    folder TEXT,
    label TEXT,
    password TEXT,
    openings INTEGER,
    opened INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    taken_down_at INTEGER,
    created_by_id BLOB
) STRICT, WITHOUT ROWID;
CREATE INDEX publications_by_workspace ON publications (workspace_id, id);
CREATE INDEX publications_by_creator ON publications (created_by_id)
    WHERE created_by_id IS NOT NULL;
CREATE INDEX publications_by_end ON publications ((COALESCE(revoked_at, expires_at)));
CREATE TABLE link_reports (
    id BLOB NOT NULL PRIMARY KEY,
    publication_id BLOB NOT NULL REFERENCES publications (id) ON DELETE CASCADE,
    digest BLOB NOT NULL UNIQUE,
    reason TEXT NOT NULL,
    note TEXT,
    reported_at INTEGER NOT NULL,
    mailed INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX link_reports_by_publication ON link_reports (publication_id);
CREATE TABLE signing_keys (
    purpose TEXT NOT NULL,
    number INTEGER NOT NULL,
    secret BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (purpose, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE rendered_notes (
    content INTEGER NOT NULL PRIMARY KEY REFERENCES contents (number) ON DELETE CASCADE,
    digest BLOB NOT NULL,
    version INTEGER NOT NULL,
    compressed BLOB NOT NULL,
    size INTEGER NOT NULL,
    used_at INTEGER NOT NULL
) STRICT;
CREATE INDEX rendered_notes_by_use ON rendered_notes (used_at, size);
CREATE TABLE oauth_clients (
    id BLOB NOT NULL PRIMARY KEY,
    metadata TEXT NOT NULL,
    secret_digest BLOB,
    management_digest BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    granted_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX oauth_clients_without_grant ON oauth_clients (created_at) WHERE granted_at IS NULL;
CREATE TABLE oauth_programs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    client TEXT NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (client, name)
) STRICT;
CREATE TABLE oauth_grants (
    id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    program INTEGER NOT NULL REFERENCES oauth_programs (number),
    scopes TEXT NOT NULL,
    workspaces TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    used_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX oauth_grants_by_account ON oauth_grants (account_id);
CREATE INDEX oauth_grants_by_program ON oauth_grants (program);
CREATE TABLE oauth_codes (
    digest BLOB NOT NULL PRIMARY KEY,
    grant_id BLOB NOT NULL REFERENCES oauth_grants (id) ON DELETE CASCADE,
    redirect_uri TEXT,
    challenge TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX oauth_codes_by_grant ON oauth_codes (grant_id);
CREATE TABLE oauth_tokens (
    digest BLOB NOT NULL PRIMARY KEY,
    grant_id BLOB NOT NULL REFERENCES oauth_grants (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    scopes TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX oauth_tokens_by_grant ON oauth_tokens (grant_id);
CREATE INDEX oauth_tokens_by_end ON oauth_tokens (expires_at);
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
    ('folder_purges', 'folder_purges', '10000 1000 5 1');
ANALYZE sqlite_schema;
CREATE INDEX restorations_by_start ON restorations (workspace, started_at, id);
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('restorations', 'restorations_by_start', '10000 100 1 1');
ANALYZE sqlite_schema;
ALTER TABLE fulltext_notes ADD COLUMN portions INTEGER NOT NULL DEFAULT 0;
CREATE TABLE fulltext_beginnings (
    number INTEGER PRIMARY KEY,
    workspace INTEGER NOT NULL,
    file INTEGER NOT NULL,
    content INTEGER NOT NULL,
    portions INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX fulltext_beginnings_by_file ON fulltext_beginnings (workspace, file);
CREATE TABLE fulltext_removals (
    number INTEGER PRIMARY KEY,
    workspace INTEGER NOT NULL,
    content INTEGER NOT NULL,
    path TEXT,
    portions INTEGER NOT NULL,
    removed INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX fulltext_removals_by_workspace ON fulltext_removals (workspace);
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('fulltext_beginnings', 'fulltext_beginnings_by_file', '100 10 1'),
    ('fulltext_removals', 'fulltext_removals_by_workspace', '1000 100');
ANALYZE sqlite_schema;
ALTER TABLE workspaces ADD COLUMN documents_read INTEGER NOT NULL DEFAULT 0;
UPDATE workspaces SET documents_read = 1;
CREATE TABLE following_documents (
    workspace INTEGER NOT NULL,
    file INTEGER NOT NULL,
    epoch_id BLOB NOT NULL,
    content_id BLOB,
    vector BLOB NOT NULL,
    state BLOB NOT NULL,
    PRIMARY KEY (workspace, file)
) STRICT;
INSERT INTO following_documents (workspace, file, epoch_id, content_id, vector, state)
SELECT documents.workspace, documents.file, documents.epoch_id,
    COALESCE(files.content_id, files.revision_id), documents.vector, documents.state
FROM documents LEFT JOIN files
    ON files.workspace = documents.workspace AND files.number = documents.file;
DROP TABLE documents;
ALTER TABLE following_documents RENAME TO documents;
DELETE FROM sqlite_stat1 WHERE tbl = 'following_documents' OR tbl = 'documents';
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('documents', 'sqlite_autoindex_documents_1', '1000000 10000 1');
ANALYZE sqlite_schema;
CREATE INDEX fulltext_notes_long ON fulltext_notes (workspace) WHERE portions > 0;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('fulltext_notes', 'fulltext_notes_long', '100 10');
ANALYZE sqlite_schema;
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
