"""Virtual actors: activation, passivation, the limit, crashes, quarantine, shutdown."""

from __future__ import annotations

import pytest
import trio
from greenroom import (
    ActorCrashed,
    ActorQuarantined,
    ActorSpec,
    ActorStopped,
    Backoff,
    Directory,
    DirectorySpec,
    InvalidActor,
    QuarantineRule,
    Reply,
    Runtime,
    StopReason,
    Supervisor,
)
from trio.testing import wait_all_tasks_blocked

from .actors import Add, Counter, CounterMessage, Crash, Nap, Note, Recorder, Words
from .directory_tree import Tree

pytestmark = pytest.mark.explore(schedules=20, early_time=False)


async def test_a_thousand_concurrent_first_asks_activate_once() -> None:
    tree = Tree()
    totals: list[int] = []

    async def ask() -> None:
        totals.append(await tree.keys.ask("a", Add(1)))

    async with tree.root.running():
        async with trio.open_nursery() as nursery:
            for _ in range(1000):
                nursery.start_soon(ask)
        assert sorted(totals) == list(range(1, 1001))
    assert tree.made == {"a": 1}


async def test_waiting_messages_wait_longer_after_each_crash_of_their_key() -> None:
    root = Supervisor("root", runtime=Runtime(observer=Recorder()))
    keys = root.add(
        DirectorySpec[str, CounterMessage](
            "keys",
            lambda key: Counter(),
            backoff=Backoff(first=1, factor=10, jitter=0),
            quarantine=QuarantineRule(crashes=3),
        )
    )

    async def crash() -> None:
        with pytest.raises(ActorCrashed):
            await keys.ask("a", Crash(after=1))

    async with root.running(), trio.open_nursery() as nursery:
        for wait in (1, 10):
            began = trio.current_time()
            nursery.start_soon(crash)
            await wait_all_tasks_blocked()
            assert await keys.ask("a", Add(1)) == 1
            assert trio.current_time() - began == pytest.approx(1 + wait)


async def test_key_that_waits_for_its_turn_keeps_the_other_messages_when_one_is_withdrawn() -> None:
    tree = Tree(max_awake=1)
    totals: list[int] = []

    async def add() -> None:
        totals.append(await tree.keys.ask("b", Add(1)))

    async with tree.root.running(), trio.open_nursery() as nursery:
        nursery.start_soon(tree.keys.ask, "a", Nap(2))
        await wait_all_tasks_blocked()
        nursery.start_soon(add)
        await wait_all_tasks_blocked()
        with trio.move_on_after(1):
            await tree.keys.ask("b", Add(5))
    assert totals == [1]


async def test_senders_to_a_key_whose_factory_makes_no_actor_are_all_refused() -> None:
    root = Supervisor("root", runtime=Runtime(observer=Recorder()))
    keys = root.add(
        DirectorySpec[str, CounterMessage](
            "keys",
            lambda key: None,  # type: ignore[arg-type,return-value]  # the error
            mailbox_capacity=1,
        )
    )
    refused: list[str] = []

    async def ask() -> None:
        with pytest.raises(InvalidActor):
            await keys.ask("a", Add(1))
        refused.append("a")

    async with root.running(), trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(ask)
    assert len(refused) == 3


async def test_an_idle_actor_is_put_to_sleep_and_forgotten() -> None:
    tree = Tree(idle=10)
    async with tree.root.running():
        await tree.keys.ask("a", Add(1))
        await trio.sleep(9)
        assert tree.keys.statistics().awake == 1
        await trio.sleep(2)
        assert tree.keys.statistics().awake == 0
        assert tree.keys.statistics().tracked == 0
        assert tree.log == ["a started", "a passivated"]
        assert await tree.keys.ask("a", Add(1)) == 1


async def test_an_actor_in_use_is_not_put_to_sleep() -> None:
    tree = Tree(idle=10)
    async with tree.root.running():
        for _ in range(20):
            await tree.keys.ask("a", Add(1))
            await trio.sleep(9)
        await tree.keys.ask("a", Nap(60))
    assert tree.made["a"] == 1


