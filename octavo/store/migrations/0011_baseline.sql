-- Identifiers are UUIDs of 16 bytes, digests have 32 bytes, times are milliseconds of Unix time.
--
-- Each table whose key is named pk has a surrogate key. Other tables refer to it by a column with
-- the name of what the row is: workspace, file, content, program.
--
-- On SQLite, a table without a rowid stores each row once, in the b-tree of its primary key. Tables with long
-- values keep their rowid: in the other kind, what exceeds 1,002 bytes of a row takes another page.

CREATE TABLE accounts (
    id {uuid} NOT NULL PRIMARY KEY,
    address {text} NOT NULL UNIQUE,
    display_name {text} NOT NULL,
    password {text} NOT NULL,
    role {text} NOT NULL,
    state {text} NOT NULL,
    created_at {int} NOT NULL,
    updated_at {int} NOT NULL,
    theme_family {text} NOT NULL DEFAULT 'paper',
    appearance {text} NOT NULL DEFAULT 'system',
    spell_check {int} NOT NULL DEFAULT 1,
    -- Why administrators locked it.
    lock_reason {text},
    -- What administrators allow; NULL for no limit.
    storage_limit {int},
    -- What the operator allows.
    controls_revision {int} NOT NULL DEFAULT 1,
    controls_locked {int} NOT NULL DEFAULT 0,
    controls_lock_reason {text},
    controls_storage_limit {int},
    controls_download_bytes {int},
    controls_download_objects {int},
    controls_publishing {int} NOT NULL DEFAULT 1,
    -- The versions of the legal documents that the person accepted last; all are NULL before.
    consent_terms {text},
    consent_privacy {text},
    consent_at {int},
    -- 1 when the person has shown to read the mail of the address.
    address_proven {int} NOT NULL DEFAULT 0
){strict_by_key};

-- Accounts that the operator removed.
CREATE TABLE removed_accounts (
    id {uuid} NOT NULL PRIMARY KEY,
    removed_at {int} NOT NULL
){strict_by_key};

-- What was done to accounts, credentials, invitations and members. Identifiers sort by time.
CREATE TABLE audit (
    id {uuid} NOT NULL PRIMARY KEY,
    at {int} NOT NULL,
    kind {text} NOT NULL,
    -- A service that acted without an account.
    actor {text},
    actor_id {uuid},
    subject_id {uuid},
    -- The network of the client address.
    client {text},
    outcome {text} NOT NULL,
    -- A JSON object of identifiers and codes; empty without any.
    detail {text} NOT NULL
){strict_by_key};
CREATE INDEX audit_by_kind ON audit (kind, id);
CREATE INDEX audit_by_actor ON audit (actor_id, id) WHERE actor_id IS NOT NULL;
CREATE INDEX audit_by_subject ON audit (subject_id, id) WHERE subject_id IS NOT NULL;

-- Removed accounts whose clients are still to be erased from the audit, in steps: those of the
-- entries after this one.
CREATE TABLE audit_erasures (
    account_id {uuid} NOT NULL PRIMARY KEY,
    after_id {uuid} NOT NULL
){strict_by_key};

-- What administrators decide about the installation: one row.
CREATE TABLE installation (
    registration_policy {text} NOT NULL
){strict};
INSERT INTO installation (registration_policy) VALUES ('invitation');

-- Tokens that hand a person to the operator's portal, by their SHA-256 digests.
CREATE TABLE portal_tokens (
    digest {bytes} NOT NULL PRIMARY KEY,
    account_id {uuid} NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    expires_at {int} NOT NULL
){strict_by_key};
CREATE INDEX portal_tokens_by_account ON portal_tokens (account_id);

-- What accounts have read in a month (UTC), such as '2026-11'.
CREATE TABLE account_usage (
    account_id {uuid} NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    month {text} NOT NULL,
    download_bytes {int} NOT NULL,
    download_objects {int} NOT NULL,
    PRIMARY KEY (account_id, month)
){strict_by_key};
CREATE INDEX account_usage_by_month ON account_usage (month);

