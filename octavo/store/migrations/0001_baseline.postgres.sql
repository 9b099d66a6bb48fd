-- Identifiers are UUIDs of 16 bytes, digests have 32 bytes, times are milliseconds of Unix time.

CREATE TABLE accounts (
    id UUID NOT NULL PRIMARY KEY,
    address TEXT NOT NULL UNIQUE,
    display_name TEXT NOT NULL,
    password TEXT NOT NULL,
    role TEXT NOT NULL,
    state TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    theme_family TEXT NOT NULL DEFAULT 'paper',
    appearance TEXT NOT NULL DEFAULT 'system',
    spell_check BIGINT NOT NULL DEFAULT 1,
    -- Why administrators locked it.
    lock_reason TEXT,
    -- What administrators allow; NULL for no limit.
    storage_limit BIGINT,
    -- What the operator allows.
    controls_revision BIGINT NOT NULL DEFAULT 1,
    controls_locked BIGINT NOT NULL DEFAULT 0,
    controls_lock_reason TEXT,
    controls_storage_limit BIGINT,
    controls_download_bytes BIGINT,
    controls_download_objects BIGINT,
    controls_publishing BIGINT NOT NULL DEFAULT 1,
    -- The versions of the legal documents that the person accepted last; all are NULL before.
    consent_terms TEXT,
    consent_privacy TEXT,
    consent_at BIGINT,
    -- 1 when the person has shown to read the mail of the address.
    address_proven BIGINT NOT NULL DEFAULT 0
);

-- Accounts that the operator removed.
CREATE TABLE removed_accounts (
    id UUID NOT NULL PRIMARY KEY,
    removed_at BIGINT NOT NULL
);

-- What was done to accounts, credentials, invitations and members. Identifiers sort by time.
CREATE TABLE audit (
    id UUID NOT NULL PRIMARY KEY,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    -- A service that acted without an account.
    actor TEXT,
    actor_id UUID,
    subject_id UUID,
    -- The network of the client address.
    client TEXT,
    outcome TEXT NOT NULL,
    -- A JSON object of identifiers and codes; empty without any.
    detail TEXT NOT NULL
);
CREATE INDEX audit_by_kind ON audit (kind, id);
CREATE INDEX audit_by_actor ON audit (actor_id, id) WHERE actor_id IS NOT NULL;
CREATE INDEX audit_by_subject ON audit (subject_id, id) WHERE subject_id IS NOT NULL;

-- Removed accounts whose clients are still to be erased from the audit, in steps: those of the
-- entries after this one.
CREATE TABLE audit_erasures (
    account_id UUID NOT NULL PRIMARY KEY,
    after_id UUID NOT NULL
);

-- What administrators decide about the installation: one row.
CREATE TABLE installation (
    registration_policy TEXT NOT NULL
);
INSERT INTO installation (registration_policy) VALUES ('invitation');

-- Tokens that hand a person to the operator's portal, by their SHA-256 digests.
CREATE TABLE portal_tokens (
    digest BYTEA NOT NULL PRIMARY KEY,
    account_id UUID NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    expires_at BIGINT NOT NULL
);
CREATE INDEX portal_tokens_by_account ON portal_tokens (account_id);

-- What accounts have read in a month (UTC), such as '2026-11'.
CREATE TABLE account_usage (
    account_id UUID NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    month TEXT NOT NULL,
    download_bytes BIGINT NOT NULL,
    download_objects BIGINT NOT NULL,
    PRIMARY KEY (account_id, month)
);
CREATE INDEX account_usage_by_month ON account_usage (month);

-- What all accounts together have read in a month, and the objects written to the blob store.
CREATE TABLE installation_usage (
    month TEXT NOT NULL PRIMARY KEY,
    download_bytes BIGINT NOT NULL,
    download_objects BIGINT NOT NULL,
    write_objects BIGINT NOT NULL
);

-- The last batch of counts that each process has added, so that one sent again is not added twice.
CREATE TABLE usage_writers (
    id UUID NOT NULL PRIMARY KEY,
    batch BIGINT NOT NULL,
    written_at BIGINT NOT NULL
);

