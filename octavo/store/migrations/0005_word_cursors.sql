-- How far the words of each workspace are taken in: the next is what stands at the position, behind
-- the file of that id, or anywhere beyond. A workspace without a row has them all before it.
CREATE TABLE word_cursors (
    workspace_id TEXT NOT NULL PRIMARY KEY,
    position BIGINT NOT NULL,
    file_id TEXT NOT NULL
);

-- Files that had changed were listed one by one before.
DROP TABLE unindexed;
