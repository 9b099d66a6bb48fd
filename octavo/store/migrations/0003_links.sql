-- What the link index knows of each live file. Whatever is kept of a file below follows from its row
-- here, so it can be taken back without the text.
CREATE TABLE indexed (
    workspace_id TEXT NOT NULL,
    file_id TEXT NOT NULL,
    path TEXT NOT NULL,
    -- The first heading; empty for none.
    title TEXT NOT NULL,
    -- How many rows the file has among the links.
    links BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, file_id)
);

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

-- Files whose words are still to be taken in, some at a time, and at first all that there are.
CREATE TABLE unindexed (
    workspace_id TEXT NOT NULL,
    file_id TEXT NOT NULL,
    position BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, file_id)
);
INSERT INTO unindexed (workspace_id, file_id, position)
    SELECT workspace_id, file_id, position FROM files
    WHERE state = 'live' AND workspace_id IN (SELECT id FROM workspaces);

-- What the full text index has of each note, and the number that it knows it by.
CREATE TABLE worded (
    workspace_id TEXT NOT NULL,
    file_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    content_id TEXT NOT NULL,
    path TEXT NOT NULL,
    title TEXT NOT NULL,
    PRIMARY KEY (workspace_id, file_id)
);
CREATE UNIQUE INDEX worded_by_number ON worded (workspace_id, number);
