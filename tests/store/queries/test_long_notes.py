"""Long notes in the full text index: found as short ones, and no transaction has many tokens."""

import random
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from octavo_rules.identity import WorkspaceId

from octavo.features.search.sql.fulltext_index import (
    STEP_TOKENS,
    WORDS,
    erase_removed_words,
    remove_some_words,
)
from octavo.features.search.sql.searching import candidates
from octavo.model.search.query import parse_query
from octavo.model.search.searched_text import PORTION
from octavo.store import Script, Transaction, Value
from octavo.store.queries import workspaces
from octavo.store.queries.index_backlog import SLICE_BYTES
from octavo.store.queries.sweeping import sweep
from octavo.store.sqlite.search import PUT, REMOVE, index_row
from octavo.store.sqlite.transaction import SqliteTransaction
from octavo.store.sqlite.writer import BatchTransaction, Outcomes
from octavo.store.transaction import indexed_title
from tests.fakes.notebook import Notebook
from tests.fakes.stores import open_inline, open_postgres
from tests.store.queries.test_changesets import Opened, on_sqlite

VAULT = WorkspaceId("vault")
# Of a text without spaces, each character has one token; the name is indexed with the last portion.
MOST_TOKENS = STEP_TOKENS + PORTION + 1000
_WORDS = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.words USING fts5vocab (main, search, instance)"


def chinese(size: int) -> str:
    """Return ``size`` bytes of random Chinese, without spaces."""
    drawn = random.Random(size)
    return "".join(chr(drawn.randrange(0x4E00, 0x9FFF)) for _ in range(size // 3))


LONG = "start " + "tide " * (2 * PORTION) + "middle blue\n" + "ebb " * (2 * PORTION) + "end"


class LongNotes:
    """The guarantees on every engine; derived classes provide the fixture ``opened``."""

    @pytest.fixture
    async def notebook(self, opened: Opened) -> AsyncIterator[Notebook]:
        async with opened() as store:
            yield await Notebook(store, VAULT).open()

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("start end", ["a"]),
            ('"start tide"', ["a"]),
            ('"tide middle blue"', ["a"]),
            ("harbour end", ["a"]),
            ("blu", ["a"]),
            ("tide", ["a", "b"]),
            ("start nothing", []),
            ('"middle ebb"', []),
        ],
    )
    async def test_long_note_is_found_by_words_of_any_portions(
        self, notebook: Notebook, query: str, found: Sequence[str]
    ) -> None:
        await notebook.write("a", LONG, "harbour.md")
        await notebook.write("b", "tide")
        assert sorted(await notebook.search(query)) == found

    async def test_phrase_is_found_wherever_a_portion_ends(self, notebook: Notebook) -> None:
        text = chinese(9 * PORTION)
        await notebook.write("a", text)
        await notebook.catch_up()
        for at in range(PORTION - 40, PORTION + 10):
            assert await notebook.search(f'"{text[at : at + 30]}"') == ["a"]

    async def test_long_note_is_indexed_as_before_until_all_of_it_is_indexed(
        self, notebook: Notebook
    ) -> None:
        await notebook.write("a", "former")
        await notebook.catch_up()
        await notebook.write("a", LONG)
        assert await notebook.step(WORDS) == [VAULT]
        assert await notebook.count("fulltext_beginnings") == 1
        assert await _texts_found(notebook, "former") == ["a"]
        assert await notebook.search("start") == ["a"]
        assert await notebook.search("former") == []
        assert await notebook.count("fulltext_beginnings") == 0

    async def test_note_that_is_indexed_in_part_begins_anew_with_its_next_text(
        self, notebook: Notebook
    ) -> None:
        await notebook.write("a", LONG)
        assert await notebook.step(WORDS) == [VAULT]
        await notebook.write("a", LONG.replace("start", "changed"))
        assert await notebook.search("changed") == ["a"]
        assert await notebook.search("start") == []

    async def test_moved_long_note_is_found_by_its_new_name(self, notebook: Notebook) -> None:
        await notebook.write("a", LONG, "harbour.md")
        assert await notebook.search("harbour") == ["a"]
        await notebook.move("a", "pier.md")
        assert await notebook.catch_up() == 1
        assert await notebook.search("pier end") == ["a"]
        assert await notebook.search("harbour") == []

    @pytest.mark.parametrize("begun", [False, True])
    async def test_purged_long_note_is_not_found_and_leaves_nothing(
        self, notebook: Notebook, begun: bool
    ) -> None:
        await notebook.write("a", LONG)
        if begun:
            await notebook.step(WORDS)
        else:
            await notebook.catch_up()
        await notebook.delete("a")
        await notebook.purge("a")
        assert await _texts_found(notebook, "start") == []
        while await notebook.store.write(sweep()):
            pass
        for table in ("fulltext_notes", "fulltext_beginnings", "fulltext_removals"):
            assert await notebook.count(table) == 0


async def _texts_found(notebook: Notebook, word: str) -> list[str]:
    """Return what a search finds that indexes nothing before."""
    found = await notebook.store.read(candidates([VAULT], parse_query(word), None))
    return [each.file_id for each in found.candidates]


class TestLongNotesOnSqlite(LongNotes):
    @pytest.fixture
    def opened(self) -> Opened:
        return on_sqlite


