"""A network begins few requests in a round, the others wait for later ones, and nobody starves."""

import time
from collections import Counter

import trio

from octavo.http.server.request_turns import MOST, ROUND_SECONDS, RequestTurns
from tests.fakes.http_server import Rounds


async def begun_in_rounds(turns: RequestTurns, network: str, times: int, into: list[int]) -> None:
    """Begin requests, each in a task; note the round of each."""
    rounds = Rounds()
    trio.lowlevel.add_instrument(rounds)
    trio.lowlevel.add_instrument(turns)

    async def begin() -> None:
        await turns.begin(network)
        into.append(rounds.count)

    async with trio.open_nursery() as nursery:
        for _ in range(times):
            nursery.start_soon(begin)
    trio.lowlevel.remove_instrument(turns)
    trio.lowlevel.remove_instrument(rounds)


async def test_network_begins_as_many_in_a_round_as_the_limit_says() -> None:
    begun: list[int] = []
    await begun_in_rounds(RequestTurns(), "a", 3 * MOST, begun)
    assert list(Counter(begun).values()) == [MOST] * 3


async def test_other_network_begins_at_once() -> None:
    turns = RequestTurns()
    for _ in range(MOST):
        assert turns.may_begin("a")
    assert not turns.may_begin("a")
    assert turns.may_begin("b")


def rounds_of(turns: RequestTurns, networks: str, seconds: float, count: int = 1) -> None:
    """Let a round pass that took so much processor time."""
    for _ in range(count):
        turns.after_io_wait(0)
        until = time.thread_time() + seconds
        while time.thread_time() < until:
            pass
        for network in networks:
            turns.may_begin(network)
        turns.before_io_wait(0)


async def test_long_rounds_lower_the_limit_while_there_are_others_and_short_ones_raise_it() -> None:
    turns = RequestTurns()
    rounds_of(turns, "a", 2 * ROUND_SECONDS)
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


async def test_cancelled_waiter_counts_nothing() -> None:
    turns = RequestTurns()
    while turns.may_begin("a"):
        pass
    with trio.CancelScope() as scope:
        scope.cancel()
        await turns.begin("a")
    assert scope.cancelled_caught
    turns.before_io_wait(0)
    assert all(turns.may_begin("a") for _ in range(MOST))
