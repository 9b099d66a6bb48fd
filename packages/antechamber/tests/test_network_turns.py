"""A network begins few requests in a round, the others wait for later ones, and nobody starves."""

import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio
import trio.testing
from antechamber.network_turns import CONTENDED_SECONDS, ROUND_SECONDS, NetworkTurns

from .http_server import Rounds

MOST = 32


async def begun_in_rounds(turns: NetworkTurns, network: str, times: int, into: list[int]) -> None:
    """Begin requests, each in a task; note the round of each."""
    rounds = Rounds()
    trio.lowlevel.add_instrument(rounds)

    async def begin() -> None:
        await turns.begin(network)
        into.append(rounds.count)

    async with running(turns), trio.open_nursery() as nursery:
        for _ in range(times):
            nursery.start_soon(begin)
    trio.lowlevel.remove_instrument(rounds)


@asynccontextmanager
async def running(turns: NetworkTurns) -> AsyncIterator[None]:
    trio.lowlevel.add_instrument(turns)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(turns.run)
        yield
        nursery.cancel_scope.cancel()
    trio.lowlevel.remove_instrument(turns)


async def test_network_begins_as_many_in_a_round_as_the_limit_says() -> None:
    begun: list[int] = []
    await begun_in_rounds(NetworkTurns(MOST), "a", 3 * MOST, begun)
    assert list(Counter(begun).values()) == [MOST] * 3


async def test_other_network_begins_at_once() -> None:
    turns = NetworkTurns(MOST)
    for _ in range(MOST):
        assert turns.may_begin("a")
    assert not turns.may_begin("a")
    assert turns.may_begin("b")


async def test_networks_of_one_site_share_its_turns_and_begin_in_turn() -> None:
    networks = [f"2001:db8:1:{number}::/64" for number in range(100)]

    class Same(NetworkTurns):
        def before_io_wait(self, timeout: float) -> None:
            super().before_io_wait(timeout)
            self.limit = MOST

    turns, begun = Same(MOST), list[str]()

    async def begin(network: str) -> None:
        await turns.begin(network)
        begun.append(network)

    for _ in range(MOST):
        assert turns.may_begin(networks[0])
    assert not any(map(turns.may_begin, networks))
    assert turns.may_begin("2001:db8:2:1::/64")
    async with trio.open_nursery() as nursery:
        for network in (*networks[:1] * 100, *networks[1:]):
            nursery.start_soon(begin, network)
        await trio.testing.wait_all_tasks_blocked()
        async with running(turns):
            while len(begun) < 199:
                await trio.lowlevel.checkpoint()
    # The first of each network comes before the second of any, within the same round.
    assert len(set(begun[: 3 * MOST])) == 3 * MOST
    assert set(begun[: 4 * MOST]) == set(networks)


async def test_site_whose_waiters_have_left_begins_at_once_again() -> None:
    turns = NetworkTurns(MOST)
    while turns.may_begin("a"):
        pass
    with trio.move_on_after(0):
        await turns.begin("a")
    async with running(turns):
        await trio.testing.wait_all_tasks_blocked()
        turns.before_io_wait(0)
        assert turns.may_begin("a")


