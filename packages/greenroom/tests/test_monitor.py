"""Death watch: notices of the ends of actors."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import trio
from greenroom import (
    Actor,
    ActorRef,
    ActorSpec,
    Backoff,
    DirectorySpec,
    Down,
    Message,
    Runtime,
    Supervisor,
    WorkerContext,
    WorkerSpec,
)
from trio.testing import wait_all_tasks_blocked

from .actors import Add, Counter, CounterMessage, Crash, Recorder

pytestmark = pytest.mark.explore(schedules=20, early_time=False)


def supervisor() -> Supervisor:
    return Supervisor("root", runtime=Runtime(observer=Recorder()))


def counter(name: str = "a") -> ActorSpec[CounterMessage]:
    return ActorSpec(name, Counter, backoff=Backoff(first=1, jitter=0))


async def test_a_monitor_reports_every_end_and_stops_after_the_final_one() -> None:
    root = supervisor()
    ref = root.add(counter())
    seen: list[Down] = []

    async def watch() -> None:
        with ref.monitor() as downs:
            seen.extend([down async for down in downs])

    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch)
        async with root.running():
            await wait_all_tasks_blocked()
            await ref.tell(Crash())
            await trio.sleep(5)
    assert [(down.reason, down.final) for down in seen] == [("crashed", False), ("drained", True)]
    assert isinstance(seen[0].error, ValueError)
    assert seen[0].path == "root/a"


async def test_a_monitor_of_an_actor_that_is_gone_reports_immediately() -> None:
    root = supervisor()
    ref = root.add(counter())
    async with root.running():
        pass
    with ref.monitor() as downs:
        assert (await anext(downs)).final
        with pytest.raises(StopAsyncIteration):
            await anext(downs)


async def test_a_closed_monitor_receives_nothing_more() -> None:
    root = supervisor()
    ref = root.add(counter())
    async with root.running():
        with ref.monitor() as downs:
            pass
        await ref.tell(Crash())
        await trio.sleep(5)
        with trio.move_on_after(1) as scope:
            await anext(downs)
        assert scope.cancelled_caught


async def test_a_slow_reader_learns_how_many_notices_it_missed() -> None:
    root = supervisor()
    keys = root.add(
        DirectorySpec[str, CounterMessage]("keys", lambda key: Counter(), idle_timeout=1)
    )
    async with root.running():
        with keys.ref("a").monitor() as downs:
            for _ in range(downs.CAPACITY + 6):
                await keys.ask("a", Add(1))
                await trio.sleep(2)
            assert downs.missed == 6
            assert (await anext(downs)).reason == "passivated"


async def test_children_of_any_kind_can_be_watched_by_name() -> None:
    async def failing(worker: WorkerContext) -> None:
        await trio.sleep(1)
        raise OSError("gone")

    root = supervisor()
    root.add(WorkerSpec("worker", failing, restart="temporary"))
    async with root.running():
        with root.monitor("worker") as downs:
            down = await anext(downs)
        assert (down.reason, down.final, str(down.error)) == ("crashed", True, "gone")
        with pytest.raises(KeyError, match="no child 'worker'"):
            root.monitor("worker")


@dataclass(frozen=True, slots=True)
class Lost(Message[None]):
    """A watched actor went down."""

    down: Down


class Watcher(Actor[Lost]):
    """Watches another actor from inside."""

    def __init__(self, watched: ActorRef[CounterMessage], seen: list[str]) -> None:
        self.watched = watched
        self.seen = seen

    async def started(self) -> None:
        self.context.monitor(self.watched, Lost)

    async def handle(self, message: Lost) -> None:
        self.seen.append(message.down.reason)
        if len(self.seen) == 2:
            raise ValueError("the watcher crashes too")


async def test_an_actor_is_notified_of_another_also_after_its_own_crash() -> None:
    seen: list[str] = []
    root = supervisor()
    ref = root.add(counter())
    root.add(ActorSpec("watcher", lambda: Watcher(ref, seen), backoff=Backoff(first=1, jitter=0)))
    async with root.running():
        for _ in range(3):
            await ref.tell(Crash())
            await trio.sleep(10)
        await wait_all_tasks_blocked()
    assert seen == ["crashed", "crashed", "crashed"], "one notice an end, no double watch"


async def test_a_notice_that_cannot_be_created_breaks_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Clumsy(Watcher):
        async def started(self) -> None:
            self.context.monitor(self.watched, self.fail)

        def fail(self, down: Down) -> Lost:
            raise RuntimeError("no notice")

    root = supervisor()
    ref = root.add(counter())
    root.add(ActorSpec("watcher", lambda: Clumsy(ref, [])))
    async with root.running():
        await ref.tell(Crash())
        await trio.sleep(5)
        assert await ref.ask(Add(1)) == 1
    assert "no notice" in caplog.text


async def test_a_key_that_is_watched_no_more_is_forgotten() -> None:
    root = supervisor()
    keys = root.add(
        DirectorySpec[str, CounterMessage]("keys", lambda key: Counter(), idle_timeout=1)
    )
    async with root.running():
        with keys.ref("a").monitor():
            await keys.ask("a", Add(1))
            await trio.sleep(5)
            assert keys.statistics().tracked == 1
        await keys.ask("b", Add(1))
        await trio.sleep(5)
        assert keys.statistics().tracked == 0