-- What all accounts together have read in a month, and the objects written to the blob store.
CREATE TABLE installation_usage (
    month {text} NOT NULL PRIMARY KEY,
    download_bytes {int} NOT NULL,
    download_objects {int} NOT NULL,
    write_objects {int} NOT NULL
){strict_by_key};

-- The last batch of counts that each process has added, so that one sent again is not added twice.
CREATE TABLE usage_writers (
    id {uuid} NOT NULL PRIMARY KEY,
    batch {int} NOT NULL,
    written_at {int} NOT NULL
){strict_by_key};

-- When the messages to an address arrive in theory, if they keep to the rate that its budget allows.
CREATE TABLE mail_budgets (
    address {text} NOT NULL PRIMARY KEY,
    theoretical_arrival_at {int} NOT NULL
){strict_by_key};

-- Messages to be sent, without their texts; a message that was sent is deleted.
CREATE TABLE outbox (
    id {uuid} NOT NULL PRIMARY KEY,
    kind {text} NOT NULL,
    address {text} NOT NULL,
    created_at {int} NOT NULL,
    expires_at {int} NOT NULL,
    -- How many times it was claimed for sending.
    attempts {int} NOT NULL,
    -- When it can be claimed: the end of the present claim, or the time of the next attempt.
    due_at {int} NOT NULL
){strict_by_key};
CREATE INDEX outbox_by_due ON outbox (due_at);

-- Tokens to choose a new password; a used one is deleted.
CREATE TABLE password_resets (
    digest {bytes} NOT NULL PRIMARY KEY,
    account_id {uuid} NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    expires_at {int} NOT NULL
){strict_by_key};
CREATE INDEX password_resets_by_account ON password_resets (account_id);

-- Of secrets, only SHA-256 digests are stored.
CREATE TABLE sessions (
    id {uuid} NOT NULL PRIMARY KEY,
    account_id {uuid} NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    digest {bytes} NOT NULL UNIQUE,
    device {text} NOT NULL,
    client {text} NOT NULL,
    created_at {int} NOT NULL,
    active_at {int} NOT NULL
){strict_by_key};
CREATE INDEX sessions_by_account ON sessions (account_id);

CREATE TABLE api_keys (
    id {uuid} NOT NULL PRIMARY KEY,
    account_id {uuid} NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    name {text} NOT NULL,
    digest {bytes} NOT NULL UNIQUE,
    created_at {int} NOT NULL,
    expires_at {int},
    used_at {int},
    -- What it is limited to: its scopes and the ids of its workspaces, separated by spaces, and a
    -- folder; NULL for no limit.
    scopes {text},
    workspaces {text},
    folder {text}
){strict_by_key};
CREATE INDEX api_keys_by_account ON api_keys (account_id);
CREATE INDEX api_keys_by_folder ON api_keys (workspaces) WHERE folder IS NOT NULL;

-- Keys are not reused.
CREATE TABLE workspaces (
    pk {generated_key},
    id {uuid} NOT NULL UNIQUE,
    name {text} NOT NULL,
    position {int} NOT NULL,
    -- The highest key of a file.
    last_file {int} NOT NULL DEFAULT 0,
    -- The sizes of the heads of its files, in bytes.
    size {int} NOT NULL DEFAULT 0,
    created_at {int} NOT NULL,
    -- 1 when somebody may have read the document of a note. Until then a note needs no document.
    documents_were_read {int} NOT NULL DEFAULT 0,
    -- The mark of the newest position: a revision that its changeset made. Positions can be given
    -- twice, when a history was taken back; marks can't. Position 0 has the nil UUID.
    mark_id {uuid} NOT NULL DEFAULT {nil}
){strict};

CREATE TABLE invitations (
    id {uuid} NOT NULL PRIMARY KEY,
    digest {bytes} NOT NULL UNIQUE,
    address {text},
    role {text} NOT NULL,
    created_at {int} NOT NULL,
    expires_at {int} NOT NULL,
    used_at {int},
    revoked_at {int},
    -- 1 for the invitation of the first administrator, which a server without accounts makes.
    bootstrap {int} NOT NULL DEFAULT 0,
    -- NULL for an invitation into no workspace.
    workspace_id {uuid} REFERENCES workspaces (id) ON DELETE CASCADE,
    workspace_role {text},
    -- NULL for that of a command.
    created_by_id {uuid}
){strict_by_key};
CREATE INDEX invitations_by_workspace ON invitations (workspace_id);
CREATE INDEX invitations_unused ON invitations (workspace_id, expires_at)
    WHERE used_at IS NULL AND revoked_at IS NULL;
