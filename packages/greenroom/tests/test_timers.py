"""Messages that an actor sends to itself later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import trio
from greenroom import (
    Actor,
    ActorContext,
    ActorSpec,
    Backoff,
    DirectorySpec,
    Message,
    Runtime,
    Supervisor,
    Timer,
)

from .actors import Recorder

pytestmark = pytest.mark.explore(schedules=20, early_time=False)


@dataclass(frozen=True, slots=True)
class Tick(Message[None]):
    """What the timers send."""

    name: str


@dataclass(frozen=True, slots=True)
class Work(Message[None]):
    """Keep the actor busy, or make it crash."""

    seconds: float = 0.0
    crash: bool = False


class Clockwork(Actor[Tick | Work]):
    """Sets timers when it starts and records when their messages arrive."""

    def __init__(
        self, log: list[tuple[str, float]], wind: Callable[[ActorContext], object]
    ) -> None:
        self.log = log
        self.wind = wind

    async def started(self) -> None:
        self.wind(self.context)

    async def handle(self, message: Tick | Work) -> None:
        if isinstance(message, Tick):
            self.log.append((message.name, trio.current_time()))
            return
        await trio.sleep(message.seconds)
        if message.crash:
            raise ValueError


class Bench:
    """A tree with one actor that has timers."""

    def __init__(self, wind: Callable[[ActorContext], object]) -> None:
        self.log: list[tuple[str, float]] = []
        self.root = Supervisor("root", runtime=Runtime(observer=Recorder()))
        self.ref = self.root.add(
            ActorSpec(
                "clockwork",
                lambda: Clockwork(self.log, wind),
                mailbox_capacity=1,
                backoff=Backoff(first=5, jitter=0),
            )
        )

    def times(self, begun: float) -> list[tuple[str, float]]:
        return [(name, round(at - begun, 6)) for name, at in self.log]


async def test_a_single_timer_sends_once() -> None:
    bench = Bench(lambda context: context.schedule_once(3, Tick("once")))
    async with bench.root.running():
        begun = trio.current_time()
        await trio.sleep(10)
    assert bench.times(begun) == [("once", 3)]


async def test_a_periodic_timer_keeps_its_rhythm() -> None:
    bench = Bench(lambda context: context.schedule_every(2, Tick("beat"), delay=1))
    async with bench.root.running():
        begun = trio.current_time()
        await trio.sleep(6)
    assert bench.times(begun) == [("beat", 1), ("beat", 3), ("beat", 5)]


async def test_periods_missed_while_busy_are_skipped() -> None:
    bench = Bench(lambda context: context.schedule_every(2, Tick("beat")))
    async with bench.root.running():
        begun = trio.current_time()
        await bench.ref.tell(Work(seconds=7))
        await trio.sleep(11)
    assert bench.times(begun) == [("beat", 7), ("beat", 8), ("beat", 10)]


async def test_timers_come_in_order_of_due_time() -> None:
    def wind(context: ActorContext) -> None:
        for name, delay in (("c", 3), ("a", 1), ("b", 2)):
            context.schedule_once(delay, Tick(name))

    bench = Bench(wind)
    async with bench.root.running():
        await bench.ref.tell(Work(seconds=10))
        await trio.sleep(20)
    assert [name for name, _ in bench.log] == ["a", "b", "c"]


async def test_a_cancelled_timer_sends_nothing() -> None:
    timers: list[Timer] = []
    bench = Bench(lambda context: timers.append(context.schedule_every(2, Tick("beat"))))
    async with bench.root.running():
        await trio.sleep(5)
        timers[0].cancel()
        assert timers[0].cancelled
        await trio.sleep(10)
    assert len(bench.log) == 2


async def test_timers_end_with_their_incarnation() -> None:
    bench = Bench(lambda context: context.schedule_once(4, Tick("once")))
    async with bench.root.running():
        begun = trio.current_time()
        await bench.ref.tell(Work(seconds=1, crash=True))
        await trio.sleep(20)
    assert bench.times(begun) == [("once", 10)], "crash at 1, backoff 5, its own timer 4"


async def test_a_timer_does_not_keep_a_virtual_actor_awake() -> None:
    log: list[tuple[str, float]] = []
    root = Supervisor("root")
    keys = root.add(
        DirectorySpec[str, Tick | Work](
            "keys",
            lambda key: Clockwork(log, lambda context: context.schedule_every(3, Tick(key))),
            idle_timeout=10,
        )
    )
    async with root.running():
        await keys.tell("a", Work())
        await trio.sleep(60)
        assert keys.statistics().awake == 0
    assert [name for name, _ in log] == ["a", "a", "a"]


@pytest.mark.parametrize(
    ("wind", "text"),
    [
        (lambda context: context.schedule_once(-1, Tick("x")), "delay"),
        (lambda context: context.schedule_every(0, Tick("x")), "period"),
        (lambda context: context.schedule_every(1, Tick("x"), delay=-1), "delay"),
    ],
)
async def test_an_invalid_time_is_refused(
    wind: Callable[[ActorContext], object], text: str
) -> None:
    errors: list[str] = []

    def tried(context: ActorContext) -> None:
        with pytest.raises(ValueError, match=text) as caught:
            wind(context)
        errors.append(str(caught.value))

    async with Bench(tried).root.running():
        assert len(errors) == 1


async def test_a_timer_set_from_another_task_wakes_a_waiting_actor() -> None:
    contexts: list[ActorContext] = []
    bench = Bench(contexts.append)
    async with bench.root.running():
        begun = trio.current_time()
        await trio.sleep(1)
        contexts[0].schedule_once(2, Tick("beside"))
        await trio.sleep(10)
    assert bench.times(begun) == [("beside", 3)]