async def test_over_the_limit_the_actor_idle_longest_is_passivated_first() -> None:
    tree = Tree(max_awake=3)
    async with tree.root.running():
        for key in "abc":
            await tree.keys.ask(key, Add(1))
            await trio.sleep(1)
        await tree.keys.ask("a", Add(1))
        await tree.keys.ask("d", Add(1))
        assert "b passivated" in tree.log
        assert tree.keys.statistics().awake == 3
        await tree.keys.ask("a", Add(1))
    assert tree.made == {"a": 1, "b": 1, "c": 1, "d": 1}


async def test_the_limit_holds_when_all_are_busy_and_everyone_gets_a_turn() -> None:
    tree = Tree(max_awake=2)
    awake_at_most = 0

    async def use(key: str) -> None:
        nonlocal awake_at_most
        assert await tree.keys.ask(key, Nap(5)) == "rested"
        awake_at_most = max(awake_at_most, tree.keys.statistics().awake)

    async with tree.root.running(), trio.open_nursery() as nursery:
        for key in "abcdef":
            nursery.start_soon(use, key)
        await wait_all_tasks_blocked()
        assert tree.keys.statistics().waiting == 4
    assert awake_at_most == 2


async def test_a_key_that_is_always_busy_makes_room_without_losing_or_reordering() -> None:
    tree = Tree(max_awake=1, capacity=5000)
    async with tree.root.running():
        busy = tree.keys.ref("busy")
        for index in range(300):
            busy.tell_nowait(Note(str(index)))
        assert await tree.keys.ask("other", Add(1)) == 1
        await tree.keys.ask("busy", Add(1))
    words = [word for word in tree.log if word.isdigit()]
    assert words == [str(index) for index in range(300)]
    assert tree.log.index("other started") < tree.log.index("299"), "it waited for all of them"


async def test_a_message_during_a_passivation_reaches_the_next_incarnation() -> None:
    class Slow(Counter):
        async def stopping(self, reason: object) -> None:
            self.log.append("flushing")
            await trio.sleep(3)
            self.log.append("flushed")

    root = Supervisor("root")
    log: list[str] = []
    keys: Directory[str, CounterMessage] = root.add(
        DirectorySpec("keys", lambda key: Slow(log, key), idle_timeout=10)
    )
    async with root.running():
        await keys.ask("a", Note("one"))
        await trio.sleep(11)
        assert log[-1] == "flushing"
        await keys.tell("a", Note("two"))
        await keys.tell("a", Note("three"))
        assert await keys.ask("a", Words()) == ("two", "three")
    assert log == [
        "a started", "one", "flushing", "flushed",
        "a started", "two", "three", "flushing", "flushed",
    ]  # fmt: skip


async def test_a_crash_fails_its_message_and_the_next_activation_continues_in_order() -> None:
    tree = Tree()
    async with tree.root.running():
        with pytest.raises(ActorCrashed):
            await tree.keys.ask("a", Crash())
        await tree.keys.tell("a", Crash())
        for word in ("1", "2", "3"):
            await tree.keys.tell("a", Note(word))
        assert await tree.keys.ask("a", Words()) == ("1", "2", "3")


async def test_too_many_crashes_quarantine_only_that_key() -> None:
    tree = Tree()
    async with tree.root.running():
        for _ in range(3):
            with pytest.raises(ActorCrashed):
                await tree.keys.ask("bad", Crash())
        begun = trio.current_time()
        with pytest.raises(ActorQuarantined, match="root/keys/bad crashed too often") as caught:
            await tree.keys.ask("bad", Add(1))
        assert caught.value.retry_after == pytest.approx(20)
        with pytest.raises(ActorQuarantined):
            await tree.keys.tell("bad", Note("x"))
        assert await tree.keys.ask("good", Add(1)) == 1
        assert trio.current_time() == begun, "nobody waited"
        assert tree.keys.statistics().quarantined == 1


async def test_messages_waiting_after_the_last_crash_are_refused_as_not_executed() -> None:
    tree = Tree(crashes=1)
    outcomes: list[str] = []

    async def ask() -> None:
        try:
            await tree.keys.ask("bad", Add(1))
        except ActorQuarantined:
            outcomes.append("quarantined")

    async with tree.root.running(), trio.open_nursery() as nursery:
        await tree.keys.tell("bad", Crash(after=1))
        await wait_all_tasks_blocked()
        for _ in range(5):
            nursery.start_soon(ask)
    assert outcomes == ["quarantined"] * 5


