"""The order in which tasks are cancelled follows from the seed, and can be any."""

import gc
from types import ModuleType
from typing import Any

import pytest
import trio
import trio._core._run as run_loop
from greenroom.testing import run_deterministic
from greenroom.testing.cancellation_order import drawn_cancellation
from greenroom.testing.unsupported_trio import UnsupportedTrio

NAMES = "abcd"
SEEDS = range(300)


async def blocked(name: str, aborted: list[str]) -> None:
    def abort(_: object) -> trio.lowlevel.Abort:
        aborted.append(name)
        return trio.lowlevel.Abort.SUCCEEDED

    await trio.lowlevel.wait_task_rescheduled(abort)


async def one_scope() -> str:
    aborted: list[str] = []
    async with trio.open_nursery() as nursery:
        for name in NAMES:
            nursery.start_soon(blocked, name, aborted)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    return "".join(aborted)


async def inner_scopes() -> str:
    aborted: list[str] = []

    async def within(name: str) -> None:
        with trio.CancelScope():
            await blocked(name, aborted)

    async with trio.open_nursery() as nursery:
        for name in NAMES:
            nursery.start_soon(within, name)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    return "".join(aborted)


async def equal_deadlines() -> str:
    aborted: list[str] = []

    async def until(name: str) -> None:
        with trio.move_on_at(5):
            await blocked(name, aborted)

    async with trio.open_nursery() as nursery:
        for name in NAMES:
            nursery.start_soon(until, name)
    return "".join(aborted)


@pytest.mark.parametrize("scenario", [one_scope, inner_scopes, equal_deadlines])
def test_order_repeats_with_its_seed_in_any_memory(scenario: Any) -> None:  # noqa: ANN401
    orders = [run_deterministic(scenario, seed=seed).value for seed in SEEDS]
    # What is allocated now takes other addresses.
    junk = [bytearray(50 * number) for number in range(1000)]
    del junk[::2]
    gc.collect()
    assert [run_deterministic(scenario, seed=seed).value for seed in SEEDS] == orders
    assert len(set(orders)) == 24


async def test_block_leaves_trio_as_it_was() -> None:
    original = run_loop.CancelStatus
    with drawn_cancellation(run_loop, 0):
        assert run_loop.CancelStatus is not original
    assert run_loop.CancelStatus is original


def test_trio_without_sets_in_a_scope_is_unsupported() -> None:
    other: Any = ModuleType("run")
    other.CancelStatus = object
    with (
        pytest.raises(UnsupportedTrio, match="no sets of children and tasks"),
        drawn_cancellation(other, 0),
    ):
        pass


def test_trio_with_other_deadlines_is_unsupported() -> None:
    with (
        pytest.raises(UnsupportedTrio, match="not an empty heap"),
        drawn_cancellation(run_loop, 0) as draw_deadlines,
    ):
        draw_deadlines(object())