-- Until when the messages to an address are paid for, as its budget allows.
CREATE TABLE mail_budgets (
    address TEXT NOT NULL PRIMARY KEY,
    paid_at BIGINT NOT NULL
);

-- Messages to be sent, without their texts; a message that was sent is deleted.
CREATE TABLE outbox (
    id UUID NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    address TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    -- How many times it was claimed for sending.
    attempts BIGINT NOT NULL,
    -- When it can be claimed: the end of the present claim, or the time of the next attempt.
    due_at BIGINT NOT NULL
);
CREATE INDEX outbox_by_due ON outbox (due_at);

-- Tokens to choose a new password; a used one is deleted.
CREATE TABLE password_resets (
    digest BYTEA NOT NULL PRIMARY KEY,
    account_id UUID NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    expires_at BIGINT NOT NULL
);
CREATE INDEX password_resets_by_account ON password_resets (account_id);

-- Of secrets, only SHA-256 digests are stored.
CREATE TABLE sessions (
    id UUID NOT NULL PRIMARY KEY,
    account_id UUID NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    digest BYTEA NOT NULL UNIQUE,
    device TEXT NOT NULL,
    client TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    active_at BIGINT NOT NULL
);
CREATE INDEX sessions_by_account ON sessions (account_id);

CREATE TABLE api_keys (
    id UUID NOT NULL PRIMARY KEY,
    account_id UUID NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    digest BYTEA NOT NULL UNIQUE,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    used_at BIGINT,
    -- What it is limited to: its scopes and the ids of its workspaces, separated by spaces, and a
    -- folder; NULL for no limit.
    scopes TEXT,
    workspaces TEXT,
    folder TEXT
);
CREATE INDEX api_keys_by_account ON api_keys (account_id);
CREATE INDEX api_keys_by_folder ON api_keys (workspaces) WHERE folder IS NOT NULL;

-- The number of a workspace is its key in the tables below; numbers are not reused.
CREATE TABLE workspaces (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id UUID NOT NULL UNIQUE,
    name TEXT NOT NULL,
    position BIGINT NOT NULL,
    -- The highest number of a file.
    last_file BIGINT NOT NULL DEFAULT 0,
    -- The sizes of the heads of its files, in bytes.
    size BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL
);

CREATE TABLE invitations (
    id UUID NOT NULL PRIMARY KEY,
    digest BYTEA NOT NULL UNIQUE,
    address TEXT,
    role TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT,
    revoked_at BIGINT,
    -- 1 for the invitation of the first administrator, which a server without accounts makes.
    bootstrap BIGINT NOT NULL DEFAULT 0,
    -- NULL for an invitation into no workspace.
    workspace_id UUID REFERENCES workspaces (id) ON DELETE CASCADE,
    workspace_role TEXT,
    -- NULL for that of a command.
    created_by_id UUID
);
CREATE INDEX invitations_by_workspace ON invitations (workspace_id);
CREATE INDEX invitations_unused ON invitations (workspace_id, expires_at)
    WHERE used_at IS NULL AND revoked_at IS NULL;
-- When they ended or will end.
CREATE INDEX invitations_by_end ON invitations ((COALESCE(used_at, revoked_at, expires_at)));

CREATE TABLE members (
    workspace_id UUID NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    account_id UUID NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    role TEXT NOT NULL,
    joined_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, account_id)
);
CREATE INDEX members_by_account ON members (account_id, workspace_id);

-- Deleted workspaces whose contents are still to be removed, in steps. The tables below do not
-- refer to workspaces by foreign keys: a cascade over a whole workspace would block every other
-- writer.
CREATE TABLE deleted_workspaces (
    id UUID NOT NULL PRIMARY KEY,
    number BIGINT NOT NULL
);

