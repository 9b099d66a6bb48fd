-- Accounts and what they sign in with. Secrets are kept as SHA-256 digests alone.
CREATE TABLE accounts (
    id TEXT NOT NULL PRIMARY KEY,
    address TEXT NOT NULL UNIQUE,
    display_name TEXT NOT NULL,
    password TEXT NOT NULL,
    role TEXT NOT NULL,
    state TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE TABLE sessions (
    id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    digest BYTEA NOT NULL UNIQUE,
    device TEXT NOT NULL,
    client TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    active_at BIGINT NOT NULL
);
CREATE INDEX sessions_of_account ON sessions (account_id);

CREATE TABLE api_keys (
    id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    digest BYTEA NOT NULL UNIQUE,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    used_at BIGINT
);
CREATE INDEX api_keys_of_account ON api_keys (account_id);

CREATE TABLE invitations (
    id TEXT NOT NULL PRIMARY KEY,
    digest BYTEA NOT NULL UNIQUE,
    address TEXT,
    role TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT,
    revoked_at BIGINT,
    -- 1 for one that a start without accounts made.
    of_start BIGINT NOT NULL DEFAULT 0
);

-- A workspace, its members, and its files. All of it is found by the workspace first.
CREATE TABLE workspaces (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    position BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE members (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    role TEXT NOT NULL,
    PRIMARY KEY (workspace_id, account_id)
);
CREATE INDEX members_of_account ON members (account_id, workspace_id);

-- Deleted workspaces whose contents are still to be removed, some at a time. Nothing below refers to
-- workspaces by a foreign key: removing all at once would hold up every other writer.
CREATE TABLE deleted_workspaces (
    id TEXT NOT NULL PRIMARY KEY
);

-- The newest revision of each file, once more: heads, lists and the feed are read from here.
CREATE TABLE files (
    workspace_id TEXT NOT NULL,
    file_id TEXT NOT NULL,
    state TEXT NOT NULL,
    kind TEXT NOT NULL,
    path TEXT NOT NULL,
    revision_id TEXT NOT NULL,
    position BIGINT NOT NULL,
    content_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    size BIGINT NOT NULL,
    media_type TEXT NOT NULL,
    author TEXT NOT NULL,
    mutation_id TEXT NOT NULL,
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, file_id)
);
CREATE INDEX files_by_position ON files (workspace_id, position);
CREATE INDEX files_by_path ON files (workspace_id, state, path);

CREATE TABLE revisions (
    workspace_id TEXT NOT NULL,
    revision_id TEXT NOT NULL,
    file_id TEXT NOT NULL,
    state TEXT NOT NULL,
    kind TEXT NOT NULL,
    path TEXT NOT NULL,
    position BIGINT NOT NULL,
    content_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    size BIGINT NOT NULL,
    media_type TEXT NOT NULL,
    author TEXT NOT NULL,
    mutation_id TEXT NOT NULL,
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, revision_id)
);
CREATE INDEX revisions_of_file ON revisions (workspace_id, file_id, position);

-- A text, under the id of the revision that brought it; revisions that keep it name that one.
CREATE TABLE contents (
    workspace_id TEXT NOT NULL,
    content_id TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (workspace_id, content_id)
);

-- Texts of purged files that are still to be removed, some at a time. No revision names them.
CREATE TABLE purged_contents (
    workspace_id TEXT NOT NULL,
    content_id TEXT NOT NULL,
    size BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, content_id)
);

-- What became of each mutation: its answer, for whoever asks again.
CREATE TABLE receipts (
    workspace_id TEXT NOT NULL,
    mutation_id TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    position BIGINT NOT NULL,
    changes TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, mutation_id)
);
CREATE INDEX receipts_by_age ON receipts (created_at);