-- When they ended or will end.
CREATE INDEX invitations_by_end ON invitations ((COALESCE(used_at, revoked_at, expires_at)));

CREATE TABLE members (
    workspace_id {uuid} NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    account_id {uuid} NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    role {text} NOT NULL,
    joined_at {int} NOT NULL,
    PRIMARY KEY (workspace_id, account_id)
){strict_by_key};
CREATE INDEX members_by_account ON members (account_id, workspace_id);

-- Deleted workspaces whose contents are still to be removed, in steps. The tables below do not
-- refer to workspaces by foreign keys: a cascade over a whole workspace would block every other
-- writer.
CREATE TABLE deleted_workspaces (
    id {uuid} NOT NULL PRIMARY KEY,
    pk {int} NOT NULL
){strict_by_key};

-- Each file with its newest revision, the head. An empty media type is stored as '', that of a note
-- as NULL.
--
-- The key of the text or image is in the column content, NULL for purged files. The revision that
-- brought it is in the column content_revision_id, NULL if it is this one.
--
-- The key of the program that made the revision by the MCP endpoint is in the column program.
CREATE TABLE files (
    workspace {int} NOT NULL,
    pk {int} NOT NULL,
    file_id {uuid} NOT NULL,
    state {text} NOT NULL,
    kind {text} NOT NULL,
    path {text} NOT NULL,
    revision_id {uuid} NOT NULL,
    position {int} NOT NULL,
    content_revision_id {uuid},
    content {int},
    digest {bytes} NOT NULL,
    size {int} NOT NULL,
    media_type {text},
    author_id {uuid} NOT NULL,
    mutation_id {uuid} NOT NULL,
    changed_at {int} NOT NULL,
    origin {text} NOT NULL,
    program {int},
    PRIMARY KEY (workspace, pk)
){strict_by_key};
CREATE UNIQUE INDEX files_by_id ON files (workspace, file_id);
CREATE INDEX files_by_position ON files (workspace, position);
CREATE INDEX files_by_path ON files (workspace, state, path);
CREATE INDEX files_by_revision ON files (workspace, revision_id);
CREATE INDEX files_by_program ON files (workspace, program) WHERE program IS NOT NULL;
-- Whether any revision refers to a program.
CREATE INDEX files_of_program ON files (program) WHERE program IS NOT NULL;

-- The revisions before the heads, in the order of time: a save adds to the end of the table.
CREATE TABLE revisions (
    workspace {int} NOT NULL,
    position {int} NOT NULL,
    file {int} NOT NULL,
    state {text} NOT NULL,
    path {text} NOT NULL,
    revision_id {uuid} NOT NULL,
    content_revision_id {uuid},
    content {int},
    digest {bytes} NOT NULL,
    size {int} NOT NULL,
    media_type {text},
    author_id {uuid} NOT NULL,
    mutation_id {uuid} NOT NULL,
    changed_at {int} NOT NULL,
    origin {text} NOT NULL,
    program {int},
    PRIMARY KEY (workspace, position, file)
){strict_by_key};
CREATE INDEX revisions_by_file ON revisions (workspace, file, position);
CREATE INDEX revisions_by_id ON revisions (workspace, revision_id);
CREATE INDEX revisions_by_program ON revisions (workspace, program) WHERE program IS NOT NULL;
CREATE INDEX revisions_of_program ON revisions (program) WHERE program IS NOT NULL;

-- Purged files that were below the folders of limited keys. Their paths are erased, and devices with
-- these keys must hear of the purge.
CREATE TABLE folder_purges (
    workspace {int} NOT NULL,
    file {int} NOT NULL,
    key_id {uuid} NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
    PRIMARY KEY (workspace, file, key_id)
){strict_by_key};
CREATE INDEX folder_purges_by_key ON folder_purges (key_id);