-- Each file with its newest revision, the head. The number is its key in the other tables. An empty
-- media type is stored as '', that of a note as NULL.
--
-- The number of the text or image is in the column content, NULL for purged files. The revision that
-- brought it is in the column content_id, NULL if it is this one.
--
-- The number of the program that made the revision by the MCP endpoint is in the column program.
CREATE TABLE files (
    workspace BIGINT NOT NULL,
    number BIGINT NOT NULL,
    file_id UUID NOT NULL,
    state TEXT NOT NULL,
    kind TEXT NOT NULL,
    path TEXT NOT NULL,
    revision_id UUID NOT NULL,
    position BIGINT NOT NULL,
    content_id UUID,
    content BIGINT,
    digest BYTEA NOT NULL,
    size BIGINT NOT NULL,
    media_type TEXT,
    author_id UUID NOT NULL,
    mutation_id UUID NOT NULL,
    changed_at BIGINT NOT NULL,
    origin TEXT NOT NULL,
    program BIGINT,
    PRIMARY KEY (workspace, number)
);
CREATE UNIQUE INDEX files_by_id ON files (workspace, file_id);
CREATE INDEX files_by_position ON files (workspace, position);
CREATE INDEX files_by_path ON files (workspace, state, path);
CREATE INDEX files_by_revision ON files (workspace, revision_id);
CREATE INDEX files_by_program ON files (workspace, program) WHERE program IS NOT NULL;

-- The revisions before the heads, in the order of time: a save adds to the end of the table.
CREATE TABLE revisions (
    workspace BIGINT NOT NULL,
    position BIGINT NOT NULL,
    file BIGINT NOT NULL,
    state TEXT NOT NULL,
    path TEXT NOT NULL,
    revision_id UUID NOT NULL,
    content_id UUID,
    content BIGINT,
    digest BYTEA NOT NULL,
    size BIGINT NOT NULL,
    media_type TEXT,
    author_id UUID NOT NULL,
    mutation_id UUID NOT NULL,
    changed_at BIGINT NOT NULL,
    origin TEXT NOT NULL,
    program BIGINT,
    PRIMARY KEY (workspace, position, file)
);
CREATE INDEX revisions_by_file ON revisions (workspace, file, position);
CREATE INDEX revisions_by_id ON revisions (workspace, revision_id);
CREATE INDEX revisions_by_program ON revisions (workspace, program) WHERE program IS NOT NULL;

-- Purged files that were below the folders of limited keys. Their paths are erased, and devices with
-- these keys must hear of the purge.
CREATE TABLE folder_purges (
    workspace BIGINT NOT NULL,
    file BIGINT NOT NULL,
    key_id UUID NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
    PRIMARY KEY (workspace, file, key_id)
);
CREATE INDEX folder_purges_by_key ON folder_purges (key_id);

-- Texts in the order of time, as UTF-8, compressed with Zstandard. Revisions refer to them by
-- their numbers.
CREATE SEQUENCE content_numbers;
CREATE TABLE contents (
    number BIGINT PRIMARY KEY,
    compressed BYTEA NOT NULL
);
-- It is not compressed again.
ALTER TABLE contents ALTER COLUMN compressed SET STORAGE EXTERNAL;

-- Texts and images of purged files that are still to be removed, in steps. No revision refers to
-- them.
CREATE TABLE purged_contents (
    content BIGINT PRIMARY KEY,
    size BIGINT NOT NULL
);

-- Immutable files of bytes in the blob store, by their keys there. A row is committed before the blob
-- is stored, and deleted before the blob is.
CREATE TABLE blobs (
    key TEXT NOT NULL PRIMARY KEY,
    digest BYTEA NOT NULL,
    size BIGINT NOT NULL,
    -- The CRC-32 of the bytes, as zip archives have it.
    crc BIGINT NOT NULL,
    -- 1 when the blob is durable; nothing refers to it before.
    stored BIGINT NOT NULL,
    -- When to look whether anything refers to it; NULL when something did at the last time, and
    -- still does.
    check_at BIGINT
);
CREATE INDEX blobs_by_digest ON blobs (digest);
CREATE INDEX blobs_by_check ON blobs (check_at) WHERE check_at IS NOT NULL;

-- Blobs that are still to be deleted from the blob store.
CREATE TABLE deleted_blobs (
    key TEXT NOT NULL PRIMARY KEY
);