class TestLongNotesOnPostgres(LongNotes):
    @pytest.fixture
    def opened(self, postgres_url: str) -> Opened:
        return lambda: open_postgres(postgres_url, random=random.Random(3).random)


class Counting:
    """Counts the tokens that each transaction adds to the index or removes from it."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.tokens: list[int] = []
        execute, execute_many = SqliteTransaction.execute, SqliteTransaction.execute_many
        perform = BatchTransaction.perform

        def begin(batch: BatchTransaction, scripts: Sequence[Script[Any]]) -> Outcomes:
            self.tokens.append(0)
            return perform(batch, scripts)

        async def one(transaction: SqliteTransaction, sql: str, *arguments: Value) -> int:
            self._count(sql, arguments)
            return await execute(transaction, sql, *arguments)

        async def many(
            transaction: SqliteTransaction, sql: str, rows: Iterable[Sequence[Value]]
        ) -> None:
            given = [*rows]
            for row in given:
                self._count(sql, row)
            await execute_many(transaction, sql, given)

        patch.setattr(BatchTransaction, "perform", begin)
        patch.setattr(SqliteTransaction, "execute", one)
        patch.setattr(SqliteTransaction, "execute_many", many)

    def _count(self, sql: str, row: Sequence[Value]) -> None:
        if sql in (PUT, REMOVE):
            self.tokens[-1] += sum(len(str(each).split()) for each in row[1:])


@pytest.fixture
async def vault(tmp_path: Path) -> AsyncIterator[Notebook]:
    """A workspace in a file of SQLite."""
    store = open_inline(tmp_path / "octavo.db")
    try:
        yield await Notebook(store, VAULT).open()
    finally:
        store.close()


async def _words_left(notebook: Notebook) -> int:
    async def count(transaction: Transaction) -> int:
        await transaction.execute(_WORDS)
        row = await transaction.fetch_one("SELECT COUNT(*) FROM words")
        assert row is not None
        return int(row[0])

    return await notebook.store.write(count)


async def _sweep_all(notebook: Notebook) -> None:
    for script in (remove_some_words, sweep, erase_removed_words):
        while await notebook.store.write(script()):
            pass


async def test_no_transaction_has_the_words_of_a_whole_long_note(
    vault: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = chinese(500_000)
    counting = Counting(monkeypatch)
    await vault.write("a", text)
    await vault.catch_up()
    assert sum(counting.tokens) >= len(text)
    for change in ("saved", "moved", "deleted", "purged"):
        counted = len(counting.tokens)
        if change == "saved":
            await vault.write("a", text[::-1])
        elif change == "moved":
            await vault.move("a", "moved.md")
        elif change == "deleted":
            await vault.delete("a")
        else:
            await vault.purge("a")
        await vault.catch_up()
        await _sweep_all(vault)
        if change == "moved":
            assert sum(counting.tokens[counted:]) < 2000
    assert max(counting.tokens) <= MOST_TOKENS
    assert await _words_left(vault) == 0


async def test_deleted_workspace_of_long_notes_is_removed_in_portions(
    vault: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "ab":
        await vault.write(name, chinese(200_000))
    await vault.catch_up()
    counting = Counting(monkeypatch)
    await vault.store.write(workspaces.delete(VAULT))
    await _sweep_all(vault)
    assert sum(counting.tokens) > 130_000
    assert max(counting.tokens) <= MOST_TOKENS
    assert await _words_left(vault) == 0


async def test_many_short_notes_are_removed_in_portions(
    vault: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = chinese(6_000)
    counting = Counting(monkeypatch)
    for number in range(20):
        await vault.write(f"f{number}", text)
    await vault.catch_up()
    for number in range(20):
        await vault.delete(f"f{number}")
    await vault.keep(*(vault.change(f"f{number}", "purged") for number in range(20)))
    await _sweep_all(vault)
    assert max(counting.tokens) <= max(MOST_TOKENS, SLICE_BYTES // 3)
    assert await _words_left(vault) == 0


async def test_long_note_that_an_earlier_version_indexed_as_one_row_is_removed_in_portions(
    vault: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = chinese(200_000) + " and words " * 5000
    await vault.write("a", "short")
    await vault.catch_up()
    await vault.write("a", text)

    async def index_as_one_row(transaction: Transaction) -> None:
        row = await transaction.fetch_one("SELECT pk FROM fulltext_notes")
        assert row is not None
        for sql, body in ((REMOVE, "short"), (PUT, text)):
            await transaction.execute(
                sql, *index_row(VAULT, row[0], "a.md", indexed_title(body), body)
            )
        await transaction.execute("UPDATE fulltext_notes SET content = (SELECT content FROM files)")

    await vault.store.write(index_as_one_row)
    assert await vault.search('"and words"') == ["a"]
    counting = Counting(monkeypatch)
    await vault.delete("a")
    await vault.purge("a")
    await _sweep_all(vault)
    assert sum(counting.tokens) > 60_000
    assert max(counting.tokens) <= MOST_TOKENS
    assert await _words_left(vault) == 0
    await vault.write("b", "tide")
    assert await vault.search("tide") == ["b"]
    await vault.delete("b")
    await vault.purge("b")
    await _sweep_all(vault)