-- Texts in the order of time, as UTF-8, compressed with Zstandard.
CREATE TABLE contents (
    pk {int} PRIMARY KEY,
    compressed {bytes} NOT NULL
){strict};

-- Texts and images of purged files that are still to be removed, in steps. No revision refers to
-- them.
CREATE TABLE purged_contents (
    content {int} PRIMARY KEY,
    size {int} NOT NULL
){strict};

-- Immutable files of bytes in the blob store, by their keys there. A row is committed before the blob
-- is stored, and deleted before the blob is.
CREATE TABLE blobs (
    key {text} NOT NULL PRIMARY KEY,
    digest {bytes} NOT NULL,
    size {int} NOT NULL,
    -- The CRC-32 of the bytes, as zip archives have it.
    crc {int} NOT NULL,
    -- 1 when the blob is durable; nothing refers to it before.
    stored {int} NOT NULL,
    -- When to look whether anything refers to it; NULL when something did at the last time, and
    -- still does.
    check_at {int}
){strict_by_key};
CREATE INDEX blobs_by_digest ON blobs (digest);
CREATE INDEX blobs_by_check ON blobs (check_at) WHERE check_at IS NOT NULL;

-- Blobs that are still to be deleted from the blob store.
CREATE TABLE deleted_blobs (
    key {text} NOT NULL PRIMARY KEY
){strict_by_key};

-- Images that were uploaded, and can be attached until they expire.
CREATE TABLE uploads (
    id {uuid} NOT NULL PRIMARY KEY,
    workspace_id {uuid} NOT NULL,
    account_id {uuid} NOT NULL,
    blob {text} NOT NULL,
    media_type {text} NOT NULL,
    width {int} NOT NULL,
    height {int} NOT NULL,
    frames {int} NOT NULL,
    expires_at {int} NOT NULL
){strict_by_key};
CREATE INDEX uploads_by_blob ON uploads (blob);
CREATE INDEX uploads_by_expiry ON uploads (expires_at);
CREATE INDEX uploads_by_account ON uploads (account_id);
CREATE INDEX uploads_by_workspace ON uploads (workspace_id);

-- Archives that are imported in parts, and for a while the results.
CREATE TABLE imports (
    id {uuid} NOT NULL PRIMARY KEY,
    workspace_id {uuid} NOT NULL,
    account_id {uuid} NOT NULL,
    -- The bytes of its files that were imported, of how many; 0 until they are known.
    bytes_read {int} NOT NULL,
    total {int} NOT NULL,
    -- The files that were committed.
    files {int} NOT NULL,
    -- JSON; NULL until it is done.
    result {text},
    -- Why it was refused at the last time, as JSON; NULL otherwise.
    failure {text},
    expires_at {int} NOT NULL
){strict_by_key};
CREATE INDEX imports_by_expiry ON imports (expires_at);
CREATE INDEX imports_by_account ON imports (account_id);
CREATE INDEX imports_by_workspace ON imports (workspace_id);

CREATE TABLE import_parts (
    import_id {uuid} NOT NULL REFERENCES imports (id) ON DELETE CASCADE,
    number {int} NOT NULL,
    blob {text} NOT NULL,
    PRIMARY KEY (import_id, number)
){strict_by_key};
CREATE INDEX import_parts_by_blob ON import_parts (blob);

-- Imports and exports that run; each has one of a few slots, until a time unless it is renewed. The
-- job of an import has its id.
CREATE TABLE archive_jobs (
    slot {int} NOT NULL PRIMARY KEY,
    account_id {uuid} NOT NULL UNIQUE,
    job_id {uuid} NOT NULL,
    renewed_until {int} NOT NULL
){strict_by_key};

-- The images of attachments. Their keys and those of texts are different.
CREATE TABLE images (
    pk {int} PRIMARY KEY,
    blob {text} NOT NULL,
    width {int} NOT NULL,
    height {int} NOT NULL,
    frames {int} NOT NULL
){strict};
CREATE INDEX images_by_blob ON images (blob);

-- Smaller pictures of images, by the blobs of these; they are made when they are asked for.
CREATE TABLE thumbnails (
    image {text} NOT NULL,
    width {int} NOT NULL,
    blob {text} NOT NULL,
    PRIMARY KEY (image, width)
){strict_by_key};
CREATE INDEX thumbnails_by_blob ON thumbnails (blob);

