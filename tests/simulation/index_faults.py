"""The content of the indexes of links and words, compared with a complete reindexing."""

from collections.abc import Sequence
from typing import Any

from octavo.model.identity import WorkspaceId
from octavo.model.search import parse_query, tokens_of
from octavo.model.search.tokens import name_tokens
from octavo.store import Store, Transaction
from octavo.store.scripts.index_backlog import (
    LINKS,
    WORDS,
    FileIndex,
    commit_step,
    next_step,
    workspaces_to_index,
)
from octavo.store.transaction import Matching
from tests.simulation.kept import Kept
from tests.simulation.link_faults import faults_of_index, faults_of_links

INDEXES: tuple[FileIndex[Any], ...] = (LINKS, WORDS)
_TABLES = {
    "link_index": "workspace, file, targets, sources",
    "fulltext_notes": "workspace, file, content, path",
    "link_targets": "workspace, key, file",
    "link_sources": "workspace, key, file",
}


Rows = dict[str, list[tuple[object, ...]]]


async def faults_of_indexes(disk: Store, workspaces: Sequence[Kept]) -> list[str]:
    """Return where the indexes disagree with the heads; this rebuilds all of them."""

    async def compare(transaction: Transaction) -> list[str]:
        await _catch_up(transaction)
        faults: list[str] = []
        for workspace in workspaces:
            for word, files in _holding(workspace).items():
                found = await _find(transaction, workspace.workspace_id, word)
                if found != files:
                    told = f"{found} in place of {files}"
                    faults.append(f"{workspace.workspace_id}: the index finds {word} in {told}")
            faults += await faults_of_index(workspace)(transaction)
            faults += await faults_of_links(workspace)(transaction)
        before = await _rows(transaction)
        await _forget(transaction)
        await _catch_up(transaction)
        for table, rows in (await _rows(transaction)).items():
            if before[table] != rows:
                faults.append(f"the index has the {table} {before[table]} in place of {rows}")
        return faults

    return await disk.write(compare)


async def _catch_up(transaction: Transaction) -> None:
    """Index all changes, as the job does when nobody else is there."""
    for index in INDEXES:
        left = await workspaces_to_index(index)(transaction)
        while left:
            step = await next_step(index, left)(transaction)
            overtaken = await commit_step(step)(transaction)
            assert not overtaken, f"somebody else has indexed {overtaken}"
            left = step.left


async def _forget(transaction: Transaction) -> None:
    """Empty the indexes, as if all files were older than they are."""
    for table in _TABLES:
        await transaction.execute(f"DELETE FROM {table}")
    await transaction.execute("INSERT INTO search (search) VALUES ('delete-all')")
    await transaction.execute("DELETE FROM index_cursors")


def _words(workspace: Kept) -> list[str]:
    """Return all words ever written, and each character of those without spaces."""
    tokens = {token for text in workspace.texts.values() for token in tokens_of(text)}
    whole = {token for token in tokens if token.isascii()}
    return sorted(whole | {each for token in tokens - whole for each in token})


def _holding(workspace: Kept) -> dict[str, list[str]]:
    """Return the live notes that contain each word."""
    tokens = {
        head.file_id: {*tokens_of(workspace.texts[head.content_id]), *name_tokens(head.path, "")}
        for head in workspace.heads.values()
        if head.state == "live" and head.kind == "note"
    }
    parts = {
        file_id: held | {each for token in held if not token.isascii() for each in token}
        for file_id, held in tokens.items()
    }
    return {
        word: sorted(file_id for file_id, held in parts.items() if word in held)
        for word in _words(workspace)
    }


async def _find(transaction: Transaction, workspace_id: WorkspaceId, word: str) -> list[str]:
    matching = Matching(parse_query(f'"{word}"').clauses, False, None, 100)
    return sorted(await transaction.match_words(workspace_id, matching))


async def _rows(transaction: Transaction) -> Rows:
    rows: Rows = {}
    for table, columns in _TABLES.items():
        found = await transaction.fetch_all(f"SELECT {columns} FROM {table}")
        rows[table] = sorted(map(tuple, found), key=str)
    return rows
