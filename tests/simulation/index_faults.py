"""The content of the indexes of links and words, compared with what the heads require."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from octavo_rules.identity import FileId

from octavo.features.links.sql.link_index import LINKS, links_in, sources_of, targets_of
from octavo.features.search.sql.fulltext_index import WORDS, remove_some_words
from octavo.model.search.tokens import name_tokens, tag_of, tokens_of
from octavo.store import Script, Store, Transaction
from octavo.store.queries import index_backlog
from octavo.store.queries.index_backlog import (
    FileIndex,
    commit_step,
    next_step,
    workspaces_to_index,
)
from octavo.store.queries.revision_rows import WORKSPACE
from octavo.store.transaction import indexed_title
from tests.simulation.kept import Kept
from tests.simulation.link_faults import MANY, faults_of_index, faults_of_links

# Of the notes in the index, every word with its place.
_WORDS = """
    SELECT fulltext_notes.workspace, fulltext_notes.file, words.col, words.offset, words.term
    FROM words LEFT JOIN fulltext_notes ON fulltext_notes.pk = words.doc
"""
_NOTES = """
    SELECT fulltext_notes.workspace, fulltext_notes.file,
        fulltext_notes.content = files.content AND fulltext_notes.path IS NULL
    FROM fulltext_notes LEFT JOIN files
    ON files.workspace = fulltext_notes.workspace AND files.pk = fulltext_notes.file
"""
_NUMBERS = f"SELECT file_id, workspace, pk FROM files WHERE workspace = {WORKSPACE}"
_TABLES = {
    "words": _WORDS,
    "fulltext_notes": _NOTES,
    "link_index": "SELECT workspace, file FROM link_index",
    "link_targets": "SELECT workspace, file, key FROM link_targets",
    "link_sources": "SELECT workspace, file, key FROM link_sources",
}

Row = tuple[object, ...]
Rows = dict[str, list[Row]]


async def faults_of_indexes(disk: Store, workspaces: Sequence[Kept]) -> list[str]:
    """Return where the indexes disagree with the heads, once they have caught up."""

    async def compare(transaction: Transaction) -> list[str]:
        with pytest.MonkeyPatch.context() as patch:
            # Small steps were taken during the run.
            patch.setattr(index_backlog, "_MAX_FILES", MANY)
            await catch_up_indexes(transaction)
        faults: list[str] = []
        expected: Rows = {table: [] for table in _TABLES}
        for workspace in workspaces:
            faults += await faults_of_index(workspace)(transaction)
            faults += await faults_of_links(workspace)(transaction)
            for table, rows in (await _expected(workspace)(transaction)).items():
                expected[table] += rows
        found = await _found(transaction)
        for table, rows in expected.items():
            have, want = Counter(found[table]), Counter(rows)
            if have != want:
                told = f"{_some(have - want)} and lacks {_some(want - have)}"
                faults.append(f"the index has the {table} {told}")
        return faults

    return await disk.write(compare)


def _some(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=str)[:5]


async def catch_up_indexes(transaction: Transaction) -> None:
    """Index all changes, as the job does when nobody else is there."""
    indexes: tuple[FileIndex[Any], ...] = (LINKS, WORDS)
    for index in indexes:
        left = await workspaces_to_index(index)(transaction)
        while left:
            step = await next_step(index, left)(transaction)
            overtaken, unfinished = await commit_step(step)(transaction)
            assert not overtaken, f"somebody else has indexed {overtaken}"
            left = [*unfinished, *step.left]
    while await remove_some_words()(transaction):
        pass


def _expected(workspace: Kept) -> Script[Rows]:
    tag = tag_of(workspace.workspace_id)

    async def expect(transaction: Transaction) -> Rows:
        rows: Rows = {table: [] for table in _TABLES}
        found = await transaction.fetch_all(_NUMBERS, workspace.workspace_id)
        numbers = {FileId(row[0]): (row[1], row[2]) for row in found}
        for head in workspace.heads.values():
            if head.state != "live":
                continue
            file, text = numbers[head.file_id], workspace.text_of(head)
            rows["link_index"].append(file)
            rows["link_targets"] += [(*file, key) for key in targets_of(head.path)]
            rows["link_sources"] += [(*file, key) for key in sources_of(links_in(text, head.path))]
            if head.kind == "note":
                rows["fulltext_notes"].append((*file, 1))
                name = name_tokens(head.path, indexed_title(text))
                for column, tokens in (("body", tokens_of(text)), ("name", name)):
                    rows["words"] += [
                        (*file, column, at, tag + token) for at, token in enumerate(tokens)
                    ]
        return rows

    return expect


async def _found(transaction: Transaction) -> Rows:
    return {
        table: [*map(tuple, await transaction.fetch_all(sql))] for table, sql in _TABLES.items()
    }
