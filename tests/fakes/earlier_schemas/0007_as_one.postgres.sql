CREATE TABLE accounts (
    id UUID NOT NULL PRIMARY KEY,
    address TEXT COLLATE "C" NOT NULL UNIQUE,
    display_name TEXT COLLATE "C" NOT NULL,
    password TEXT COLLATE "C" NOT NULL,
    role TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    theme_family TEXT COLLATE "C" NOT NULL DEFAULT 'paper',
    appearance TEXT COLLATE "C" NOT NULL DEFAULT 'system',
    spell_check BIGINT NOT NULL DEFAULT 1,
    lock_reason TEXT COLLATE "C",
    storage_limit BIGINT,
    controls_revision BIGINT NOT NULL DEFAULT 1,
    controls_locked BIGINT NOT NULL DEFAULT 0,
    controls_lock_reason TEXT COLLATE "C",
    controls_storage_limit BIGINT,
    controls_download_bytes BIGINT,
    controls_download_objects BIGINT,
    controls_publishing BIGINT NOT NULL DEFAULT 1,
    consent_terms TEXT COLLATE "C",
    consent_privacy TEXT COLLATE "C",
    consent_at BIGINT,
    address_proven BIGINT NOT NULL DEFAULT 0
);
CREATE TABLE removed_accounts (
    id UUID NOT NULL PRIMARY KEY,
    removed_at BIGINT NOT NULL
);
CREATE TABLE audit (
    id UUID NOT NULL PRIMARY KEY,
    at BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    actor TEXT COLLATE "C",
    actor_id UUID,
    subject_id UUID,
    client TEXT COLLATE "C",
    outcome TEXT COLLATE "C" NOT NULL,
    detail TEXT COLLATE "C" NOT NULL
);
CREATE INDEX audit_by_kind ON audit (kind, id);
CREATE INDEX audit_by_actor ON audit (actor_id, id) WHERE actor_id IS NOT NULL;
CREATE INDEX audit_by_subject ON audit (subject_id, id) WHERE subject_id IS NOT NULL;
CREATE TABLE audit_erasures (
    account_id UUID NOT NULL PRIMARY KEY,
    after_id UUID NOT NULL
);
CREATE TABLE installation (
    registration_policy TEXT COLLATE "C" NOT NULL
);
INSERT INTO installation (registration_policy) VALUES ('invitation');
CREATE TABLE portal_tokens (
    digest BYTEA NOT NULL PRIMARY KEY,
    account_id UUID NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    expires_at BIGINT NOT NULL
);
CREATE INDEX portal_tokens_by_account ON portal_tokens (account_id);
CREATE TABLE account_usage (
    account_id UUID NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    month TEXT COLLATE "C" NOT NULL,
    download_bytes BIGINT NOT NULL,
    download_objects BIGINT NOT NULL,
    PRIMARY KEY (account_id, month)
);
CREATE INDEX account_usage_by_month ON account_usage (month);
CREATE TABLE installation_usage (
    month TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    download_bytes BIGINT NOT NULL,
    download_objects BIGINT NOT NULL,
    write_objects BIGINT NOT NULL
);
CREATE TABLE usage_writers (
    id UUID NOT NULL PRIMARY KEY,
    batch BIGINT NOT NULL,
    written_at BIGINT NOT NULL
);
CREATE TABLE mail_budgets (
    address TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    paid_at BIGINT NOT NULL
);
CREATE TABLE outbox (
    id UUID NOT NULL PRIMARY KEY,
    kind TEXT COLLATE "C" NOT NULL,
    address TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    due_at BIGINT NOT NULL
);
CREATE INDEX outbox_by_due ON outbox (due_at);
CREATE TABLE password_resets (
    digest BYTEA NOT NULL PRIMARY KEY,
    account_id UUID NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    expires_at BIGINT NOT NULL
);
CREATE INDEX password_resets_by_account ON password_resets (account_id);
CREATE TABLE sessions (
    id UUID NOT NULL PRIMARY KEY,
    account_id UUID NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    digest BYTEA NOT NULL UNIQUE,
    device TEXT COLLATE "C" NOT NULL,
    client TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    active_at BIGINT NOT NULL
);
CREATE INDEX sessions_by_account ON sessions (account_id);
CREATE TABLE api_keys (
    id UUID NOT NULL PRIMARY KEY,
    account_id UUID NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    name TEXT COLLATE "C" NOT NULL,
    digest BYTEA NOT NULL UNIQUE,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    used_at BIGINT,
    scopes TEXT COLLATE "C",
    workspaces TEXT COLLATE "C",
    folder TEXT COLLATE "C"
);
CREATE INDEX api_keys_by_account ON api_keys (account_id);
CREATE INDEX api_keys_by_folder ON api_keys (workspaces) WHERE folder IS NOT NULL;
CREATE TABLE workspaces (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id UUID NOT NULL UNIQUE,
    name TEXT COLLATE "C" NOT NULL,
    position BIGINT NOT NULL,
    last_file BIGINT NOT NULL DEFAULT 0,
    size BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL
);
CREATE TABLE invitations (
    id UUID NOT NULL PRIMARY KEY,
    digest BYTEA NOT NULL UNIQUE,
    address TEXT COLLATE "C",
    role TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT,
    revoked_at BIGINT,
    bootstrap BIGINT NOT NULL DEFAULT 0,
    workspace_id UUID REFERENCES workspaces (id) ON DELETE CASCADE,
    workspace_role TEXT COLLATE "C",
    created_by_id UUID
);
CREATE INDEX invitations_by_workspace ON invitations (workspace_id);
CREATE INDEX invitations_unused ON invitations (workspace_id, expires_at)
    WHERE used_at IS NULL AND revoked_at IS NULL;