async def test_a_good_probe_brings_the_key_back() -> None:
    tree = Tree()
    async with tree.root.running():
        for _ in range(3):
            with pytest.raises(ActorCrashed):
                await tree.keys.ask("bad", Crash())
        await trio.sleep(20)
        assert await tree.keys.ask("bad", Add(1)) == 1
        await wait_all_tasks_blocked()
        assert "root/keys/bad recovered" in tree.recorder.lines
        with pytest.raises(ActorCrashed):
            await tree.keys.ask("bad", Crash())
        assert await tree.keys.ask("bad", Add(1)) == 1, "its crashes are forgotten"


async def test_a_failed_probe_doubles_the_quarantine_up_to_a_bound() -> None:
    tree = Tree()
    async with tree.root.running():
        for _ in range(3):
            with pytest.raises(ActorCrashed):
                await tree.keys.ask("bad", Crash())
        for wait in (20, 40, 80, 100, 100):
            with pytest.raises(ActorQuarantined) as caught:
                await tree.keys.ask("bad", Add(1))
            assert caught.value.retry_after == pytest.approx(wait)
            await trio.sleep(wait)
            with pytest.raises(ActorCrashed):
                await tree.keys.ask("bad", Crash())


async def test_crashes_long_ago_are_forgotten_with_the_key() -> None:
    tree = Tree()
    async with tree.root.running():
        for _ in range(10):
            with pytest.raises(ActorCrashed):
                await tree.keys.ask("shaky", Crash())
            await trio.sleep(61)
        await trio.sleep(61)
        assert tree.keys.statistics().tracked == 0


async def test_an_unused_quarantined_key_is_eventually_forgotten() -> None:
    tree = Tree(crashes=1)
    async with tree.root.running():
        with pytest.raises(ActorCrashed):
            await tree.keys.ask("bad", Crash())
        await trio.sleep(200)
        assert tree.keys.statistics().tracked == 0
        assert await tree.keys.ask("bad", Add(1)) == 1


async def test_a_failing_factory_or_start_affects_only_its_key() -> None:
    class Choosy(Counter):
        async def started(self) -> None:
            if self.name == "bad":
                raise OSError("unreadable")

    root = Supervisor("root", runtime=Runtime(observer=Recorder()))
    keys: Directory[str, CounterMessage] = root.add(
        DirectorySpec(
            "keys",
            lambda key: Choosy(None, key),
            quarantine=QuarantineRule(crashes=2),
            backoff=Backoff(first=1, jitter=0),
        )
    )
    async with root.running():
        with pytest.raises(ActorQuarantined):
            await keys.ask("bad", Add(1))
        assert await keys.ask("good", Add(1)) == 1


async def test_a_hanging_key_delays_no_other() -> None:
    tree = Tree()
    async with tree.root.running():
        with trio.move_on_after(1):
            await tree.keys.ask("slow", Nap(1000))
        begun = trio.current_time()
        for index in range(50):
            assert await tree.keys.ask(f"k{index}", Add(1)) == 1
        assert trio.current_time() == begun


async def test_shutdown_drains_every_key_and_refuses_new_ones() -> None:
    tree = Tree(max_awake=2)
    results: list[object] = []

    async def ask(key: str) -> None:
        results.append(await tree.keys.ask(key, Nap(1)))

    async def late() -> None:
        for key in ("a", "new"):
            with pytest.raises(ActorStopped, match="is stopping"):
                await tree.keys.ask(key, Add(1))
        results.append("late ones were refused")

    async with trio.open_nursery() as nursery, tree.root.running():
        for key in "abcde":
            nursery.start_soon(ask, key)
        await wait_all_tasks_blocked()
        nursery.start_soon(tree.root.stop)
        await wait_all_tasks_blocked()
        await late()
    assert results == ["late ones were refused", *["rested"] * 5]