-- The results of changesets, for clients that send one again. For each operation, the changes hold
-- a byte for its outcome and the id of the revision; for a single change, only the byte, as its
-- revision is the one with the same position. Expiry reads the whole table: an index by age would
-- take as much room as half of it.
CREATE TABLE receipts (
    workspace {int} NOT NULL,
    mutation_id {uuid} NOT NULL,
    fingerprint {bytes} NOT NULL,
    position {int} NOT NULL,
    changes {bytes} NOT NULL,
    created_at {int} NOT NULL,
    -- The mark of the position.
    mark_id {uuid} NOT NULL DEFAULT {nil},
    PRIMARY KEY (workspace, mutation_id)
){strict_by_key};

-- The marks of revisions that history pruning has removed.
CREATE TABLE removed_marks (
    workspace {int} NOT NULL,
    position {int} NOT NULL,
    mark_id {uuid} NOT NULL,
    removed_at {int} NOT NULL,
    PRIMARY KEY (workspace, position, mark_id)
){strict_by_key};
CREATE INDEX removed_marks_by_time ON removed_marks (removed_at);

-- Restorations of workspaces, by the mutation ids of their requests.
CREATE TABLE restorations (
    workspace {int} NOT NULL,
    id {uuid} NOT NULL,
    account_id {uuid} NOT NULL,
    -- Who had it go on after it failed: its later changesets are theirs. NULL before.
    continuer_id {uuid},
    -- NULL when the position was asked for.
    moment {int},
    -- The position whose state returns, and that of the workspace at the beginning.
    target {int} NOT NULL,
    start_position {int} NOT NULL,
    -- Empty for all files.
    folder {text} NOT NULL,
    state {text} NOT NULL,
    -- The number of its changesets, and the position of the last one.
    steps {int} NOT NULL,
    last_position {int} NOT NULL,
    -- The files to return, and those that have returned.
    total {int} NOT NULL,
    done {int} NOT NULL,
    -- How many were skipped, and the first of them as JSON.
    skipped_count {int} NOT NULL,
    skipped_files {text} NOT NULL,
    -- Why it was stopped, as JSON; NULL otherwise.
    failure {text},
    started_at {int} NOT NULL,
    updated_at {int} NOT NULL,
    PRIMARY KEY (workspace, id)
){strict_by_key};
CREATE INDEX restorations_by_start ON restorations (workspace, started_at, id);
CREATE INDEX restorations_running ON restorations (updated_at) WHERE state = 'running';

-- The Yjs documents of notes whose text has changed since they were created. The document of any
-- other note is the insertion of its text.
--
-- A document names the revision that brought the text that it has; the head may have a newer one.
-- Without a state vector it is the insertion of a text, which is stored in place of its state. The
-- state comes last: SQLite reads the other columns without it.
CREATE TABLE documents (
    workspace {int} NOT NULL,
    file {int} NOT NULL,
    epoch_id {uuid} NOT NULL,
    content_revision_id {uuid},
    vector {bytes} NOT NULL,
    base_state {bytes} NOT NULL,
    PRIMARY KEY (workspace, file)
){strict};

-- Updates of devices that were merged into a document since it was stored, in the order of the
-- positions that they came with: each follows its length.
CREATE TABLE document_updates (
    workspace {int} NOT NULL,
    file {int} NOT NULL,
    position {int} NOT NULL,
    updates {bytes} NOT NULL,
    PRIMARY KEY (workspace, file, position)
){strict_by_key};

-- Live files in the link index. The keys are those of the file in the tables link_targets and
-- link_sources, 6 bytes each: they are removed without the path and the text that they come from.
CREATE TABLE link_index (
    workspace {int} NOT NULL,
    file {int} NOT NULL,
    targets {bytes} NOT NULL,
    sources {bytes} NOT NULL,
    PRIMARY KEY (workspace, file)
){strict_by_key};