CREATE INDEX invitations_by_end ON invitations ((COALESCE(used_at, revoked_at, expires_at)));
CREATE TABLE members (
    workspace_id UUID NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    account_id UUID NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    role TEXT COLLATE "C" NOT NULL,
    joined_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, account_id)
);
CREATE INDEX members_by_account ON members (account_id, workspace_id);
CREATE TABLE deleted_workspaces (
    id UUID NOT NULL PRIMARY KEY,
    number BIGINT NOT NULL
);
CREATE TABLE files (
    workspace BIGINT NOT NULL,
    number BIGINT NOT NULL,
    file_id UUID NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    path TEXT COLLATE "C" NOT NULL,
    revision_id UUID NOT NULL,
    position BIGINT NOT NULL,
    content_id UUID,
    content BIGINT,
    digest BYTEA NOT NULL,
    size BIGINT NOT NULL,
    media_type TEXT COLLATE "C",
    author_id UUID NOT NULL,
    mutation_id UUID NOT NULL,
    changed_at BIGINT NOT NULL,
    origin TEXT COLLATE "C" NOT NULL,
    program BIGINT,
    PRIMARY KEY (workspace, number)
);
CREATE UNIQUE INDEX files_by_id ON files (workspace, file_id);
CREATE INDEX files_by_position ON files (workspace, position);
CREATE INDEX files_by_path ON files (workspace, state, path);
CREATE INDEX files_by_revision ON files (workspace, revision_id);
CREATE INDEX files_by_program ON files (workspace, program) WHERE program IS NOT NULL;
CREATE TABLE revisions (
    workspace BIGINT NOT NULL,
    position BIGINT NOT NULL,
    file BIGINT NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    path TEXT COLLATE "C" NOT NULL,
    revision_id UUID NOT NULL,
    content_id UUID,
    content BIGINT,
    digest BYTEA NOT NULL,
    size BIGINT NOT NULL,
    media_type TEXT COLLATE "C",
    author_id UUID NOT NULL,
    mutation_id UUID NOT NULL,
    changed_at BIGINT NOT NULL,
    origin TEXT COLLATE "C" NOT NULL,
    program BIGINT,
    PRIMARY KEY (workspace, position, file)
);
CREATE INDEX revisions_by_file ON revisions (workspace, file, position);
CREATE INDEX revisions_by_id ON revisions (workspace, revision_id);
CREATE INDEX revisions_by_program ON revisions (workspace, program) WHERE program IS NOT NULL;
CREATE TABLE folder_purges (
    workspace BIGINT NOT NULL,
    file BIGINT NOT NULL,
    key_id UUID NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
    PRIMARY KEY (workspace, file, key_id)
);
CREATE INDEX folder_purges_by_key ON folder_purges (key_id);
CREATE SEQUENCE content_numbers;
CREATE TABLE contents (
    number BIGINT PRIMARY KEY,
    compressed BYTEA NOT NULL
);
ALTER TABLE contents ALTER COLUMN compressed SET STORAGE EXTERNAL;
CREATE TABLE purged_contents (
    content BIGINT PRIMARY KEY,
    size BIGINT NOT NULL
);
CREATE TABLE blobs (
    key TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    digest BYTEA NOT NULL,
    size BIGINT NOT NULL,
    crc BIGINT NOT NULL,
    stored BIGINT NOT NULL,
    check_at BIGINT
);
CREATE INDEX blobs_by_digest ON blobs (digest);
CREATE INDEX blobs_by_check ON blobs (check_at) WHERE check_at IS NOT NULL;
CREATE TABLE deleted_blobs (
    key TEXT COLLATE "C" NOT NULL PRIMARY KEY
);
CREATE TABLE uploads (
    id UUID NOT NULL PRIMARY KEY,
    workspace_id UUID NOT NULL,
    account_id UUID NOT NULL,
    blob TEXT COLLATE "C" NOT NULL,
    media_type TEXT COLLATE "C" NOT NULL,
    width BIGINT NOT NULL,
    height BIGINT NOT NULL,
    frames BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX uploads_by_blob ON uploads (blob);
CREATE INDEX uploads_by_expiry ON uploads (expires_at);
CREATE INDEX uploads_by_account ON uploads (account_id);
CREATE INDEX uploads_by_workspace ON uploads (workspace_id);
CREATE TABLE imports (
    id UUID NOT NULL PRIMARY KEY,
    workspace_id UUID NOT NULL,
    account_id UUID NOT NULL,
    read BIGINT NOT NULL,
    total BIGINT NOT NULL,
    files BIGINT NOT NULL,
    result TEXT COLLATE "C",
    failure TEXT COLLATE "C",
    expires_at BIGINT NOT NULL
);
CREATE INDEX imports_by_expiry ON imports (expires_at);
CREATE INDEX imports_by_account ON imports (account_id);
CREATE INDEX imports_by_workspace ON imports (workspace_id);
CREATE TABLE import_parts (
    import_id UUID NOT NULL REFERENCES imports (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    blob TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (import_id, number)
);
CREATE INDEX import_parts_by_blob ON import_parts (blob);
CREATE TABLE archive_jobs (
    slot BIGINT NOT NULL PRIMARY KEY,
    account_id UUID NOT NULL UNIQUE,
    job_id UUID NOT NULL,
    renewed_until BIGINT NOT NULL
);
CREATE TABLE images (
    number BIGINT PRIMARY KEY,
    blob TEXT COLLATE "C" NOT NULL,
    width BIGINT NOT NULL,
    height BIGINT NOT NULL,
    frames BIGINT NOT NULL
);
CREATE INDEX images_by_blob ON images (blob);
CREATE TABLE thumbnails (
    image TEXT COLLATE "C" NOT NULL,
    width BIGINT NOT NULL,
    blob TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (image, width)
);
CREATE INDEX thumbnails_by_blob ON thumbnails (blob);
CREATE TABLE receipts (
    workspace BIGINT NOT NULL,
    mutation_id UUID NOT NULL,
    fingerprint BYTEA NOT NULL,
    position BIGINT NOT NULL,
    changes BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (workspace, mutation_id)
);
CREATE TABLE restorations (
    workspace BIGINT NOT NULL,
    id UUID NOT NULL,
    account_id UUID NOT NULL,
    continuer_id UUID,
    moment BIGINT,
    target BIGINT NOT NULL,
    present BIGINT NOT NULL,
    folder TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    steps BIGINT NOT NULL,
    last BIGINT NOT NULL,
    total BIGINT NOT NULL,
    done BIGINT NOT NULL,
    left_count BIGINT NOT NULL,
    left_files TEXT COLLATE "C" NOT NULL,
    failure TEXT COLLATE "C",
    started_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (workspace, id)
);
CREATE INDEX restorations_running ON restorations (updated_at) WHERE state = 'running';
CREATE TABLE documents (
    workspace BIGINT NOT NULL,
    file BIGINT NOT NULL,
    epoch_id UUID NOT NULL,
    state BYTEA NOT NULL,
    vector BYTEA NOT NULL,
    PRIMARY KEY (workspace, file)
);
CREATE TABLE link_index (
    workspace BIGINT NOT NULL,
    file BIGINT NOT NULL,
    targets BYTEA NOT NULL,
    sources BYTEA NOT NULL,
    PRIMARY KEY (workspace, file)
);
CREATE TABLE link_targets (
    workspace BIGINT NOT NULL,
    key BIGINT NOT NULL,
    file BIGINT NOT NULL,
    PRIMARY KEY (workspace, key, file)
);
CREATE TABLE link_sources (
    workspace BIGINT NOT NULL,
    key BIGINT NOT NULL,
    file BIGINT NOT NULL,
    PRIMARY KEY (workspace, key, file)
);
CREATE SEQUENCE search_numbers;
CREATE TABLE search (
    workspace_id UUID NOT NULL,
    number BIGINT NOT NULL,
    piece BIGINT NOT NULL,
    tokens TSVECTOR NOT NULL,
    PRIMARY KEY (workspace_id, number, piece)
);
CREATE INDEX search_by_tokens ON search USING GIN (tokens) WITH (gin_pending_list_limit = 256);
CREATE TABLE fulltext_notes (
    number BIGINT PRIMARY KEY,
    workspace BIGINT NOT NULL,
    file BIGINT NOT NULL,
    content BIGINT NOT NULL,
    path TEXT COLLATE "C"
);
CREATE UNIQUE INDEX fulltext_notes_by_file ON fulltext_notes (workspace, file);
CREATE TABLE index_cursors (
    workspace BIGINT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    position BIGINT NOT NULL,
    file BIGINT NOT NULL,
    PRIMARY KEY (workspace, name)
);
CREATE TABLE fulltext_erasure (
    state BIGINT NOT NULL
);
INSERT INTO fulltext_erasure (state) VALUES (0);
CREATE TABLE publications (
    id UUID NOT NULL PRIMARY KEY,
    workspace_id UUID NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    digest BYTEA NOT NULL UNIQUE,
    file_id UUID,
    folder TEXT COLLATE "C",
    label TEXT COLLATE "C",
    password TEXT COLLATE "C",
    openings BIGINT,
    opened BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    taken_down_at BIGINT,
    created_by_id UUID
);
CREATE INDEX publications_by_workspace ON publications (workspace_id, id);
CREATE INDEX publications_by_creator ON publications (created_by_id)
    WHERE created_by_id IS NOT NULL;
CREATE INDEX publications_by_end ON publications ((COALESCE(revoked_at, expires_at)));
CREATE TABLE link_reports (
    id UUID NOT NULL PRIMARY KEY,
    publication_id UUID NOT NULL REFERENCES publications (id) ON DELETE CASCADE,
    digest BYTEA NOT NULL UNIQUE,
    reason TEXT COLLATE "C" NOT NULL,
    note TEXT COLLATE "C",
    reported_at BIGINT NOT NULL,
    mailed BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX link_reports_by_publication ON link_reports (publication_id);
CREATE TABLE signing_keys (
    purpose TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    secret BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (purpose, number)
);
CREATE TABLE rendered_notes (
    content BIGINT NOT NULL PRIMARY KEY REFERENCES contents (number) ON DELETE CASCADE,
    digest BYTEA NOT NULL,
    version BIGINT NOT NULL,
    compressed BYTEA NOT NULL,
    size BIGINT NOT NULL,
    used_at BIGINT NOT NULL
);
CREATE INDEX rendered_notes_by_use ON rendered_notes (used_at, size);
CREATE TABLE oauth_clients (
    id UUID NOT NULL PRIMARY KEY,
    metadata TEXT COLLATE "C" NOT NULL,
    secret_digest BYTEA,
    management_digest BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    granted_at BIGINT
);
CREATE INDEX oauth_clients_without_grant ON oauth_clients (created_at) WHERE granted_at IS NULL;
CREATE TABLE oauth_programs (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    client TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    UNIQUE (client, name)
);
CREATE TABLE oauth_grants (
    id UUID NOT NULL PRIMARY KEY,
    account_id UUID NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    program BIGINT NOT NULL REFERENCES oauth_programs (number),
    scopes TEXT COLLATE "C" NOT NULL,
    workspaces TEXT COLLATE "C",
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    used_at BIGINT
);
CREATE INDEX oauth_grants_by_account ON oauth_grants (account_id);
CREATE INDEX oauth_grants_by_program ON oauth_grants (program);
CREATE TABLE oauth_codes (
    digest BYTEA NOT NULL PRIMARY KEY,
    grant_id UUID NOT NULL REFERENCES oauth_grants (id) ON DELETE CASCADE,
    redirect_uri TEXT COLLATE "C",
    challenge TEXT COLLATE "C" NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT
);
CREATE INDEX oauth_codes_by_grant ON oauth_codes (grant_id);
CREATE TABLE oauth_tokens (
    digest BYTEA NOT NULL PRIMARY KEY,
    grant_id UUID NOT NULL REFERENCES oauth_grants (id) ON DELETE CASCADE,
    kind TEXT COLLATE "C" NOT NULL,
    scopes TEXT COLLATE "C" NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT
);
CREATE INDEX oauth_tokens_by_grant ON oauth_tokens (grant_id);
CREATE INDEX oauth_tokens_by_end ON oauth_tokens (expires_at);
CREATE INDEX restorations_by_start ON restorations (workspace, started_at, id);
ALTER TABLE fulltext_notes ADD COLUMN portions BIGINT NOT NULL DEFAULT 0;
CREATE TABLE fulltext_beginnings (
    number BIGINT PRIMARY KEY,
    workspace BIGINT NOT NULL,
    file BIGINT NOT NULL,
    content BIGINT NOT NULL,
    portions BIGINT NOT NULL
);
CREATE UNIQUE INDEX fulltext_beginnings_by_file ON fulltext_beginnings (workspace, file);
CREATE TABLE fulltext_removals (
    number BIGINT PRIMARY KEY,
    workspace BIGINT NOT NULL,
    content BIGINT NOT NULL,
    path TEXT COLLATE "C",
    portions BIGINT NOT NULL,
    removed BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX fulltext_removals_by_workspace ON fulltext_removals (workspace);
ALTER TABLE workspaces ADD COLUMN documents_read SMALLINT NOT NULL DEFAULT 0;
UPDATE workspaces SET documents_read = 1;
ALTER TABLE documents ADD COLUMN content_id UUID;
UPDATE documents SET content_id = (
    SELECT COALESCE(files.content_id, files.revision_id) FROM files
    WHERE files.workspace = documents.workspace AND files.number = documents.file
);
CREATE TABLE document_updates (
    workspace BIGINT NOT NULL,
    file BIGINT NOT NULL,
    position BIGINT NOT NULL,
    updates BYTEA NOT NULL,
    PRIMARY KEY (workspace, file, position)
);