def spend(seconds: float) -> None:
    """Spend processor time."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def rounds_of(turns: NetworkTurns, networks: str, seconds: float, count: int = 1) -> None:
    """Let a round pass that took so much processor time."""
    for _ in range(count):
        turns.before_io_wait(0)
        spend(seconds)
        for network in networks:
            turns.may_begin(network)
        turns.before_io_wait(0)


async def test_long_rounds_lower_the_limit_while_there_are_others_and_short_ones_raise_it() -> None:
    turns = NetworkTurns(MOST)
    rounds_of(turns, "a", 2 * ROUND_SECONDS)
    assert turns.limit == MOST
    # The first round with others begins the measurement.
    rounds_of(turns, "ab", 0)
    assert turns.limit == MOST
    rounds_of(turns, "ab", 2 * ROUND_SECONDS)
    rounds_of(turns, "a", 2 * ROUND_SECONDS)
    assert turns.limit == MOST // 4
    rounds_of(turns, "", 2 * ROUND_SECONDS)
    assert turns.limit == MOST // 4
    rounds_of(turns, "ab", 0, 3)
    assert turns.limit == MOST // 4 + 3
    rounds_of(turns, "ab", 2 * ROUND_SECONDS, 9)
    assert turns.limit == 1
    rounds_of(turns, "ab", 0, 2 * MOST)
    assert turns.limit == MOST


async def test_limit_is_the_most_again_when_there_have_been_no_others_for_a_while(
    autojump_clock: trio.testing.MockClock,
) -> None:
    turns = NetworkTurns(MOST)
    rounds_of(turns, "ab", 0)
    rounds_of(turns, "ab", 2 * ROUND_SECONDS)
    await trio.sleep(CONTENDED_SECONDS)
    rounds_of(turns, "a", 0)
    assert turns.limit == MOST // 2 + 1
    await trio.sleep(CONTENDED_SECONDS / 10)
    rounds_of(turns, "a", 0)
    assert turns.limit == MOST


async def test_first_round_with_others_lowers_the_limit_of_a_site_that_has_waited() -> None:
    turns = NetworkTurns(MOST)
    while turns.may_begin("a"):
        pass
    async with trio.open_nursery() as nursery:
        for _ in range(MOST + 1):
            nursery.start_soon(turns.begin, "a")
        await trio.testing.wait_all_tasks_blocked()
        turns.before_io_wait(0)
        turns._let_begin("a", turns._waiting["a"])
        assert turns.may_begin("b")
        spend(2 * ROUND_SECONDS)
        turns.before_io_wait(0)
        assert turns.limit == MOST // 2
        nursery.cancel_scope.cancel()


async def test_cancelled_waiter_counts_nothing() -> None:
    turns = NetworkTurns(MOST)
    while turns.may_begin("a"):
        pass
    with trio.CancelScope() as scope:
        scope.cancel()
        await turns.begin("a")
    assert scope.cancelled_caught
    async with running(turns):
        with trio.fail_after(5):
            await turns.begin("a")
    turns.before_io_wait(0)
    assert all(turns.may_begin("a") for _ in range(MOST))


async def test_those_that_wait_begin_in_order_and_before_others_of_their_network() -> None:
    class One(NetworkTurns):
        def before_io_wait(self, timeout: float) -> None:
            super().before_io_wait(timeout)
            self.limit = 1

    turns, begun = One(MOST), list[int]()
    turns.limit = 1
    assert turns.may_begin("a")

    async def begin(number: int) -> None:
        await turns.begin("a")
        begun.append(number)
        assert number == 9 or not turns.may_begin("a")

    async with trio.open_nursery() as nursery:
        for number in range(10):
            nursery.start_soon(begin, number)
            await trio.testing.wait_all_tasks_blocked()
        async with running(turns):
            while len(begun) < 10:
                await trio.lowlevel.checkpoint()
    assert begun == list(range(10))


async def test_hundreds_that_wait_do_not_run_until_they_begin() -> None:
    turns, steps = NetworkTurns(MOST), Counter[str]()

    class Steps(trio.abc.Instrument):
        def before_task_step(self, task: trio.lowlevel.Task) -> None:
            steps[task.name] += 1

    async def begin() -> None:
        await turns.begin("a")

    instrument = Steps()
    trio.lowlevel.add_instrument(instrument)
    async with running(turns), trio.open_nursery() as nursery:
        for _ in range(10 * MOST):
            nursery.start_soon(begin)
    trio.lowlevel.remove_instrument(instrument)
    [found] = [count for name, count in steps.items() if name.endswith("begin")]
    # Those of the first round have one step, the others two.
    assert found <= 2 * 10 * MOST