-- The keys under which links find live files. A key is a hash of 48 bits.
CREATE TABLE link_targets (
    workspace {int} NOT NULL,
    key {int} NOT NULL,
    file {int} NOT NULL,
    PRIMARY KEY (workspace, key, file)
){strict_by_key};

-- The keys that decide whether the links of a live note lead somewhere. The links themselves are
-- read from its text.
CREATE TABLE link_sources (
    workspace {int} NOT NULL,
    key {int} NOT NULL,
    file {int} NOT NULL,
    PRIMARY KEY (workspace, key, file)
){strict_by_key};

-- Notes in the full text index: their keys there, and what was indexed. The path is NULL as long as
-- the file has it. A long note is indexed in portions, as many as its text has; 0 for a note that was
-- indexed as a whole.
CREATE TABLE fulltext_notes (
    pk {int} PRIMARY KEY,
    workspace {int} NOT NULL,
    file {int} NOT NULL,
    content {int} NOT NULL,
    path {text},
    portions {int} NOT NULL DEFAULT 0
){strict};
CREATE UNIQUE INDEX fulltext_notes_by_file ON fulltext_notes (workspace, file);

-- Long notes that are indexed in part, with as many portions of their texts. They are not found.
CREATE TABLE fulltext_beginnings (
    pk {int} PRIMARY KEY,
    workspace {int} NOT NULL,
    file {int} NOT NULL,
    content {int} NOT NULL,
    portions {int} NOT NULL
){strict};
CREATE UNIQUE INDEX fulltext_beginnings_by_file ON fulltext_beginnings (workspace, file);

-- Notes that are no longer found, and whose words are still to be removed from the full text index,
-- from a portion on. The path is NULL when its words are not in the index.
CREATE TABLE fulltext_removals (
    pk {int} PRIMARY KEY,
    workspace {int} NOT NULL,
    content {int} NOT NULL,
    path {text},
    portions {int} NOT NULL,
    removed {int} NOT NULL DEFAULT 0
){strict};
CREATE INDEX fulltext_removals_by_workspace ON fulltext_removals (workspace);

-- How far the indexes of each workspace have come, that of links and that of words: the next file is
-- the first one after this position and key. Without a row, nothing is indexed.
CREATE TABLE index_cursors (
    workspace {int} NOT NULL,
    name {text} NOT NULL,
    position {int} NOT NULL,
    file {int} NOT NULL,
    PRIMARY KEY (workspace, name)
){strict_by_key};

-- Whether words that were removed from the full text index are to be overwritten there: 0 for no, 1
-- when requested, 2 when begun.
CREATE TABLE fulltext_erasure (
    state {int} NOT NULL
){strict};
INSERT INTO fulltext_erasure (state) VALUES (0);

-- Links that show a note, or the notes below a folder, to readers without an account.
CREATE TABLE publications (
    id {uuid} NOT NULL PRIMARY KEY,
    workspace_id {uuid} NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    -- Of the token.
    digest {bytes} NOT NULL UNIQUE,
    -- The note, or NULL for a folder.
    file_id {uuid},
    -- Of the folder, or NULL for a note; '' for the whole workspace.
    folder {text},
    label {text},
    password {text},
    -- How often it can be opened, or NULL for any number, and how often it was.
    openings {int},
    opened {int} NOT NULL DEFAULT 0,
    created_at {int} NOT NULL,
    expires_at {int},
    revoked_at {int},
    taken_down_at {int},
    -- NULL when the account was removed.
    created_by_id {uuid}
){strict_by_key};
CREATE INDEX publications_by_workspace ON publications (workspace_id, id);
CREATE INDEX publications_by_creator ON publications (created_by_id)
    WHERE created_by_id IS NOT NULL;
-- When they ended or will end.
CREATE INDEX publications_by_end ON publications ((COALESCE(revoked_at, expires_at)));

-- Open reports of links. The link can also be read by a token of the report, which is derived from
-- its id.
CREATE TABLE link_reports (
    id {uuid} NOT NULL PRIMARY KEY,
    publication_id {uuid} NOT NULL REFERENCES publications (id) ON DELETE CASCADE,
    -- Of that token.
    digest {bytes} NOT NULL UNIQUE,
    reason {text} NOT NULL,
    note {text},
    reported_at {int} NOT NULL,
    -- 1 when administrators got a message.
    mailed {int} NOT NULL DEFAULT 0
){strict_by_key};
CREATE INDEX link_reports_by_publication ON link_reports (publication_id);

