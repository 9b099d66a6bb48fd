"""The full text index of SQLite is made anew before it can't be used any more, and after."""

from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.identity import WorkspaceId
from outcome import Error, Value
from trio.testing import MockClock

from octavo.features.search.note_search import NoteSearch, SearchedTexts, Where
from octavo.features.search.sql.fulltext_index import (
    erase_removed_words,
    remove_some_words,
    renew_words,
    words_are_worn_out,
)
from octavo.model.search.query import parse_query
from octavo.service.features import sweeping_job
from octavo.store import IndexDamaged, Script, Transaction
from octavo.store.queries.sweeping import sweep
from octavo.store.sqlite import InlineStore
from octavo.store.sqlite.backup import Verification
from octavo.store.sqlite.connection import DATABASE
from octavo.store.sqlite.search import MOST_LEVELS, STRUCTURE, is_worn_out
from tests.fakes.notebook import Notebook
from tests.fakes.stores import open_inline, open_sqlite
from tests.store.conformance import adding, executing, fetching

R = TypeVar("R")

VAULT = WorkspaceId("vault")
ERASURES = 1_500
# A level without segments, in the record of a structure.
EMPTY = b"\0\0"


@pytest.fixture
async def notebook() -> AsyncIterator[Notebook]:
    store = open_inline()
    yield await Notebook(store, VAULT).open()
    store.close()


async def run(work: Callable[[], R]) -> R:
    """Run in this thread."""
    return work()


def varint(number: int) -> bytes:
    """A number below 2**56 as SQLite writes it."""
    groups = [number & 0x7F]
    while number := number >> 7:
        groups.append(number & 0x7F | 0x80)
    return bytes(reversed(groups))


@given(
    st.integers(0, 2**56 - 1) | st.integers(MOST_LEVELS - 2, MOST_LEVELS + 2),
    st.booleans(),
    st.binary(min_size=4, max_size=4).filter(lambda cookie: cookie[0] != 0xFF),
    st.binary(),
)
def test_index_is_worn_out_when_it_has_too_many_levels(
    levels: int, newer: bool, cookie: bytes, rest: bytes
) -> None:
    version = b"\xff\0\0\1" if newer else b""
    assert is_worn_out(cookie + version + varint(levels) + rest) is (levels > MOST_LEVELS)


@pytest.mark.parametrize("structure", [None, b"", b"\0\0\0\0", b"\0\0\0\0\xff\xff"])
def test_index_without_a_structure_is_worn_out(structure: bytes | None) -> None:
    assert is_worn_out(structure)


async def levels_of(notebook: Notebook) -> int:
    """The levels of the index."""

    async def read(transaction: Transaction) -> bytes:
        row = await transaction.fetch_one(STRUCTURE)
        assert row is not None
        return bytes(row[0])

    structure = (await notebook.store.read(read))[4:].removeprefix(b"\xff\0\0\1")
    return next(n for n in range(10_000) if structure.startswith(varint(n)))


async def damage(notebook: Notebook, levels: int = 2_100) -> None:
    """Give the index as many empty levels as many erasures once left in it."""
    structure = b"\0\0\0\1" + varint(levels) + varint(0) + varint(0) + EMPTY * levels
    await notebook.store.write(
        executing("UPDATE search_data SET block = $1 WHERE id = 10", structure)
    )


async def run_to_its_end(notebook: Notebook, script: Script[bool]) -> None:
    while await notebook.store.write(script):
        pass


async def test_words_are_found_after_many_erasures(notebook: Notebook) -> None:
    await notebook.write("stays", "tide")
    for n in range(ERASURES):
        name = f"f{n}"
        await notebook.write(name, f"tide {n}")
        await notebook.catch_up()
        await notebook.delete(name)
        await notebook.purge(name)
        await run_to_its_end(notebook, sweep())
        await run_to_its_end(notebook, erase_removed_words())
        if n % 100 == 0:
            assert await levels_of(notebook) <= MOST_LEVELS + 10
    assert await notebook.search("tide") == ["stays"]


async def test_worn_out_index_is_made_anew(notebook: Notebook) -> None:
    await notebook.write("a", "tide")
    await notebook.catch_up()
    assert not await notebook.store.read(words_are_worn_out)
    await damage(notebook)
    with pytest.raises(IndexDamaged):
        await notebook.search("tide")
    assert await notebook.store.read(words_are_worn_out)
    await notebook.store.write(renew_words)
    assert await levels_of(notebook) == 0
    assert await notebook.search("tide") == ["a"]


async def test_damaged_index_is_made_anew_once_by_searches_at_the_same_time(
    notebook: Notebook, caplog: pytest.LogCaptureFixture
) -> None:
    await notebook.write("a", "tide")
    await notebook.catch_up()
    await damage(notebook)
    search = NoteSearch(notebook.store, SearchedTexts(0), run)
    found: list[tuple[list[str], bool]] = []

    async def find() -> None:
        notes = await search.find(parse_query("tide"), Where([VAULT]), lambda found: found)
        found.append(([each.candidate.file_id for each in notes.notes], notes.complete))

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(find)
    assert found == [(["a"], True)] * 5
    assert sum("it is made anew" in each.message for each in caplog.records) == 1


async def test_damaged_index_fails_no_other_write_of_its_batch(notebook: Notebook) -> None:
    await notebook.write("a", "tide")
    await notebook.catch_up()
    await notebook.delete("a")
    await notebook.purge("a")
    await damage(notebook)
    store = notebook.store
    assert isinstance(store, InlineStore)
    scripts = [adding("one"), remove_some_words(), adding("two")]
    saved, failed, other = await store.write_batch(scripts)
    assert isinstance(failed, Error)
    assert isinstance(failed.error, IndexDamaged)
    assert (saved, other) == (Value(1), Value(1))


async def test_damaged_index_keeps_nothing_from_being_removed(
    notebook: Notebook, autojump_clock: MockClock
) -> None:
    await notebook.write("a", "tide")
    await notebook.catch_up()
    await notebook.delete("a")
    await notebook.purge("a")
    await damage(notebook)
    swept = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(sweeping_job(notebook.store, swept.set).run)
        with trio.fail_after(60):
            await swept.wait()
        nursery.cancel_scope.cancel()
    for table in ("purged_contents", "fulltext_removals", "fulltext_notes"):
        assert await notebook.store.read(fetching(f"SELECT 1 FROM {table}")) == []


async def test_verified_copy_has_no_damaged_index(tmp_path: Path) -> None:
    async with open_sqlite(tmp_path) as store:
        notebook = await Notebook(store, VAULT).open()
        await notebook.write("a", "tide")
        await notebook.catch_up()
    for damaged in (False, True, False):
        if damaged:
            async with open_sqlite(tmp_path) as store:
                await damage(Notebook(store, VAULT))
        with closing(Verification(tmp_path / DATABASE)) as verification:
            assert verification.run().index_damaged is damaged
    async with open_sqlite(tmp_path) as store:
        assert await Notebook(store, VAULT).search("tide") == ["a"]
