-- What is known of the newest text of each live file, for links and for the search. Whatever is kept
-- of a file below follows from its row here, so it can be taken back without the text.
CREATE TABLE indexed (
    workspace_id TEXT NOT NULL,
    file_id TEXT NOT NULL,
    content_id TEXT NOT NULL,
    path TEXT NOT NULL,
    -- The first heading; empty for none.
    title TEXT NOT NULL,
    -- How many rows the file has among the links.
    links BIGINT NOT NULL,
    -- What its tokens are known by; null for what has no text.
    number BIGINT,
    PRIMARY KEY (workspace_id, file_id)
);
CREATE INDEX indexed_by_number ON indexed (workspace_id, number) WHERE number IS NOT NULL;

-- The keys that each live file is found under by a link. Of the files under one key, that with the
-- least rank is meant; path and id of the file follow from the rank.
CREATE TABLE places (
    workspace_id TEXT NOT NULL,
    key TEXT NOT NULL,
    file_id TEXT NOT NULL,
    rank TEXT NOT NULL,
    PRIMARY KEY (workspace_id, key, file_id)
);
CREATE INDEX places_of_file ON places (workspace_id, file_id);

-- The links of live notes, each once however often it stands there, and the keys that it is looked
-- up under, one after the other. A link to the note itself has an empty target and no key.
CREATE TABLE links (
    workspace_id TEXT NOT NULL,
    file_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    kind TEXT NOT NULL,
    embed BIGINT NOT NULL,
    target TEXT NOT NULL,
    heading TEXT NOT NULL,
    first_key TEXT,
    second_key TEXT,
    PRIMARY KEY (workspace_id, file_id, number)
);
CREATE INDEX links_by_first_key ON links (workspace_id, first_key) WHERE first_key IS NOT NULL;
CREATE INDEX links_by_second_key ON links (workspace_id, second_key) WHERE second_key IS NOT NULL;

-- Files that were there before this, and are still to be taken in, some at a time.
CREATE TABLE unindexed (
    workspace_id TEXT NOT NULL,
    file_id TEXT NOT NULL,
    PRIMARY KEY (workspace_id, file_id)
);
INSERT INTO unindexed (workspace_id, file_id)
    SELECT workspace_id, file_id FROM files
    WHERE state = 'live' AND workspace_id IN (SELECT id FROM workspaces);