-- Images that were uploaded, and can be attached until they expire.
CREATE TABLE uploads (
    id UUID NOT NULL PRIMARY KEY,
    workspace_id UUID NOT NULL,
    account_id UUID NOT NULL,
    blob TEXT NOT NULL,
    media_type TEXT NOT NULL,
    width BIGINT NOT NULL,
    height BIGINT NOT NULL,
    frames BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX uploads_by_blob ON uploads (blob);
CREATE INDEX uploads_by_expiry ON uploads (expires_at);
CREATE INDEX uploads_by_account ON uploads (account_id);
CREATE INDEX uploads_by_workspace ON uploads (workspace_id);

-- Archives that are imported in parts, and for a while the results.
CREATE TABLE imports (
    id UUID NOT NULL PRIMARY KEY,
    workspace_id UUID NOT NULL,
    account_id UUID NOT NULL,
    -- The bytes of its files that were imported, of how many; 0 until they are known.
    read BIGINT NOT NULL,
    total BIGINT NOT NULL,
    -- The files that were committed.
    files BIGINT NOT NULL,
    -- JSON; NULL until it is done.
    result TEXT,
    -- Why it was refused at the last time, as JSON; NULL otherwise.
    failure TEXT,
    expires_at BIGINT NOT NULL
);
CREATE INDEX imports_by_expiry ON imports (expires_at);
CREATE INDEX imports_by_account ON imports (account_id);
CREATE INDEX imports_by_workspace ON imports (workspace_id);

CREATE TABLE import_parts (
    import_id UUID NOT NULL REFERENCES imports (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    blob TEXT NOT NULL,
    PRIMARY KEY (import_id, number)
);
CREATE INDEX import_parts_by_blob ON import_parts (blob);

-- Imports and exports that run; each has one of a few slots, until a time unless it is renewed. The
-- job of an import has its id.
CREATE TABLE archive_jobs (
    slot BIGINT NOT NULL PRIMARY KEY,
    account_id UUID NOT NULL UNIQUE,
    job_id UUID NOT NULL,
    renewed_until BIGINT NOT NULL
);

-- The images of attachments. Their numbers and those of texts are different.
CREATE TABLE images (
    number BIGINT PRIMARY KEY,
    blob TEXT NOT NULL,
    width BIGINT NOT NULL,
    height BIGINT NOT NULL,
    frames BIGINT NOT NULL
);
CREATE INDEX images_by_blob ON images (blob);

-- Smaller pictures of images, by the blobs of these; they are made when they are asked for.
CREATE TABLE thumbnails (
    image TEXT NOT NULL,
    width BIGINT NOT NULL,
    blob TEXT NOT NULL,
    PRIMARY KEY (image, width)
);
CREATE INDEX thumbnails_by_blob ON thumbnails (blob);

-- The results of changesets, for clients that send one again. For each operation, the changes hold
-- a byte for its outcome and the id of the revision; for a single change, only the byte, as its
-- revision is the one with the same position. Expiry reads the whole table: an index by age would
-- take as much room as half of it.
CREATE TABLE receipts (
    workspace BIGINT NOT NULL,
    mutation_id UUID NOT NULL,
    fingerprint BYTEA NOT NULL,
    position BIGINT NOT NULL,
    changes BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (workspace, mutation_id)
);

-- Restorations of workspaces, by the mutation ids of their requests.
CREATE TABLE restorations (
    workspace BIGINT NOT NULL,
    id UUID NOT NULL,
    account_id UUID NOT NULL,
    -- Who had it go on after it failed: its later changesets are theirs. NULL before.
    continuer_id UUID,
    -- NULL when the position was asked for.
    moment BIGINT,
    -- The position whose state returns, and that of the workspace at the beginning.
    target BIGINT NOT NULL,
    present BIGINT NOT NULL,
    -- Empty for all files.
    folder TEXT NOT NULL,
    state TEXT NOT NULL,
    -- The number of its changesets, and the position of the last one.
    steps BIGINT NOT NULL,
    last BIGINT NOT NULL,
    -- The files to return, and those that have returned.
    total BIGINT NOT NULL,
    done BIGINT NOT NULL,
    -- How many were left, and the first of them as JSON.
    left_count BIGINT NOT NULL,
    left_files TEXT NOT NULL,
    -- Why it was stopped, as JSON; NULL otherwise.
    failure TEXT,
    started_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (workspace, id)
);
CREATE INDEX restorations_running ON restorations (updated_at) WHERE state = 'running';
CREATE INDEX restorations_by_start ON restorations (workspace, started_at, id);

-- The Yjs documents of notes whose text has changed since they were created. The document of any
-- other note is the insertion of its text.
CREATE TABLE documents (
    workspace BIGINT NOT NULL,
    file BIGINT NOT NULL,
    epoch_id UUID NOT NULL,
    state BYTEA NOT NULL,
    vector BYTEA NOT NULL,
    PRIMARY KEY (workspace, file)
);

-- Live files in the link index. The keys are those of the file in the tables link_targets and
-- link_sources, 6 bytes each: they are removed without the path and the text that they come from.
CREATE TABLE link_index (
    workspace BIGINT NOT NULL,
    file BIGINT NOT NULL,
    targets BYTEA NOT NULL,
    sources BYTEA NOT NULL,
    PRIMARY KEY (workspace, file)
);

-- The keys under which links find live files. A key is a hash of 48 bits.
CREATE TABLE link_targets (
    workspace BIGINT NOT NULL,
    key BIGINT NOT NULL,
    file BIGINT NOT NULL,
    PRIMARY KEY (workspace, key, file)
);

-- The keys that decide whether the links of a live note lead somewhere. The links themselves are
-- read from its text.
CREATE TABLE link_sources (
    workspace BIGINT NOT NULL,
    key BIGINT NOT NULL,
    file BIGINT NOT NULL,
    PRIMARY KEY (workspace, key, file)
);

-- The tokens of notes, each preceded by the tag of its workspace: those of the name in piece 0,
-- those of the text in the others, as a vector has a limited size.
CREATE SEQUENCE search_numbers;
CREATE TABLE search (
    workspace_id UUID NOT NULL,
    number BIGINT NOT NULL,
    piece BIGINT NOT NULL,
    tokens TSVECTOR NOT NULL,
    PRIMARY KEY (workspace_id, number, piece)
);
-- Every search reads the entries that are not yet sorted into the index: their size is limited
-- (kB).
CREATE INDEX search_by_tokens ON search USING GIN (tokens) WITH (gin_pending_list_limit = 256);

-- Notes in the full text index: their numbers there, and what was indexed. The path is NULL as long
-- as the file has it.
CREATE TABLE fulltext_notes (
    number BIGINT PRIMARY KEY,
    workspace BIGINT NOT NULL,
    file BIGINT NOT NULL,
    content BIGINT NOT NULL,
    path TEXT
);
CREATE UNIQUE INDEX fulltext_notes_by_file ON fulltext_notes (workspace, file);

-- How far the indexes of each workspace have come, that of links and that of words: the next file is
-- the first one after this position and number. Without a row, nothing is indexed.
CREATE TABLE index_cursors (
    workspace BIGINT NOT NULL,
    name TEXT NOT NULL,
    position BIGINT NOT NULL,
    file BIGINT NOT NULL,
    PRIMARY KEY (workspace, name)
);

-- Whether words that were removed from the full text index are to be overwritten there: 0 for no, 1
-- when requested, 2 when begun.
CREATE TABLE fulltext_erasure (
    state BIGINT NOT NULL
);
INSERT INTO fulltext_erasure (state) VALUES (0);

-- Links that show a note, or the notes below a folder, to readers without an account.
CREATE TABLE publications (
    id UUID NOT NULL PRIMARY KEY,
    workspace_id UUID NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    -- Of the token.
    digest BYTEA NOT NULL UNIQUE,
    -- The note, or NULL for a folder.
    file_id UUID,
    -- Of the folder, or NULL for a note; '' for the whole workspace.
    folder TEXT,
    label TEXT,
    password TEXT,
    -- How often it can be opened, or NULL for any number, and how often it was.
    openings BIGINT,
    opened BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    taken_down_at BIGINT,
    -- NULL when the account was removed.
    created_by_id UUID
);
CREATE INDEX publications_by_workspace ON publications (workspace_id, id);
CREATE INDEX publications_by_creator ON publications (created_by_id)
    WHERE created_by_id IS NOT NULL;
-- When they ended or will end.
CREATE INDEX publications_by_end ON publications ((COALESCE(revoked_at, expires_at)));

-- Open reports of links. The link can also be read by a token of the report, which is derived from
-- its id.
CREATE TABLE link_reports (
    id UUID NOT NULL PRIMARY KEY,
    publication_id UUID NOT NULL REFERENCES publications (id) ON DELETE CASCADE,
    -- Of that token.
    digest BYTEA NOT NULL UNIQUE,
    reason TEXT NOT NULL,
    note TEXT,
    reported_at BIGINT NOT NULL,
    -- 1 when administrators got a message.
    mailed BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX link_reports_by_publication ON link_reports (publication_id);

-- Secrets of the installation: those that sign reading tickets, which are replaced, and the one that
-- the tokens of reports are derived by.
CREATE TABLE signing_keys (
    purpose TEXT NOT NULL,
    number BIGINT NOT NULL,
    secret BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (purpose, number)
);

-- Published notes as HTML, by the numbers of their texts. They can be made again at any time.
CREATE TABLE rendered_notes (
    content BIGINT NOT NULL PRIMARY KEY REFERENCES contents (number) ON DELETE CASCADE,
    -- Of the text: a number may be used again after the text was purged.
    digest BYTEA NOT NULL,
    -- Of the renderer.
    version BIGINT NOT NULL,
    -- JSON, compressed with Zstandard.
    compressed BYTEA NOT NULL,
    size BIGINT NOT NULL,
    used_at BIGINT NOT NULL
);
CREATE INDEX rendered_notes_by_use ON rendered_notes (used_at, size);

-- Programs that were registered for the MCP endpoint (RFC 7591).
CREATE TABLE oauth_clients (
    id UUID NOT NULL PRIMARY KEY,
    -- The metadata as JSON.
    metadata TEXT NOT NULL,
    -- Of its secret; null for a program without one.
    secret_digest BYTEA,
    -- Of the token that manages the registration (RFC 7592).
    management_digest BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    -- When a person first allowed it something; null before.
    granted_at BIGINT
);
CREATE INDEX oauth_clients_without_grant ON oauth_clients (created_at) WHERE granted_at IS NULL;

-- Programs as they called themselves when a person allowed them something. Revisions refer to them by
-- their numbers, also after the access ended.
CREATE TABLE oauth_programs (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The id of a registered program, or the address of a metadata document.
    client TEXT NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (client, name)
);

-- What people allowed programs.
CREATE TABLE oauth_grants (
    id UUID NOT NULL PRIMARY KEY,
    account_id UUID NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    program BIGINT NOT NULL REFERENCES oauth_programs (number),
    -- Divided by spaces.
    scopes TEXT NOT NULL,
    -- Ids divided by spaces; null for all workspaces.
    workspaces TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    used_at BIGINT
);
CREATE INDEX oauth_grants_by_account ON oauth_grants (account_id);
CREATE INDEX oauth_grants_by_program ON oauth_grants (program);

-- Codes that programs exchange for tokens. A used one is kept until it expires.
CREATE TABLE oauth_codes (
    digest BYTEA NOT NULL PRIMARY KEY,
    grant_id UUID NOT NULL REFERENCES oauth_grants (id) ON DELETE CASCADE,
    redirect_uri TEXT,
    challenge TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT
);
CREATE INDEX oauth_codes_by_grant ON oauth_codes (grant_id);

-- Access tokens, and refresh tokens. A used refresh token is kept, to notice that it is used again.
CREATE TABLE oauth_tokens (
    digest BYTEA NOT NULL PRIMARY KEY,
    grant_id UUID NOT NULL REFERENCES oauth_grants (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    -- Divided by spaces; a program may ask for fewer than it was allowed.
    scopes TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT
);
CREATE INDEX oauth_tokens_by_grant ON oauth_tokens (grant_id);
CREATE INDEX oauth_tokens_by_end ON oauth_tokens (expires_at);
