"""The steps of retention: in any order, twice, and with many rows."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from functools import partial
from operator import sub
from random import Random
from typing import TypeVar

import pytest
from trio.testing import MockClock

from octavo.service.features import retention_steps
from octavo.service.settings import Settings
from octavo.store import Script, Store, Transaction
from octavo.store.queries.expiry import MAX_ROWS
from tests.fakes.every_table import World, fill, tables
from tests.fakes.stores import open_inline

T = TypeVar("T")
NOW = 1_800_000_000_000
"""Milliseconds of Unix time."""
DAY = 86_400_000
AGES = (
    *(1100, 500, 500.01, 500.02, 380, 200, 100, 100.01, 100.02, 92, 70, 40, 40.01, 40.02),
    *(33, 31.5, 31, 30.5, 30, 10, 1.5, 0.5, 0, -1),
)
"""Days; of those that are on the same day, only one revision is kept."""
STEPS = retention_steps(Settings(history_min_revisions=1))
OF_REFUSALS = 3
"""The number of the step that keeps a hundred thousand refusals, whatever their age."""


class CountedWrites:
    """Runs scripts, and counts the rows that each removes.

    Attributes:
        most: of one table, by one script.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.read, self.read_much = store.read, store.read_much
        self.most = 0

    async def write(self, script: Script[T]) -> T:
        before = await self._store.read(numbers_of_rows)
        result = await self._store.write(script)
        after = await self._store.read(numbers_of_rows)
        self.most = max(self.most, *map(sub, before, after))
        return result


async def numbers_of_rows(transaction: Transaction) -> Sequence[int]:
    """Return how many rows each table has."""
    counted = (f"(SELECT COUNT(*) FROM {table})" for table in tables())
    [row] = await transaction.fetch_all(f"SELECT {', '.join(counted)}")
    return row


async def rows_of(store: Store) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows of every table, in order."""

    async def read(transaction: Transaction) -> dict[str, list[tuple[object, ...]]]:
        found = {}
        for table, columns in tables().items():
            named = ", ".join(each.name for each in columns)
            rows = await transaction.fetch_all(f"SELECT {named} FROM {table}")
            found[table] = sorted(map(tuple, rows), key=repr)
        return found

    return await store.read(read)


async def one_history(transaction: Transaction) -> None:
    """Make the history of a file without a document from all revisions, in order of time."""
    workspace, file = (World("0", NOW).value(f"{table}.pk") for table in ("workspaces", "files"))
    for sql in (
        "UPDATE revisions SET workspace = $1, file = $2, position = changed_at",
        "UPDATE receipts SET workspace = $1 WHERE $2 > 0",
        "UPDATE files SET position = 9E15 WHERE workspace = $1 AND pk = $2",
        "DELETE FROM documents WHERE workspace = $1 AND file = $2",
        "DELETE FROM document_updates WHERE workspace = $1 AND file = $2",
    ):
        await transaction.execute(sql, workspace, file)


@asynccontextmanager
async def aged(ages: Sequence[float] = AGES) -> AsyncIterator[Store]:
    """Open a database with rows of these ages in days, half of which have few values."""
    with closing(open_inline()) as store:
        for number, age in enumerate(ages):
            world = World(str(number), int(NOW - age * DAY), sparse=number % 2 > 0)
            await store.write(partial(fill, world=world, engine="sqlite"))
        await store.write(one_history)
        yield store


async def settled(store: Store, random: Random) -> dict[str, list[tuple[object, ...]]]:
    """Run rounds of retention, now and later, until nothing changes; return what is left."""
    found = await rows_of(store)
    for now in (NOW, NOW + 60 * DAY):
        before = None
        while before != found:
            for step in random.sample(STEPS, len(STEPS)):
                await step(store, now)
            before, found = found, await rows_of(store)
    return found


async def test_retention_leaves_the_same_in_any_order(autojump_clock: MockClock) -> None:
    left = []
    for seed in range(8):
        async with aged() as store:
            left.append(await settled(store, Random(seed)))
    for table, rows in left[0].items():
        assert all(each[table] == rows for each in left), table


@pytest.mark.parametrize("number", range(len(STEPS)))
async def test_step_of_retention_leaves_nothing_for_a_second_time(
    number: int, autojump_clock: MockClock
) -> None:
    async with aged() as store:
        for other in (*STEPS[:number], *STEPS[number + 1 :]):
            await other(store, NOW)
        before = await rows_of(store)
        await STEPS[number](store, NOW)
        once = await rows_of(store)
        await STEPS[number](store, NOW)
        assert await rows_of(store) == once
    assert once != before or number == OF_REFUSALS, "no rows of the test expire by this step"


async def test_steps_of_retention_change_few_rows_at_once(autojump_clock: MockClock) -> None:
    old = [AGES[0] + number / DAY for number in range(2 * MAX_ROWS + 100)]
    async with aged(old) as store:
        writes = CountedWrites(store)
        for step in STEPS:
            await step(writes, NOW)
    # A script may do so in two ways.
    assert 0 < writes.most <= 2 * MAX_ROWS
