-- Identifiers are UUIDs of 16 bytes, digests have 32 bytes, times are milliseconds of Unix time.
--
-- A table without a rowid stores each row once, in the b-tree of its primary key. Tables with long
-- values keep their rowid: in the other kind, what exceeds 1,002 bytes of a row takes another page.

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
    -- Why administrators locked it.
    lock_reason TEXT,
    -- What administrators allow; NULL for no limit.
    storage_limit INTEGER,
    -- What the operator allows.
    controls_revision INTEGER NOT NULL DEFAULT 1,
    controls_locked INTEGER NOT NULL DEFAULT 0,
    controls_lock_reason TEXT,
    controls_storage_limit INTEGER,
    controls_download_bytes INTEGER,
    controls_download_objects INTEGER,
    controls_publishing INTEGER NOT NULL DEFAULT 1,
    -- The versions of the legal documents that the person accepted last; all are NULL before.
    consent_terms TEXT,
    consent_privacy TEXT,
    consent_at INTEGER,
    -- 1 when the person has shown to read the mail of the address.
    address_proven INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- Accounts that the operator removed.
CREATE TABLE removed_accounts (
    id BLOB NOT NULL PRIMARY KEY,
    removed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What was done to accounts, credentials, invitations and members. Identifiers sort by time.
CREATE TABLE audit (
    id BLOB NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    -- A service that acted without an account.
    actor TEXT,
    actor_id BLOB,
    subject_id BLOB,
    -- The network of the client address.
    client TEXT,
    outcome TEXT NOT NULL,
    -- A JSON object of identifiers and codes; empty without any.
    detail TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_by_kind ON audit (kind);
CREATE INDEX audit_by_actor ON audit (actor_id) WHERE actor_id IS NOT NULL;
CREATE INDEX audit_by_subject ON audit (subject_id) WHERE subject_id IS NOT NULL;

-- Removed accounts whose clients are still to be erased from the audit, in steps: those of the
-- entries after this one.
CREATE TABLE audit_erasures (
    account_id BLOB NOT NULL PRIMARY KEY,
    after_id BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- What administrators decide about the installation: one row.
CREATE TABLE installation (
    registration_policy TEXT NOT NULL
) STRICT;
INSERT INTO installation (registration_policy) VALUES ('invitation');

-- Tokens that hand a person to the operator's portal, by their SHA-256 digests.
CREATE TABLE portal_tokens (
    digest BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX portal_tokens_by_account ON portal_tokens (account_id);

-- What accounts have read in a month (UTC), such as '2026-11'.
CREATE TABLE account_usage (
    account_id BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    month TEXT NOT NULL,
    download_bytes INTEGER NOT NULL,
    download_objects INTEGER NOT NULL,
    PRIMARY KEY (account_id, month)
) STRICT, WITHOUT ROWID;
CREATE INDEX account_usage_by_month ON account_usage (month);

-- What all accounts together have read in a month, and the objects written to the blob store.
CREATE TABLE installation_usage (
    month TEXT NOT NULL PRIMARY KEY,
    download_bytes INTEGER NOT NULL,
    download_objects INTEGER NOT NULL,
    write_objects INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The last batch of counts that each process has added, so that one sent again is not added twice.
CREATE TABLE usage_writers (
    id BLOB NOT NULL PRIMARY KEY,
    batch INTEGER NOT NULL,
    written_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Until when the messages to an address are paid for, as its budget allows.
CREATE TABLE mail_budgets (
    address TEXT NOT NULL PRIMARY KEY,
    paid_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Messages to be sent, without their texts; a message that was sent is deleted.
CREATE TABLE outbox (
    id BLOB NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    address TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    -- How many times it was claimed for sending.
    attempts INTEGER NOT NULL,
    -- When it can be claimed: the end of the present claim, or the time of the next attempt.
    due_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX outbox_by_due ON outbox (due_at);

-- Tokens to choose a new password; a used one is deleted.
CREATE TABLE password_resets (
    digest BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX password_resets_by_account ON password_resets (account_id);

-- Of secrets, only SHA-256 digests are stored.
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
    -- What it is limited to: its scopes and the ids of its workspaces, separated by spaces, and a
    -- folder; NULL for no limit.
    scopes TEXT,
    workspaces TEXT,
    folder TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX api_keys_by_account ON api_keys (account_id);
CREATE INDEX api_keys_by_folder ON api_keys (workspaces) WHERE folder IS NOT NULL;

-- The number of a workspace is its key in the tables below; numbers are not reused.
CREATE TABLE workspaces (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id BLOB NOT NULL UNIQUE,
    name TEXT NOT NULL,
    position INTEGER NOT NULL,
    -- The highest number of a file.
    last_file INTEGER NOT NULL DEFAULT 0,
    -- The sizes of the heads of its files, in bytes.
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
    -- 1 for the invitation of the first administrator, which a server without accounts makes.
    bootstrap INTEGER NOT NULL DEFAULT 0,
    -- NULL for an invitation into no workspace.
    workspace_id BLOB REFERENCES workspaces (id) ON DELETE CASCADE,
    workspace_role TEXT,
    -- NULL for that of a command.
    created_by_id BLOB
) STRICT, WITHOUT ROWID;
CREATE INDEX invitations_by_workspace ON invitations (workspace_id);
CREATE INDEX invitations_unused ON invitations (workspace_id, expires_at)
    WHERE used_at IS NULL AND revoked_at IS NULL;
-- When they ended or will end.
CREATE INDEX invitations_by_end ON invitations ((COALESCE(used_at, revoked_at, expires_at)));

CREATE TABLE members (
    workspace_id BLOB NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    account_id BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    role TEXT NOT NULL,
    joined_at INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, account_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX members_by_account ON members (account_id, workspace_id);

-- Deleted workspaces whose contents are still to be removed, in steps. The tables below do not
-- refer to workspaces by foreign keys: a cascade over a whole workspace would block every other
-- writer.
CREATE TABLE deleted_workspaces (
    id BLOB NOT NULL PRIMARY KEY,
    number INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Each file with its newest revision, the head. The number is its key in the other tables. An empty
-- media type is stored as '', that of a note as NULL.
--
-- The number of the text or image is in the column content, NULL for purged files. The revision that
-- brought it is in the column content_id, NULL if it is this one.
--
-- The number of the program that made the revision by the MCP endpoint is in the column program.
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

-- The revisions before the heads, in the order of time: a save adds to the end of the table.
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

-- Purged files that were below the folders of limited keys. Their paths are erased, and devices with
-- these keys must hear of the purge.
CREATE TABLE folder_purges (
    workspace INTEGER NOT NULL,
    file INTEGER NOT NULL,
    key_id BLOB NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
    PRIMARY KEY (workspace, file, key_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX folder_purges_by_key ON folder_purges (key_id);

-- Texts in the order of time, as UTF-8, compressed with Zstandard. Revisions refer to them by
-- their numbers.
CREATE TABLE contents (
    number INTEGER PRIMARY KEY,
    compressed BLOB NOT NULL
) STRICT;

-- Texts and images of purged files that are still to be removed, in steps. No revision refers to
-- them.
CREATE TABLE purged_contents (
    content INTEGER PRIMARY KEY,
    size INTEGER NOT NULL
) STRICT;

-- Immutable files of bytes in the blob store, by their keys there. A row is committed before the blob
-- is stored, and deleted before the blob is.
CREATE TABLE blobs (
    key TEXT NOT NULL PRIMARY KEY,
    digest BLOB NOT NULL,
    size INTEGER NOT NULL,
    -- The CRC-32 of the bytes, as zip archives have it.
    crc INTEGER NOT NULL,
    -- 1 when the blob is durable; nothing refers to it before.
    stored INTEGER NOT NULL,
    -- When to look whether anything refers to it; NULL when something did at the last time, and
    -- still does.
    check_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX blobs_by_digest ON blobs (digest);
CREATE INDEX blobs_by_check ON blobs (check_at) WHERE check_at IS NOT NULL;

-- Blobs that are still to be deleted from the blob store.
CREATE TABLE deleted_blobs (
    key TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- Images that were uploaded, and can be attached until they expire.
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

-- Archives that are imported in parts, and for a while the results.
CREATE TABLE imports (
    id BLOB NOT NULL PRIMARY KEY,
    workspace_id BLOB NOT NULL,
    account_id BLOB NOT NULL,
    -- The bytes of its files that were imported, of how many; 0 until they are known.
    read INTEGER NOT NULL,
    total INTEGER NOT NULL,
    -- The files that were committed.
    files INTEGER NOT NULL,
    -- JSON; NULL until it is done.
    result TEXT,
    -- Why it was refused at the last time, as JSON; NULL otherwise.
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

-- Imports and exports that run; each has one of a few slots, until a time unless it is renewed. The
-- job of an import has its id.
CREATE TABLE archive_jobs (
    slot INTEGER NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL UNIQUE,
    job_id BLOB NOT NULL,
    renewed_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The images of attachments. Their numbers and those of texts are different.
CREATE TABLE images (
    number INTEGER PRIMARY KEY,
    blob TEXT NOT NULL,
    width INTEGER NOT NULL,
    height INTEGER NOT NULL,
    frames INTEGER NOT NULL
) STRICT;
CREATE INDEX images_by_blob ON images (blob);

-- Smaller pictures of images, by the blobs of these; they are made when they are asked for.
CREATE TABLE thumbnails (
    image TEXT NOT NULL,
    width INTEGER NOT NULL,
    blob TEXT NOT NULL,
    PRIMARY KEY (image, width)
) STRICT, WITHOUT ROWID;
CREATE INDEX thumbnails_by_blob ON thumbnails (blob);

-- The results of changesets, for clients that send one again. For each operation, the changes hold
-- a byte for its outcome and the id of the revision; for a single change, only the byte, as its
-- revision is the one with the same position. Expiry reads the whole table: an index by age would
-- take as much room as half of it.
CREATE TABLE receipts (
    workspace INTEGER NOT NULL,
    mutation_id BLOB NOT NULL,
    fingerprint BLOB NOT NULL,
    position INTEGER NOT NULL,
    changes BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (workspace, mutation_id)
) STRICT, WITHOUT ROWID;

-- Restorations of workspaces, by the mutation ids of their requests.
CREATE TABLE restorations (
    workspace INTEGER NOT NULL,
    id BLOB NOT NULL,
    account_id BLOB NOT NULL,
    -- Who had it go on after it failed: its later changesets are theirs. NULL before.
    continuer_id BLOB,
    -- NULL when the position was asked for.
    moment INTEGER,
    -- The position whose state returns, and that of the workspace at the beginning.
    target INTEGER NOT NULL,
    present INTEGER NOT NULL,
    -- Empty for all files.
    folder TEXT NOT NULL,
    state TEXT NOT NULL,
    -- The number of its changesets, and the position of the last one.
    steps INTEGER NOT NULL,
    last INTEGER NOT NULL,
    -- The files to return, and those that have returned.
    total INTEGER NOT NULL,
    done INTEGER NOT NULL,
    -- How many were left, and the first of them as JSON.
    left_count INTEGER NOT NULL,
    left_files TEXT NOT NULL,
    -- Why it was stopped, as JSON; NULL otherwise.
    failure TEXT,
    started_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (workspace, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX restorations_running ON restorations (updated_at) WHERE state = 'running';
CREATE INDEX restorations_by_start ON restorations (workspace, started_at, id);

-- The Yjs documents of notes whose text has changed since they were created. The document of any
-- other note is the insertion of its text.
CREATE TABLE documents (
    workspace INTEGER NOT NULL,
    file INTEGER NOT NULL,
    epoch_id BLOB NOT NULL,
    state BLOB NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (workspace, file)
) STRICT;

-- Live files in the link index. The keys are those of the file in the tables link_targets and
-- link_sources, 6 bytes each: they are removed without the path and the text that they come from.
CREATE TABLE link_index (
    workspace INTEGER NOT NULL,
    file INTEGER NOT NULL,
    targets BLOB NOT NULL,
    sources BLOB NOT NULL,
    PRIMARY KEY (workspace, file)
) STRICT, WITHOUT ROWID;

-- The keys under which links find live files. A key is a hash of 48 bits.
CREATE TABLE link_targets (
    workspace INTEGER NOT NULL,
    key INTEGER NOT NULL,
    file INTEGER NOT NULL,
    PRIMARY KEY (workspace, key, file)
) STRICT, WITHOUT ROWID;

-- The keys that decide whether the links of a live note lead somewhere. The links themselves are
-- read from its text.
CREATE TABLE link_sources (
    workspace INTEGER NOT NULL,
    key INTEGER NOT NULL,
    file INTEGER NOT NULL,
    PRIMARY KEY (workspace, key, file)
) STRICT, WITHOUT ROWID;

-- The tokens of notes, each preceded by the tag of its workspace. They are passed already
-- separated: the tokenizer only splits at spaces. The table keeps no copy of them. The body is the
-- first column: its entries need no mark of their column then.
CREATE VIRTUAL TABLE search
    USING fts5 (body, name, tokenize = 'ascii', content = '', columnsize = 0);

-- The number that was assigned last. Numbers are not reused: what is left of a removed note in the
-- table is not found.
CREATE TABLE search_numbers (
    last INTEGER NOT NULL
) STRICT;
INSERT INTO search_numbers (last) VALUES (0);

-- Notes in the full text index: their numbers there, and what was indexed. The path is NULL as long
-- as the file has it.
CREATE TABLE fulltext_notes (
    number INTEGER PRIMARY KEY,
    workspace INTEGER NOT NULL,
    file INTEGER NOT NULL,
    content INTEGER NOT NULL,
    path TEXT
) STRICT;
CREATE UNIQUE INDEX fulltext_notes_by_file ON fulltext_notes (workspace, file);

-- How far the indexes of each workspace have come, that of links and that of words: the next file is
-- the first one after this position and number. Without a row, nothing is indexed.
CREATE TABLE index_cursors (
    workspace INTEGER NOT NULL,
    name TEXT NOT NULL,
    position INTEGER NOT NULL,
    file INTEGER NOT NULL,
    PRIMARY KEY (workspace, name)
) STRICT, WITHOUT ROWID;

-- Whether words that were removed from the full text index are to be overwritten there: 0 for no, 1
-- when requested, 2 when begun.
CREATE TABLE fulltext_erasure (
    state INTEGER NOT NULL
) STRICT;
INSERT INTO fulltext_erasure (state) VALUES (0);

-- Links that show a note, or the notes below a folder, to readers without an account.
CREATE TABLE publications (
    id BLOB NOT NULL PRIMARY KEY,
    workspace_id BLOB NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    -- Of the token.
    digest BLOB NOT NULL UNIQUE,
    -- The note, or NULL for a folder.
    file_id BLOB,
    -- Of the folder, or NULL for a note; '' for the whole workspace.
    folder TEXT,
    label TEXT,
    password TEXT,
    -- How often it can be opened, or NULL for any number, and how often it was.
    openings INTEGER,
    opened INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    taken_down_at INTEGER,
    -- NULL when the account was removed.
    created_by_id BLOB
) STRICT, WITHOUT ROWID;
CREATE INDEX publications_by_workspace ON publications (workspace_id, id);
CREATE INDEX publications_by_creator ON publications (created_by_id)
    WHERE created_by_id IS NOT NULL;
-- When they ended or will end.
CREATE INDEX publications_by_end ON publications ((COALESCE(revoked_at, expires_at)));

-- Open reports of links. The link can also be read by a token of the report, which is derived from
-- its id.
CREATE TABLE link_reports (
    id BLOB NOT NULL PRIMARY KEY,
    publication_id BLOB NOT NULL REFERENCES publications (id) ON DELETE CASCADE,
    -- Of that token.
    digest BLOB NOT NULL UNIQUE,
    reason TEXT NOT NULL,
    note TEXT,
    reported_at INTEGER NOT NULL,
    -- 1 when administrators got a message.
    mailed INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX link_reports_by_publication ON link_reports (publication_id);

-- Secrets of the installation: those that sign reading tickets, which are replaced, and the one that
-- the tokens of reports are derived by.
CREATE TABLE signing_keys (
    purpose TEXT NOT NULL,
    number INTEGER NOT NULL,
    secret BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (purpose, number)
) STRICT, WITHOUT ROWID;

-- Published notes as HTML, by the numbers of their texts. They can be made again at any time.
CREATE TABLE rendered_notes (
    content INTEGER NOT NULL PRIMARY KEY REFERENCES contents (number) ON DELETE CASCADE,
    -- Of the text: a number may be used again after the text was purged.
    digest BLOB NOT NULL,
    -- Of the renderer.
    version INTEGER NOT NULL,
    -- JSON, compressed with Zstandard.
    compressed BLOB NOT NULL,
    size INTEGER NOT NULL,
    used_at INTEGER NOT NULL
) STRICT;
CREATE INDEX rendered_notes_by_use ON rendered_notes (used_at, size);

-- Programs that were registered for the MCP endpoint (RFC 7591).
CREATE TABLE oauth_clients (
    id BLOB NOT NULL PRIMARY KEY,
    -- The metadata as JSON.
    metadata TEXT NOT NULL,
    -- Of its secret; null for a program without one.
    secret_digest BLOB,
    -- Of the token that manages the registration (RFC 7592).
    management_digest BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    -- When a person first allowed it something; null before.
    granted_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX oauth_clients_without_grant ON oauth_clients (created_at) WHERE granted_at IS NULL;

-- Programs as they called themselves when a person allowed them something. Revisions refer to them by
-- their numbers, also after the access ended.
CREATE TABLE oauth_programs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    -- The id of a registered program, or the address of a metadata document.
    client TEXT NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (client, name)
) STRICT;

-- What people allowed programs.
CREATE TABLE oauth_grants (
    id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    program INTEGER NOT NULL REFERENCES oauth_programs (number),
    -- Divided by spaces.
    scopes TEXT NOT NULL,
    -- Ids divided by spaces; null for all workspaces.
    workspaces TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    used_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX oauth_grants_by_account ON oauth_grants (account_id);
CREATE INDEX oauth_grants_by_program ON oauth_grants (program);

-- Codes that programs exchange for tokens. A used one is kept until it expires.
CREATE TABLE oauth_codes (
    digest BLOB NOT NULL PRIMARY KEY,
    grant_id BLOB NOT NULL REFERENCES oauth_grants (id) ON DELETE CASCADE,
    redirect_uri TEXT,
    challenge TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX oauth_codes_by_grant ON oauth_codes (grant_id);

-- Access tokens, and refresh tokens. A used refresh token is kept, to notice that it is used again.
CREATE TABLE oauth_tokens (
    digest BLOB NOT NULL PRIMARY KEY,
    grant_id BLOB NOT NULL REFERENCES oauth_grants (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    -- Divided by spaces; a program may ask for fewer than it was allowed.
    scopes TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX oauth_tokens_by_grant ON oauth_tokens (grant_id);
CREATE INDEX oauth_tokens_by_end ON oauth_tokens (expires_at);