async def test_what_the_drain_timeout_cancels_fails_with_an_error() -> None:
    root = Supervisor("root")
    keys: Directory[str, CounterMessage] = root.add(
        DirectorySpec("keys", lambda key: Counter(None, key), max_awake=1, drain_timeout=2)
    )
    outcomes: dict[str, str] = {}

    async def ask(key: str) -> None:
        try:
            await keys.ask(key, Nap(60))
        except Exception as error:  # noqa: BLE001 - the test tells which
            outcomes[key] = type(error).__name__

    async with trio.open_nursery() as nursery:
        async with root.running():
            nursery.start_soon(ask, "a")
            await wait_all_tasks_blocked()
            nursery.start_soon(ask, "b")
            await wait_all_tasks_blocked()
            begun = trio.current_time()
        assert trio.current_time() - begun == pytest.approx(2)
    assert outcomes == {"a": "OutcomeUnknown", "b": "ActorStopped"}


async def test_a_directory_restarted_with_a_sibling_keeps_its_messages() -> None:
    root = Supervisor("root", strategy="all_for_one", runtime=Runtime(observer=Recorder()))
    other = root.add(ActorSpec("other", Counter, backoff=Backoff(first=1, jitter=0)))
    log: list[str] = []
    keys: Directory[str, CounterMessage] = root.add(
        DirectorySpec("keys", lambda key: Counter(log, key))
    )
    async with root.running(), trio.open_nursery() as nursery:
        nursery.start_soon(keys.ask, "a", Nap(2))
        await wait_all_tasks_blocked()
        await keys.tell("a", Note("kept"))
        await other.tell(Crash())
        assert await keys.ask("a", Words()) == ("kept",)
    assert log == ["a started", "a passivated", "a started", "kept", "a drained"]


async def test_a_directory_that_is_not_running_refuses_messages() -> None:
    tree = Tree()
    with pytest.raises(ActorStopped, match="root/keys is not started"):
        await tree.keys.ask("a", Add(1))
    async with tree.root.running():
        await tree.keys.ask("a", Add(1))
    with pytest.raises(ActorStopped, match="root/keys is stopped"):
        await tree.keys.ask("a", Add(1))
    assert tree.keys.statistics().tracked == 0


@pytest.mark.parametrize(
    ("options", "text"),
    [({"max_awake": 0}, "max_awake"), ({"idle_timeout": 0}, "idle_timeout")],
)
async def test_invalid_limits_are_refused_clearly(options: dict[str, int], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        DirectorySpec[str, CounterMessage]("keys", lambda key: Counter(), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{"crashes": 0}, {"first": 5, "maximum": 1}, {"period": 0}])
async def test_an_invalid_quarantine_rule_is_refused_clearly(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="QuarantineRule"):
        QuarantineRule(**options)


async def test_an_actor_that_stops_itself_leaves_its_messages_to_the_next_one() -> None:
    class Leaving(Counter):
        async def handle(self, message: CounterMessage) -> Reply:
            if isinstance(message, Note) and message.word == "leave":
                self.context.stop()
            return await super().handle(message)

    log: list[str] = []
    root = Supervisor("root")
    keys = root.add(DirectorySpec[str, CounterMessage]("keys", lambda key: Leaving(log, key)))
    async with root.running():
        ref = keys.ref("a")
        for word in ("one", "leave", "two"):
            ref.tell_nowait(Note(word))
        assert await ref.ask(Words()) == ("two",)
    assert log == [
        "a started", "one", "leave", "a finished", "a started", "two", "a drained",
    ]  # fmt: skip


async def test_many_keys_passivate_while_the_clock_advances() -> None:
    for idle in (100, 0.05, 60, 0.25):
        tree = Tree(max_awake=1000, idle=idle)
        async with tree.root.running():
            for index in range(100):
                await tree.keys.ask(str(index), Add(1))
                await trio.sleep(0.001)
            await trio.sleep(1000)
            assert tree.keys.statistics().tracked == 0


async def test_a_key_backing_off_during_a_sibling_restart_still_replies() -> None:
    root = Supervisor("root", strategy="all_for_one", runtime=Runtime(observer=Recorder()))
    other = root.add(ActorSpec("other", Counter, backoff=Backoff(first=1, jitter=0)))
    keys = root.add(
        DirectorySpec[str, CounterMessage](
            "keys", lambda key: Counter(), backoff=Backoff(first=50, maximum=50, jitter=0)
        )
    )
    async with root.running(), trio.open_nursery() as nursery:
        await keys.tell("a", Crash(after=1))
        with trio.move_on_after(10):
            await keys.ask("a", Add(1))
        await other.tell(Crash())
        await trio.sleep(30)
        nursery.start_soon(keys.ask, "a", Add(1))
        assert await keys.ask("a", Add(1), timeout=100) >= 1
        assert keys.statistics().backing_off == 0


