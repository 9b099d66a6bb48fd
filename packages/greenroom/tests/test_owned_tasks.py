"""Tasks that an actor owns: they live as long as its incarnation and share its fate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import trio
from greenroom import (
    Actor,
    ActorCrashed,
    ActorSpec,
    Backoff,
    Directory,
    DirectorySpec,
    Intensity,
    Message,
    OutcomeUnknown,
    Reply,
    RestartIntensityExceeded,
    Runtime,
    StopReason,
    Supervisor,
)

from .actors import Recorder

pytestmark = pytest.mark.explore(schedules=50, early_time=False)

SOON = Backoff(first=1, jitter=0)


@dataclass(frozen=True)
class Run(Message[trio.CancelScope]):
    """Start a task; reply with its scope."""

    function: Callable[..., Any]
    arguments: tuple[object, ...] = ()


@dataclass(frozen=True)
class Tick(Message[int]):
    """Count; reply with the count."""


@dataclass(frozen=True)
class Hang(Message[None]):
    """Wait forever in the handler."""


class Owner(Actor[Run | Tick | Hang]):
    def __init__(self, log: list[str], at_start: Callable[[Owner], object] | None = None) -> None:
        self.log = log
        self.at_start = at_start
        self.ticks = 0

    async def started(self) -> None:
        self.log.append("started")
        if self.at_start is not None:
            self.at_start(self)

    async def stopping(self, reason: StopReason) -> None:
        self.log.append(reason)

    async def handle(self, message: Run | Tick | Hang) -> Reply:
        match message:
            case Run():
                return message.reply(self.context.start_task(message.function, *message.arguments))
            case Tick():
                self.ticks += 1
                return message.reply(self.ticks)
            case Hang():
                await trio.sleep(math.inf)
                return message.reply(None)


def logged(log: list[str]) -> Callable[[], Any]:
    """A task that runs until it is cancelled."""

    async def task() -> None:
        log.append("task runs")
        try:
            await trio.sleep_forever()
        finally:
            log.append("task ended")

    return task


async def crash(after: float = 0.0) -> None:
    await trio.sleep(after)
    raise ValueError("task")


def supervisor(recorder: Recorder | None = None) -> Supervisor:
    return Supervisor("root", runtime=Runtime(observer=recorder or Recorder()))


async def test_a_task_runs_alongside_the_handlers_and_ends_before_stopping() -> None:
    log: list[str] = []
    root = supervisor()
    ref = root.add(ActorSpec("owner", lambda: Owner(log)))
    async with root.running():
        await ref.ask(Run(logged(log)))
        assert await ref.ask(Tick()) == 1
        await trio.sleep(10)
        assert log == ["started", "task runs"]
    assert log == ["started", "task runs", "task ended", "drained"]


async def test_a_task_can_begin_in_started() -> None:
    log: list[str] = []
    root = supervisor()

    def begin(owner: Owner) -> None:
        owner.context.start_task(logged(log))

    root.add(ActorSpec("owner", lambda: Owner(log, begin)))
    async with root.running():
        await trio.sleep(1)
    assert log == ["started", "task runs", "task ended", "drained"]


async def test_a_task_that_returns_does_not_affect_the_actor() -> None:
    log: list[str] = []
    root = supervisor()
    ref = root.add(ActorSpec("owner", lambda: Owner(log)))
    async with root.running():
        await ref.ask(Run(trio.sleep, (1,)))
        await trio.sleep(10)
        assert await ref.ask(Tick()) == 1
    assert log == ["started", "drained"]


async def test_a_crash_of_a_task_restarts_the_actor_and_ends_its_other_tasks() -> None:
    log: list[str] = []
    recorder = Recorder()
    root = supervisor(recorder)
    ref = root.add(ActorSpec("owner", lambda: Owner(log), backoff=SOON))
    async with root.running():
        await ref.ask(Tick())
        await ref.ask(Run(logged(log)))
        await ref.ask(Run(crash, (5,)))
        await trio.sleep(5.5)
        assert log == ["started", "task runs", "task ended", "crashed"]
        assert await ref.ask(Tick()) == 1, "a new actor"
        assert log[4:] == ["started"], "without the tasks of the one before"
    assert recorder.lines[:3] == [
        "root/owner started",
        "root/owner crashed: ValueError('task')",
        "root/owner restarts in 1",
    ]


async def test_the_message_in_progress_fails_with_the_crash_of_the_task() -> None:
    root = supervisor()
    ref = root.add(ActorSpec("owner", lambda: Owner([]), backoff=SOON))
    async with root.running():
        await ref.ask(Run(crash, (5,)))
        with pytest.raises(ActorCrashed, match="a task of root/owner crashed while") as caught:
            await ref.ask(Hang())
        assert isinstance(caught.value.__cause__, ValueError)


async def test_waiting_messages_are_kept_for_the_next_incarnation() -> None:
    root = supervisor()
    ref = root.add(ActorSpec("owner", lambda: Owner([]), backoff=SOON))
    replies: list[int] = []

    async def ask() -> None:
        replies.append(await ref.ask(Tick()))

    async def hang() -> None:
        with pytest.raises(ActorCrashed):
            await ref.ask(Hang())

    async with root.running(), trio.open_nursery() as nursery:
        await ref.ask(Run(crash, (5,)))
        nursery.start_soon(hang)
        await trio.sleep(1)
        nursery.start_soon(ask)
        nursery.start_soon(ask)
    assert sorted(replies) == [1, 2]


async def test_a_crash_in_started_counts_as_a_failed_start() -> None:
    log: list[str] = []
    root = supervisor()

    def begin(owner: Owner) -> None:
        if log.count("started") < 3:
            owner.context.start_task(crash)

    class Slow(Owner):
        async def started(self) -> None:
            await super().started()
            await trio.sleep(1)

    ref = root.add(ActorSpec("owner", lambda: Slow(log, begin), backoff=SOON))
    async with root.running():
        assert await ref.ask(Tick()) == 1
    assert log == ["started", "started", "started", "drained"], "stopping only after a start"


async def test_crashes_of_tasks_count_towards_the_intensity() -> None:
    root = Supervisor(
        "root", intensity=Intensity(restarts=2, period=100), runtime=Runtime(observer=Recorder())
    )

    def begin(owner: Owner) -> None:
        owner.context.start_task(crash)

    root.add(ActorSpec("owner", lambda: Owner([], begin), backoff=SOON))
    with pytest.raises(RestartIntensityExceeded) as caught:
        await root.run()
    assert isinstance(caught.value.__cause__, ValueError)


async def test_a_crash_of_the_handler_and_of_a_task_keeps_both_errors() -> None:
    recorder = Recorder()
    root = supervisor(recorder)

    class Fragile(Owner):
        async def handle(self, message: Run | Tick | Hang) -> Reply:
            if isinstance(message, Hang):
                try:
                    await trio.sleep_forever()
                finally:
                    raise OSError("handler")
            return await super().handle(message)

    ref = root.add(ActorSpec("owner", lambda: Fragile([]), backoff=SOON))
    async with root.running():
        await ref.ask(Run(crash, (1,)))
        with pytest.raises(ActorCrashed):
            await ref.ask(Hang())
    crashes = [line for line in recorder.lines if "crashed" in line]
    assert len(crashes) == 1
    assert "ValueError('task')" in crashes[0]
    assert "OSError('handler')" in crashes[0]


async def test_a_single_task_can_be_cancelled() -> None:
    log: list[str] = []
    root = supervisor()
    ref = root.add(ActorSpec("owner", lambda: Owner(log)))
    async with root.running():
        scope = await ref.ask(Run(logged(log)))
        await ref.ask(Run(logged(log)))
        await trio.sleep(1)
        scope.cancel()
        await trio.sleep(1)
        assert log == ["started", "task runs", "task runs", "task ended"]
        assert await ref.ask(Tick()) == 1


async def test_a_task_may_ask_its_own_actor() -> None:
    replies: list[int] = []
    root = supervisor()

    async def ask() -> None:
        replies.append(await ref.ask(Tick()))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(again)

    async def again() -> None:
        replies.append(await ref.ask(Tick()))

    ref = root.add(ActorSpec("owner", lambda: Owner([])))
    async with root.running():
        await ref.ask(Run(ask))
        await trio.sleep(1)
    assert replies == [1, 2]


async def test_cancelling_the_tree_ends_the_tasks_too() -> None:
    log: list[str] = []
    root = supervisor()
    ref = root.add(ActorSpec("owner", lambda: Owner(log)))
    with trio.move_on_after(5):
        async with root.running():
            await ref.ask(Run(logged(log)))
            with pytest.raises(OutcomeUnknown, match="was cancelled while it handled"):
                await ref.ask(Hang())
    assert log == ["started", "task runs", "task ended", "cancelled"]


async def test_a_stop_past_its_drain_timeout_ends_the_tasks() -> None:
    log: list[str] = []
    root = supervisor()
    ref = root.add(ActorSpec("owner", lambda: Owner(log), drain_timeout=3))
    async with trio.open_nursery() as nursery:
        async with root.running():
            await ref.ask(Run(logged(log)))
            nursery.start_soon(hang, ref)
            await trio.sleep(1)
            begun = trio.current_time()
        assert trio.current_time() - begun == 3
    assert log == ["started", "task runs", "task ended", "cancelled"]


async def hang(ref: Any) -> None:  # noqa: ANN401 - an actor of this module
    with pytest.raises(OutcomeUnknown):
        await ref.ask(Hang())


async def test_a_restart_with_a_sibling_ends_the_tasks() -> None:
    log: list[str] = []
    root = Supervisor("root", strategy="all_for_one", runtime=Runtime(observer=Recorder()))
    ref = root.add(ActorSpec("owner", lambda: Owner(log), backoff=SOON))
    other = root.add(ActorSpec("other", lambda: Owner([]), backoff=SOON))
    async with root.running():
        await ref.ask(Run(logged(log)))
        await trio.sleep(1)
        await other.ask(Run(crash))
        await trio.sleep(5)
        assert log == ["started", "task runs", "task ended", "restarted", "started"]


async def test_tasks_do_not_keep_a_virtual_actor_awake() -> None:
    log: list[str] = []
    root = supervisor()
    keys: Directory[str, Run | Tick | Hang] = root.add(
        DirectorySpec("keys", lambda key: Owner(log), idle_timeout=10)
    )
    async with root.running():
        await keys.ask("a", Run(logged(log)))
        await trio.sleep(15)
        assert log == ["started", "task runs", "task ended", "passivated"]
        assert keys.statistics().awake == 0


async def test_a_crash_of_a_virtual_actors_task_is_a_crash_of_its_key() -> None:
    root = supervisor()
    keys: Directory[str, Run | Tick | Hang] = root.add(
        DirectorySpec("keys", lambda key: Owner([]), backoff=SOON)
    )
    async with root.running():
        await keys.ask("a", Run(crash))
        await trio.sleep(1)
        assert keys.statistics().crashes == 1
        assert await keys.ask("a", Tick()) == 1


async def test_no_task_starts_once_the_incarnation_is_stopping() -> None:
    refused: list[str] = []

    class Late(Owner):
        async def stopping(self, reason: StopReason) -> None:
            for _ in range(2):
                with pytest.raises(RuntimeError, match="incarnation of root/owner is stopping"):
                    self.context.start_task(trio.sleep_forever)
            refused.append(reason)
            late.append(self)

    late: list[Late] = []
    root = supervisor()
    root.add(ActorSpec("owner", lambda: Late([])))
    async with root.running():
        pass
    assert refused == ["drained"]
    with pytest.raises(RuntimeError, match="this incarnation of root/owner has ended"):
        late[0].context.start_task(trio.sleep_forever)


async def test_a_slow_end_of_a_task_is_waited_for() -> None:
    log: list[str] = []

    async def tidy() -> None:
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(2)
                log.append("tidied")

    root = supervisor()
    ref = root.add(ActorSpec("owner", lambda: Owner(log)))
    async with root.running():
        await ref.ask(Run(tidy))
        await trio.sleep(1)
    assert log == ["started", "tidied", "drained"]