-- Secrets of the installation: those that sign reading tickets, which are replaced, and the one that
-- the tokens of reports are derived by.
CREATE TABLE signing_keys (
    purpose {text} NOT NULL,
    number {int} NOT NULL,
    secret {bytes} NOT NULL,
    created_at {int} NOT NULL,
    PRIMARY KEY (purpose, number)
){strict_by_key};

-- Published notes as HTML, by the keys of their texts. They can be made again at any time.
CREATE TABLE rendered_notes (
    content {int} NOT NULL PRIMARY KEY REFERENCES contents (pk) ON DELETE CASCADE,
    -- Of the text: a key may be used again after the text was purged.
    digest {bytes} NOT NULL,
    -- Of the renderer.
    version {int} NOT NULL,
    -- JSON, compressed with Zstandard.
    compressed {bytes} NOT NULL,
    size {int} NOT NULL,
    used_at {int} NOT NULL
){strict};
CREATE INDEX rendered_notes_by_use ON rendered_notes (used_at, size);

-- Programs that were registered for the MCP endpoint (RFC 7591).
CREATE TABLE oauth_clients (
    id {uuid} NOT NULL PRIMARY KEY,
    -- The metadata as JSON.
    metadata {text} NOT NULL,
    -- Of its secret; null for a program without one.
    secret_digest {bytes},
    -- Of the token that manages the registration (RFC 7592).
    management_digest {bytes} NOT NULL,
    created_at {int} NOT NULL,
    -- When a person first allowed it something; null before.
    granted_at {int}
){strict_by_key};
CREATE INDEX oauth_clients_without_grant ON oauth_clients (created_at) WHERE granted_at IS NULL;

-- Programs as they called themselves when a person allowed them something. Revisions refer to them
-- also after the access ended.
CREATE TABLE oauth_programs (
    pk {generated_key},
    -- The id of a registered program, or the address of a metadata document.
    client {text} NOT NULL,
    name {text} NOT NULL,
    -- When nobody allowed the program anything any more; null while somebody does.
    ended_at {int},
    UNIQUE (client, name)
){strict};

-- What people allowed programs.
CREATE TABLE oauth_grants (
    id {uuid} NOT NULL PRIMARY KEY,
    account_id {uuid} NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    program {int} NOT NULL REFERENCES oauth_programs (pk),
    -- Divided by spaces.
    scopes {text} NOT NULL,
    -- Ids divided by spaces; null for all workspaces.
    workspaces {text},
    created_at {int} NOT NULL,
    expires_at {int},
    used_at {int}
){strict_by_key};
CREATE INDEX oauth_grants_by_account ON oauth_grants (account_id);
CREATE INDEX oauth_grants_by_program ON oauth_grants (program);

-- Codes that programs exchange for tokens. A used one is kept until it expires.
CREATE TABLE oauth_codes (
    digest {bytes} NOT NULL PRIMARY KEY,
    grant_id {uuid} NOT NULL REFERENCES oauth_grants (id) ON DELETE CASCADE,
    redirect_uri {text},
    challenge {text} NOT NULL,
    expires_at {int} NOT NULL,
    used_at {int}
){strict_by_key};
CREATE INDEX oauth_codes_by_grant ON oauth_codes (grant_id);

-- Access tokens, and refresh tokens. A used refresh token is kept, to notice that it is used again.
CREATE TABLE oauth_tokens (
    digest {bytes} NOT NULL PRIMARY KEY,
    grant_id {uuid} NOT NULL REFERENCES oauth_grants (id) ON DELETE CASCADE,
    kind {text} NOT NULL,
    -- Divided by spaces; a program may ask for fewer than it was allowed.
    scopes {text} NOT NULL,
    expires_at {int} NOT NULL,
    used_at {int}
){strict_by_key};
CREATE INDEX oauth_tokens_by_grant ON oauth_tokens (grant_id);
CREATE INDEX oauth_tokens_by_end ON oauth_tokens (expires_at);
