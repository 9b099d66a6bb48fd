"""The store without threads."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from octavo.store import StatementInvalid, Store, StoreUnavailable, Transaction
from octavo.store.sqlite import InlineStore
from tests.store.conformance import (
    Reopen,
    StoreConformance,
    adding,
    executing,
    fetching,
    identities,
)


class TestInline(StoreConformance):
    @pytest.fixture
    def reopen(self, tmp_path: Path) -> Reopen:
        @asynccontextmanager
        async def reopen() -> AsyncIterator[Store]:
            store = InlineStore(tmp_path / "database")
            try:
                yield store
            finally:
                store.close()

        return reopen


class Steps(trio.abc.Instrument):
    """Counts how often the current task yields."""

    def __init__(self) -> None:
        self.count = 0
        self._task = trio.lowlevel.current_task()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        self.count += task is self._task


async def test_call_is_one_checkpoint() -> None:
    store = InlineStore()
    steps = Steps()
    trio.lowlevel.add_instrument(steps)
    await store.write(adding("a"))
    assert steps.count == 1
    await store.read(fetching("SELECT id FROM workspaces"))
    assert steps.count == 2
    trio.lowlevel.remove_instrument(steps)
    store.close()


async def test_script_that_awaits_something_else_is_invalid_and_has_no_effect() -> None:
    async def script(transaction: Transaction) -> None:
        await transaction.execute(
            "INSERT INTO workspaces (id, name, position, created_at) VALUES (X'61', '', 0, 0)"
        )
        await trio.lowlevel.checkpoint()

    store = InlineStore()
    with pytest.raises(StatementInvalid, match="awaited something else"):
        await store.write(script)
    assert await identities(store) == []
    store.close()


@pytest.mark.parametrize(
    ("point", "kept"), [("store.before_commit", []), ("store.after_commit", ["a"])]
)
async def test_fault_at_a_point_is_raised_and_decides_the_commit(
    point: str, kept: list[str]
) -> None:
    class Fault(Exception):
        pass

    async def strike(reached: str) -> None:
        if reached == point:
            raise Fault

    store = InlineStore(fault_point=strike)
    with pytest.raises(Fault):
        await store.write(adding("a"))
    assert await identities(store) == kept
    store.close()


async def test_delay_with_an_open_transaction_keeps_others_out() -> None:
    async def delay(_point: str) -> None:
        await trio.lowlevel.checkpoint()

    store = InlineStore(fault_point=delay)
    async with trio.open_nursery() as nursery:
        for identity in "abcd":
            nursery.start_soon(store.write, adding(identity))
            nursery.start_soon(identities, store)
    assert await identities(store) == ["a", "b", "c", "d"]
    store.close()


async def test_batch_commits_scripts_that_do_not_raise() -> None:
    class Refused(Exception):
        pass

    async def refused(transaction: Transaction) -> None:
        await executing("DELETE FROM workspaces")(transaction)
        raise Refused

    store = InlineStore()
    outcomes = await store.write_batch([adding("a"), refused, adding("b"), adding("a")])
    assert [type(outcome).__name__ for outcome in outcomes] == ["Value", "Error", "Value", "Error"]
    assert await identities(store) == ["a", "b"]
    store.close()


async def test_batch_of_only_failing_scripts_commits_nothing() -> None:
    async def refused(transaction: Transaction) -> None:
        await adding("a")(transaction)
        raise StoreUnavailable("said the script")

    store = InlineStore()
    outcomes = await store.write_batch([refused, refused])
    assert [type(outcome).__name__ for outcome in outcomes] == ["Error", "Error"]
    assert await identities(store) == []
    store.close()