async def test_an_idle_key_makes_room_though_a_busy_one_never_does() -> None:
    tree = Tree(max_awake=2, idle=10_000)
    async with tree.root.running(), trio.open_nursery() as nursery:
        nursery.start_soon(tree.keys.ask, "hangs", Nap(5000))
        await wait_all_tasks_blocked()
        nursery.start_soon(tree.keys.ask, "busy", Nap(1))
        await wait_all_tasks_blocked()
        begun = trio.current_time()
        assert await tree.keys.ask("c", Add(1), timeout=100) == 1
        assert trio.current_time() - begun == pytest.approx(1)
        assert await tree.keys.ask("d", Add(1), timeout=100) == 1
        assert trio.current_time() - begun == pytest.approx(1)


async def test_askers_that_give_up_in_the_queue_leave_no_trace() -> None:
    tree = Tree(max_awake=1)
    async with tree.root.running(), trio.open_nursery() as nursery:
        nursery.start_soon(tree.keys.ask, "hangs", Nap(50))
        await wait_all_tasks_blocked()
        for index in range(100):
            with trio.move_on_after(0.1):
                await tree.keys.ask(str(index), Add(1))
        statistics = tree.keys.statistics()
        assert (statistics.waiting, statistics.tracked) == (0, 1)
    assert tree.made == {"hangs": 1}


async def test_a_key_is_back_as_soon_as_its_probe_is_handled() -> None:
    tree = Tree(crashes=2)
    async with tree.root.running():
        for _ in range(2):
            with pytest.raises(ActorCrashed):
                await tree.keys.ask("bad", Crash())
        await trio.sleep(20)
        ref = tree.keys.ref("bad")
        ref.tell_nowait(Note("probe"))
        ref.tell_nowait(Crash())
        assert await ref.ask(Add(1)) == 1, "one crash after a good probe is one crash"


async def test_an_actor_that_stops_itself_and_then_crashes_does_not_block_its_key() -> None:
    class Leaving(Counter):
        async def handle(self, message: CounterMessage) -> Reply:
            if isinstance(message, Crash):
                self.context.stop()
            return await super().handle(message)

    root = Supervisor("root", runtime=Runtime(observer=Recorder()))
    keys = root.add(
        DirectorySpec[str, CounterMessage]("keys", lambda key: Leaving(), idle_timeout=600)
    )
    async with root.running():
        with pytest.raises(ActorCrashed):
            await keys.ask("a", Crash())
        assert await keys.ask("a", Add(1), timeout=1) == 1


async def test_a_message_that_came_during_the_last_passivation_is_drained_immediately() -> None:
    class Slow(Counter):
        async def stopping(self, reason: StopReason) -> None:
            await trio.sleep(2)

    root = Supervisor("root")
    keys = root.add(
        DirectorySpec[str, CounterMessage](
            "keys", lambda key: Slow(), idle_timeout=1000, max_awake=1
        )
    )
    async with trio.open_nursery() as nursery:
        async with root.running():
            await keys.ask("a", Add(1))
            nursery.start_soon(keys.ask, "b", Add(1))
            await wait_all_tasks_blocked()
            nursery.start_soon(keys.ask, "a", Add(1))
            await wait_all_tasks_blocked()
            begun = trio.current_time()
        assert trio.current_time() - begun <= 6


async def test_a_quarantine_that_ends_during_the_shutdown_admits_nothing() -> None:
    tree = Tree(crashes=1)
    async with trio.open_nursery() as nursery, tree.root.running():
        with pytest.raises(ActorCrashed):
            await tree.keys.ask("bad", Crash())
        await trio.sleep(18)
        nursery.start_soon(tree.keys.ask, "good", Nap(4))
        await wait_all_tasks_blocked()
        nursery.start_soon(tree.root.stop)
        await trio.sleep(3)
        begun = trio.current_time()
        with pytest.raises(ActorStopped):
            await tree.keys.ask("bad", Add(1))
        assert trio.current_time() == begun
