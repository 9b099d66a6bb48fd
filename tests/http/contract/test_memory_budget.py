"""The memory budget: never exceeded, and always released."""

from contextlib import ExitStack, suppress

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from octavo_rules.problems import ServerBusy

from octavo.http.contract.memory_budget import (
    REFUSAL_SECONDS,
    ROOM_SECONDS,
    STALLED_SECONDS,
    STEP,
    TURN_SECONDS,
    Hold,
    MemoryBudget,
)

TOTAL, PER_CLIENT = 100, 40
LEFT = TOTAL // 8
CLIENTS = ["192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2", "2001:db8:1::1", None]
SAME = {"2001:db8::2": "2001:db8::1"}
"""Addresses of one /64."""


class Holding(RuleBasedStateMachine):
    """Holds and releases in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.budget = MemoryBudget(TOTAL, PER_CLIENT)
        self.holds: list[tuple[str | None, Hold]] = []

    def held_by(self, client: str | None) -> list[int]:
        name = SAME.get(client or "", client)
        return [hold.size for who, hold in self.holds if SAME.get(who or "", who) == name]

    @rule(client=st.sampled_from(CLIENTS), size=st.integers(1, 120))
    def hold(self, client: str | None, size: int) -> None:
        mine, held = self.held_by(client), [hold.size for _, hold in self.holds]
        room = (not mine or sum(mine) + size <= PER_CLIENT) and (
            not held or sum(held) + size + min(size, LEFT) <= TOTAL
        )
        try:
            self.holds.append((client, self.budget.hold(client, size)))
        except ServerBusy:
            assert not room
        else:
            assert room

    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        if self.holds:
            _, hold = self.holds.pop(data.draw(st.integers(0, len(self.holds) - 1)))
            hold.release()
            hold.release()

    @invariant()
    def what_is_held_is_counted_and_within_its_bounds(self) -> None:
        sizes = [hold.size for _, hold in self.holds]
        assert self.budget.held == sum(sizes)
        assert sum(sizes) <= TOTAL or len(sizes) == 1
        for client in CLIENTS:
            mine = self.held_by(client)
            assert sum(mine) <= PER_CLIENT or len(mine) == 1


TestHolding = Holding.TestCase


def test_all_of_the_limits_may_be_reserved_and_no_byte_more() -> None:
    budget = MemoryBudget(TOTAL, PER_CLIENT)
    for client in ("192.0.2.1", "192.0.2.2"):
        budget.hold(client, 20)
        budget.hold(client, 20)
        with pytest.raises(ServerBusy):
            budget.hold(client, 1)
    with pytest.raises(ServerBusy):
        budget.hold("192.0.2.3", 11)
    budget.hold("192.0.2.3", 10)


@given(size=st.integers(1, 10**12))
def test_only_hold_is_admitted_whatever_its_size(size: int) -> None:
    budget = MemoryBudget(TOTAL, PER_CLIENT)
    with budget.hold("192.0.2.1", size):
        assert budget.held == size
    assert budget.held == 0


def test_hold_is_released_when_its_block_fails() -> None:
    budget = MemoryBudget(TOTAL, PER_CLIENT)
    with suppress(RuntimeError), budget.hold("192.0.2.1", 10):
        raise RuntimeError
    assert budget.held == 0


def test_refusal_has_a_retry_time() -> None:
    budget = MemoryBudget(TOTAL, PER_CLIENT)
    with budget.hold("192.0.2.1", PER_CLIENT), pytest.raises(ServerBusy) as refused:
        budget.hold("192.0.2.1", 1)
    assert (refused.value.status, refused.value.code) == (503, "server_busy")
    assert refused.value.headers == ((b"retry-after", b"1"),)


def test_forced_hold_exceeds_the_budget_and_keeps_others_out() -> None:
    budget = MemoryBudget(TOTAL, PER_CLIENT)
    with budget.hold("192.0.2.1", PER_CLIENT):
        with budget.reserve_unchecked("192.0.2.1", 1), pytest.raises(ServerBusy):
            budget.require_room("192.0.2.1", 1)
        most = TOTAL - PER_CLIENT - LEFT
        budget.require_room("192.0.2.2", most)
        with pytest.raises(ServerBusy):
            budget.require_room("192.0.2.2", most + 1)
    budget.require_room("192.0.2.1", TOTAL * 2)


async def test_waiter_is_refused_when_no_memory_is_released_in_time(
    autojump_clock: trio.testing.MockClock,
) -> None:
    budget = MemoryBudget(TOTAL, PER_CLIENT)
    with budget.hold("a", PER_CLIENT):
        begun = trio.current_time()
        with pytest.raises(ServerBusy):
            await budget.wait_briefly("a", 1)
        assert trio.current_time() - begun == ROOM_SECONDS
        with await budget.wait_briefly("b", 1):
            assert budget.held == PER_CLIENT + 1
    assert budget.held == 0


async def test_waiter_is_served_when_memory_is_released_in_time(
    autojump_clock: trio.testing.MockClock,
) -> None:
    budget, served = MemoryBudget(TOTAL, PER_CLIENT), list[float]()

    async def wait() -> None:
        with await budget.wait_briefly("a", 1):
            served.append(trio.current_time())

    async with trio.open_nursery() as nursery:
        with budget.hold("a", PER_CLIENT):
            nursery.start_soon(wait)
            await trio.sleep(0.9 * ROOM_SECONDS)
            assert served == []
            released = trio.current_time()
    assert served == [released]
    assert budget.held == 0


async def test_those_of_one_client_that_wait_together_are_refused_one_after_another(
    autojump_clock: trio.testing.MockClock,
) -> None:
    budget, refused = MemoryBudget(TOTAL, PER_CLIENT), dict[str, list[float]]()
    begun = trio.current_time()

    async def wait(client: str) -> None:
        with pytest.raises(ServerBusy):
            await budget.wait_briefly(client, 1)
        refused.setdefault(client, []).append(trio.current_time() - begun)

    async def wait_long() -> None:
        (await budget.wait("a", 1)).release()

    async with trio.open_nursery() as nursery:
        with budget.reserve_unchecked("a", PER_CLIENT), budget.reserve_unchecked("b", PER_CLIENT):
            for client in "aaa":
                nursery.start_soon(wait, client)
                await trio.testing.wait_all_tasks_blocked()
            # It is never refused, and does not let the next ones be refused together.
            nursery.start_soon(wait_long)
            await trio.testing.wait_all_tasks_blocked()
            for client in "ab":
                nursery.start_soon(wait, client)
                await trio.testing.wait_all_tasks_blocked()
            await trio.sleep(2 * ROOM_SECONDS)
    expected = [ROOM_SECONDS + number * REFUSAL_SECONDS for number in range(4)]
    assert refused == {"a": pytest.approx(expected), "b": [ROOM_SECONDS]}
    assert budget.held == 0


async def test_waiters_are_served_in_order_as_memory_is_released(
    autojump_clock: trio.testing.MockClock,
) -> None:
    budget = MemoryBudget(TOTAL, PER_CLIENT)
    order: list[str] = []

    async def wait(name: str, client: str, size: int) -> None:
        with await budget.wait(client, size) as hold:
            order.append(name)
            assert budget.held <= TOTAL
            await trio.testing.wait_all_tasks_blocked()
            assert hold.size == size

    async with trio.open_nursery() as nursery:
        with ExitStack() as full:
            for client in ("a", "b", "c"):
                full.enter_context(budget.reserve_unchecked(client, 33))
            for name, client in (("1", "a"), ("2", "a"), ("3", "b"), ("4", "d")):
                nursery.start_soon(wait, name, client, 30)
                await trio.testing.wait_all_tasks_blocked()
            assert order == []
    assert sorted(order) == ["1", "2", "3", "4"]
    assert order.index("1") < order.index("2")
    assert budget.held == 0


async def test_room_that_becomes_free_goes_to_one_waiter_of_each_client_in_turn(
    autojump_clock: trio.testing.MockClock,
) -> None:
    budget, admitted = MemoryBudget(TOTAL, PER_CLIENT), list[str]()

    async def wait(client: str) -> None:
        await budget.wait(client, 10)
        admitted.append(client)

    full = budget.reserve_unchecked("c", TOTAL)
    async with trio.open_nursery() as nursery:
        for client in "aaab":
            nursery.start_soon(wait, client)
            await trio.testing.wait_all_tasks_blocked()
        full.resize(TOTAL - 2 * 10 - 10)
        await trio.testing.wait_all_tasks_blocked()
        assert sorted(admitted) == ["a", "b"]
        full.release()
    assert sorted(admitted) == ["a", "a", "a", "b"]


async def test_cancelled_waiter_holds_nothing_and_admits_the_next(
    autojump_clock: trio.testing.MockClock,
) -> None:
    budget = MemoryBudget(TOTAL, PER_CLIENT)
    admitted = trio.Event()

    async def small() -> None:
        with await budget.wait("a", 5):
            admitted.set()

    with budget.hold("a", 30):
        async with trio.open_nursery() as nursery:
            with trio.CancelScope() as large:

                async def leave() -> None:
                    await trio.testing.wait_all_tasks_blocked()
                    nursery.start_soon(small)
                    await trio.testing.wait_all_tasks_blocked()
                    assert not admitted.is_set()
                    large.cancel()

                nursery.start_soon(leave)
                await budget.wait("a", 20)
            assert large.cancelled_caught
            await admitted.wait()
        assert budget.held == 30
    assert budget.held == 0


async def test_waiter_cancelled_during_a_release_holds_nothing(
    autojump_clock: trio.testing.MockClock,
) -> None:
    budget = MemoryBudget(TOTAL, PER_CLIENT)

    async def wait() -> None:
        with await budget.wait(CLIENTS[1], 40):
            await trio.sleep_forever()

    for _ in range(50):
        held = [budget.reserve_unchecked(CLIENTS[0], 40), budget.reserve_unchecked(CLIENTS[2], 40)]
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(wait)
            await trio.testing.wait_all_tasks_blocked()
            # In one turn of the loop, before the waiters are notified.
            nursery.cancel_scope.cancel()
            for each in held:
                each.release()
        assert budget.held == 0
        with budget.hold(CLIENTS[3], TOTAL):
            assert budget.held == TOTAL


async def test_newcomer_does_not_overtake_waiters(autojump_clock: trio.testing.MockClock) -> None:
    budget = MemoryBudget(10 * STEP, 10 * STEP)
    full = [budget.reserve_unchecked(CLIENTS[0], STEP) for _ in range(10)]
    async with trio.open_nursery() as nursery:

        async def wait() -> None:
            with await budget.wait(CLIENTS[1], STEP):
                pass

        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        full.pop().resize(STEP // 2)
        with pytest.raises(ServerBusy):
            budget.hold(CLIENTS[2], STEP // 4)
        full.pop().release()
        full.pop().release()
    with budget.hold(CLIENTS[2], STEP // 4):
        pass


class Evictable:
    """Holds that can be taken back, with the time of their last progress."""

    def __init__(self) -> None:
        self.budget = MemoryBudget(TOTAL, PER_CLIENT)
        self.evicted: list[str] = []

    def hold(self, name: str, client: str, size: int, progressed_at: float) -> Hold:
        hold = self.budget.reserve_unchecked(client, size)
        hold.permit_eviction(lambda: self.evicted.append(name), lambda: progressed_at)
        return hold


async def test_stalled_hold_is_evicted_first_among_those_of_the_largest_holder(
    autojump_clock: trio.testing.MockClock,
) -> None:
    await trio.sleep(100)
    there = Evictable()
    holds = [
        there.hold("small", "a", 20, 50),
        there.hold("moving", "b", 20, 100),
        there.hold("stalled", "b", 20, 80),
        there.hold("older", "c", 38, 10),
    ]
    with there.budget.hold("d", 10):
        assert there.evicted == ["stalled"]
        assert there.budget.held == 88
    holds[2].resize(1_000)
    holds[2].release()
    assert holds[2].evicted
    assert there.budget.held == 78


async def test_moving_hold_is_evicted_for_a_holder_that_has_less_and_not_for_one_with_more(
    autojump_clock: trio.testing.MockClock,
) -> None:
    there = Evictable()
    for client in ("a", "b"):
        there.hold(client, client, 40, trio.current_time())
    there.hold("c", "c", 15, trio.current_time())
    # It would have as much as the others, and then more than one may have.
    for size in (25, 26):
        with pytest.raises(ServerBusy):
            there.budget.hold("c", size)
    assert there.evicted == []
    with there.budget.hold("d", 10):
        assert there.evicted == ["a"]


async def test_holder_at_its_own_limit_evicts_its_stalled_holds_alone(
    autojump_clock: trio.testing.MockClock,
) -> None:
    there = Evictable()
    there.hold("mine", "a", 40, 0)
    there.hold("other", "b", 40, 0)
    with pytest.raises(ServerBusy):
        there.budget.hold("a", 10)
    await trio.sleep(STALLED_SECONDS)
    with there.budget.hold("a", 10):
        assert there.evicted == ["mine"]


async def test_hold_that_may_no_longer_be_evicted_is_kept(
    autojump_clock: trio.testing.MockClock,
) -> None:
    there = Evictable()
    for client in ("a", "b"):
        there.hold(client, client, 40, -100).forbid_eviction()
    with pytest.raises(ServerBusy):
        there.budget.hold("c", 30)
    assert there.evicted == []


async def test_what_is_evicted_goes_to_the_one_it_was_evicted_for_not_to_waiters(
    autojump_clock: trio.testing.MockClock,
) -> None:
    there = Evictable()
    for client in ("a", "b"):
        there.hold(client, client, 40, trio.current_time())
    last = there.hold("c", "c", 20, trio.current_time())

    async def wait() -> None:
        with await there.budget.wait("a", 20):
            assert there.budget.held <= TOTAL

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        last.grow(21)
        assert there.evicted == ["a"]
        assert last.size == 21
        last.release()


async def test_room_made_for_one_is_not_taken_by_one_that_waits_when_nothing_else_is_held(
    autojump_clock: trio.testing.MockClock,
) -> None:
    budget = MemoryBudget(64 * STEP, 16 * STEP)
    stalled = budget.hold("192.0.2.1", 15 * STEP)
    stalled.permit_eviction(lambda: None, lambda: 0.0)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(budget.wait, "192.0.2.2", 50 * STEP)
        await trio.testing.wait_all_tasks_blocked()
        autojump_clock.jump(STALLED_SECONDS)
        hold = budget.hold("192.0.2.3", 48 * STEP)
        assert budget.held == 48 * STEP
        hold.release()


async def test_one_that_waits_has_what_stalls_meanwhile(
    autojump_clock: trio.testing.MockClock,
) -> None:
    budget = MemoryBudget(TOTAL, PER_CLIENT)
    stalled = budget.hold("192.0.2.1", 30)
    stalled.permit_eviction(lambda: None, lambda: 0.0)
    with trio.fail_after(2 * STALLED_SECONDS):
        await budget.wait("192.0.2.2", 90)
    assert stalled.evicted


async def test_growth_without_room_is_refused_and_changes_nothing(
    autojump_clock: trio.testing.MockClock,
) -> None:
    budget = MemoryBudget(TOTAL, PER_CLIENT)
    with budget.hold("a", 30) as hold, budget.hold("b", 20), budget.hold("c", 20):
        with pytest.raises(ServerBusy):
            hold.grow(49)
        assert (hold.size, budget.held) == (30, 70)
        hold.grow(48)
    assert budget.held == 0


async def test_hold_that_may_be_evicted_later_makes_room_for_one_that_waits(
    autojump_clock: trio.testing.MockClock,
) -> None:
    budget = MemoryBudget(TOTAL, TOTAL)
    held = budget.hold(CLIENTS[0], TOTAL)
    admitted: list[Hold] = []

    async def wait() -> None:
        admitted.append(await budget.wait(CLIENTS[1], 10))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        assert not admitted
        held.permit_eviction(lambda: None, trio.current_time)
        await trio.testing.wait_all_tasks_blocked()
        assert held.evicted
    assert admitted[0].size == 10


async def test_large_request_that_waits_is_not_passed_by_others_for_good(
    autojump_clock: trio.testing.MockClock,
) -> None:
    budget = MemoryBudget(TOTAL, TOTAL)
    small = [budget.reserve_unchecked(f"192.0.2.{number}", 20) for number in range(5)]
    order: list[str] = []

    async def wait(client: str, size: int) -> None:
        with await budget.wait(client, size):
            order.append(client)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait, "198.51.100.1", 60)
        await trio.testing.wait_all_tasks_blocked()
        for number in range(10):
            nursery.start_soon(wait, f"203.0.113.{number}", 20)
        await trio.testing.wait_all_tasks_blocked()
        for each in small:
            assert order == []
            each.release()
            await trio.testing.wait_all_tasks_blocked()
            if order:
                break
    assert order[0] == "198.51.100.1"
    assert len(order) == 11


@pytest.mark.parametrize("size", [8, LEFT])
async def test_large_requests_that_wait_keep_others_waiting_for_a_moment_only(
    size: int, autojump_clock: trio.testing.MockClock
) -> None:
    budget = MemoryBudget(TOTAL, PER_CLIENT)
    served: list[float] = []
    with budget.hold("192.0.2.1", 38) as others:
        # It makes progress, and is not more than those want that wait.
        others.permit_eviction(others.release, trio.current_time)

        async def ask_for_most() -> None:
            with suppress(ServerBusy):
                (await budget.wait_briefly("192.0.2.2", 80)).release()

        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(ask_for_most)
            await trio.testing.wait_all_tasks_blocked()
            for number in range(20):
                began = trio.current_time()
                with await budget.wait_briefly(f"198.51.100.{number}", size):
                    served.append(trio.current_time() - began)
                await trio.sleep(0.13)
            nursery.cancel_scope.cancel()
        assert others.size == 38
    assert max(served) <= TURN_SECONDS
    assert budget.held == 0


async def test_one_behind_a_large_request_may_evict_for_itself(
    autojump_clock: trio.testing.MockClock,
) -> None:
    budget = MemoryBudget(TOTAL, PER_CLIENT)
    others = [budget.reserve_unchecked("192.0.2.1", 30) for _ in range(3)]
    for each in others:
        each.permit_eviction(each.release, trio.current_time)

    async def ask_for_all() -> None:
        with suppress(ServerBusy):
            (await budget.wait_briefly("192.0.2.2", 100)).release()

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(ask_for_all)
        await trio.testing.wait_all_tasks_blocked()
        with await budget.wait_briefly("198.51.100.1", 20):
            assert trio.current_time() <= TURN_SECONDS
        nursery.cancel_scope.cancel()


async def test_body_that_has_just_begun_is_no_victim(
    autojump_clock: trio.testing.MockClock,
) -> None:
    budget = MemoryBudget(TOTAL, TOTAL)
    empty = budget.hold("192.0.2.9", 0)
    empty.permit_eviction(lambda: None, trio.current_time)
    held = budget.hold(CLIENTS[0], TOTAL)
    with pytest.raises(ServerBusy):
        budget.hold(CLIENTS[1], 10)
    held.permit_eviction(lambda: None, trio.current_time)
    budget.hold(CLIENTS[1], 10).release()
    assert held.evicted
    admitted: list[Hold] = []

    async def wait() -> None:
        admitted.append(await budget.wait(CLIENTS[1], TOTAL))

    other = budget.hold(CLIENTS[2], 20)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        budget.reserve_unchecked("192.0.2.8", 0).permit_eviction(lambda: None, trio.current_time)
        other.release()
    assert admitted[0].size == TOTAL


async def test_one_that_waits_for_what_it_holds_itself_keeps_nobody_waiting(
    autojump_clock: trio.testing.MockClock,
) -> None:
    budget = MemoryBudget(TOTAL, 64)
    mine = budget.hold("192.0.2.1", 60)
    moving = budget.hold("192.0.2.2", 5)
    moving.permit_eviction(lambda: None, trio.current_time)

    async def wait() -> None:
        (await budget.wait("192.0.2.1", 30)).release()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        with trio.fail_after(1):
            (await budget.wait("192.0.2.3", 15)).release()
        assert not moving.evicted
        mine.release()


async def test_request_that_is_alone_may_grow_beyond_the_limit_of_one(
    autojump_clock: trio.testing.MockClock,
) -> None:
    budget = MemoryBudget(8 * STEP, STEP)
    with budget.hold("192.0.2.1", STEP) as hold:
        hold.grow(3 * STEP)
        assert budget.held == 3 * STEP
        with pytest.raises(ServerBusy):
            budget.hold("192.0.2.1", STEP)
    with budget.hold("192.0.2.1", STEP) as one, budget.hold("192.0.2.1", 0) as other:
        other.resize(STEP // 2)
        with pytest.raises(ServerBusy):
            one.grow(2 * STEP)
    assert budget.held == 0


async def test_request_that_grows_alone_evicts_what_another_client_does_not_read(
    autojump_clock: trio.testing.MockClock,
) -> None:
    budget = MemoryBudget(4 * STEP, 2 * STEP)
    evicted = trio.Event()
    unread = budget.hold("192.0.2.2", 2 * STEP)
    unread.permit_eviction(evicted.set, trio.current_time)
    with budget.hold("192.0.2.1", STEP) as hold:
        with pytest.raises(ServerBusy):
            hold.grow(3 * STEP)
        unread.progressed_at = lambda: trio.current_time() - STALLED_SECONDS
        hold.grow(3 * STEP)
    assert evicted.is_set()
    assert budget.held == 0


@given(sizes=st.lists(st.integers(1, 60), max_size=30))
def test_large_ones_leave_room_for_one_as_small_as_the_smallest(sizes: list[int]) -> None:
    budget = MemoryBudget(TOTAL, TOTAL)
    held = []
    for number, size in enumerate(sizes):
        with suppress(ServerBusy):
            held.append(budget.hold(f"192.0.2.{number}", size))
    if len(held) > 1:
        smallest = min(hold.size for hold in held[1:])
        assert TOTAL - budget.held >= min(smallest, LEFT)


async def test_one_that_needs_all_keeps_nobody_waiting(
    autojump_clock: trio.testing.MockClock,
) -> None:
    budget = MemoryBudget(TOTAL, PER_CLIENT)
    served = 0

    async def ask_for_all() -> None:
        with suppress(ServerBusy):
            (await budget.wait_briefly("192.0.2.1", 2 * TOTAL)).release()

    async with trio.open_nursery() as nursery:
        with budget.hold("192.0.2.2", 10):
            for _ in range(4):
                nursery.start_soon(ask_for_all)
            await trio.testing.wait_all_tasks_blocked()
            with trio.fail_after(0.5):
                for _ in range(20):
                    with await budget.wait("192.0.2.3", 10):
                        served += 1
                        await trio.sleep(0.01)
        await trio.testing.wait_all_tasks_blocked()
        # Nobody else has any now.
        assert budget.held == 0
    assert served == 20
