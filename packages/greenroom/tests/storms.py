"""Scenarios with many races, for `explore`: each asserts guarantees of the core.

They take no arguments and create everything themselves; the schedule is the only randomness.
"""

from __future__ import annotations

import contextlib
import math
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

import trio
from greenroom import (
    Actor,
    ActorQuarantined,
    ActorRef,
    ActorSpec,
    ActorStopped,
    Backoff,
    Directory,
    DirectorySpec,
    Intensity,
    Message,
    NotExecuted,
    OutcomeUnknown,
    QuarantineRule,
    RestartIntensityExceeded,
    Runtime,
    StopReason,
    Supervisor,
    SupervisorSpec,
)
from greenroom.testing import (
    Fault,
    FaultPlan,
    cancel_at_checkpoint,
    current_schedule,
    scenario_random,
)

from .actors import Recorder

PATIENT = Intensity(restarts=1000, period=1)
AT_ONCE = Backoff(first=0, jitter=0)


@dataclass(frozen=True, slots=True)
class Do(Message[int]):
    """Take effect once, after a while; or crash first."""

    number: int
    seconds: float = 0.0
    crash: bool = False


@dataclass(frozen=True, slots=True)
class Quiet(Message[None]):
    """The same as `Do`, without a result."""

    number: int
    seconds: float = 0.0
    crash: bool = False


class Doer(Actor[Do | Quiet]):
    """Records in ``done`` what took effect, in order."""

    def __init__(self, done: list[int], events: list[str] | None = None, name: str = "") -> None:
        self.done = done
        self.events = events if events is not None else []
        self.name = name

    async def started(self) -> None:
        self.events.append(f"+{self.name}")

    async def stopping(self, reason: StopReason) -> None:
        self.events.append(f"-{self.name}")

    async def handle(self, message: Do | Quiet) -> int | None:
        if message.seconds:
            await trio.sleep(message.seconds)
        if message.crash:
            raise ValueError(message.number)
        self.done.append(message.number)
        return message.number if isinstance(message, Do) else None


class Outcomes:
    """The outcome of each message for its asker, checked against what took effect."""

    def __init__(self) -> None:
        self.done: list[int] = []
        self.learnt: dict[int, str] = {}

    async def ask(
        self, ref: ActorRef[Do | Quiet], message: Do, timeout: float | None = None
    ) -> str:
        self.learnt[message.number] = "open"
        try:
            if timeout is None:
                await ref.ask(message)
            else:
                await ref.ask(message, timeout=timeout)
        except NotExecuted as error:
            result = type(error).__name__
        except OutcomeUnknown:
            result = "unknown"
        else:
            result = "done"
        self.learnt[message.number] = result
        return result

    def check(self) -> None:
        """Assert: nothing open or twice, no reply without effect, no effect after NotExecuted."""
        assert len(self.done) == len(set(self.done)), "handled twice"
        for number, result in self.learnt.items():
            assert result != "open"
            if result == "done":
                assert number in self.done, f"{number} was acknowledged and did not happen"
            elif result != "unknown":
                assert number not in self.done, f"{number} was told {result} and had happened"


def tree(faults: FaultPlan | None = None, **options: object) -> Supervisor:
    return Supervisor(
        "root",
        runtime=Runtime(observer=Recorder(), faults=faults),
        **{"intensity": PATIENT, **options},  # type: ignore[arg-type]
    )


async def ask_storm() -> None:
    """Timeouts, crashes, delays, lost replies and a full mailbox, at the same time."""
    random = scenario_random()
    outcomes = Outcomes()
    faults = FaultPlan(
        random.getrandbits(32),
        [
            Fault("crash", "actor.handled", probability=0.05),
            Fault("delay", "ask.sending", probability=0.05, delay=0.5),
            Fault("delay", "ask.replied", probability=0.05, delay=0.5),
            Fault("lose reply", "actor.reply", probability=0.05),
        ],
    )
    root = tree(faults)
    ref = root.add(
        ActorSpec(
            "doer",
            lambda: Doer(outcomes.done),
            mailbox_capacity=2,
            admission_timeout=1,
            backoff=AT_ONCE,
        )
    )

    async def client(name: int) -> None:
        for turn in range(3):
            seconds = random.choice([0, 0, 0.5, 1])
            message = Do(name * 10 + turn, seconds, crash=random.random() < 0.1)
            await outcomes.ask(ref, message, random.choice([0.5, 1, 1, 2]))

    async with root.running(), trio.open_nursery() as nursery:
        for name in range(3):
            nursery.start_soon(client, name)
    outcomes.check()


async def activation_storm() -> None:
    """More keys than the limit, short idle times, crashes: nothing lost or reordered."""
    random = scenario_random()
    live: dict[str, int] = defaultdict(int)
    done: dict[str, list[int]] = defaultdict(list)

    class Keyed(Doer):
        async def started(self) -> None:
            live[self.name] += 1
            assert live[self.name] == 1, "two actors of one key"
            await trio.sleep(random.choice([0, 0, 0.5]))

        async def stopping(self, reason: StopReason) -> None:
            await trio.sleep(random.choice([0, 0.5]))
            live[self.name] -= 1

    root = tree()
    keys: Directory[str, Do | Quiet] = root.add(
        DirectorySpec(
            "keys",
            lambda key: Keyed(done[key], name=key),
            max_awake=2,
            idle_timeout=1,
            backoff=AT_ONCE,
            quarantine=QuarantineRule(crashes=1000),
            start_timeout=math.inf,
            drain_timeout=math.inf,
            stopping_timeout=math.inf,
        )
    )
    crashed: set[int] = set()

    async def client(name: int) -> None:
        for turn in range(3):
            key = random.choice("abc")
            number = name * 10 + turn
            crash = random.random() < 0.1
            try:
                await keys.ask(key, Do(number, random.choice([0, 0, 0.5]), crash))
            except OutcomeUnknown:
                assert crash
                crashed.add(number)
            else:
                assert done[key][-1] == number or number in done[key]
            assert keys.statistics().awake <= 2
            await trio.sleep(random.choice([0, 0, 1, 1.5]))

    async with root.running(), trio.open_nursery() as nursery:
        for name in range(3):
            nursery.start_soon(client, name)
    everything = [number for numbers in done.values() for number in numbers]
    assert sorted(everything + list(crashed)) == [n * 10 + t for n in range(3) for t in range(3)]
    for numbers in done.values():
        for name in range(3):
            mine = [number for number in numbers if number // 10 == name]
            assert mine == sorted(mine), "reordered"
    assert not any(live.values()), "an actor outlived the tree"


class Restarts(Recorder):
    """Records the times of restarts, and of the escalation."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []
        self.gave_up: float | None = None

    def restarting(self, path: str, delay: float) -> None:
        self.times.append(trio.current_time())

    def escalated(self, path: str, error: BaseException) -> None:
        self.gave_up = trio.current_time()


async def escalation_storm() -> None:
    """A supervisor gives up exactly when its intensity is exceeded; every ask ends."""
    random = scenario_random()
    outcomes = Outcomes()
    observer = Restarts()
    root = Supervisor(
        "root", intensity=Intensity(restarts=2, period=2), runtime=Runtime(observer=observer)
    )
    ref = root.add(ActorSpec("doer", lambda: Doer(outcomes.done), backoff=AT_ONCE))
    crashes = 0

    async def client(name: int) -> None:
        nonlocal crashes
        for turn in range(3):
            crash = random.random() < 0.5
            result = await outcomes.ask(ref, Do(name * 10 + turn, 0.0, crash))
            assert result in (("unknown", "ActorStopped") if crash else ("done", "ActorStopped"))
            crashes += result == "unknown"
            await trio.sleep(random.choice([0, 0.5, 1.5]))

    async def clients() -> None:
        async with trio.open_nursery() as nursery:
            for name in range(3):
                nursery.start_soon(client, name)

    async with trio.open_nursery() as nursery:
        try:
            async with root.running():
                await clients_in(nursery, clients)
        except RestartIntensityExceeded as error:
            cause = error.__cause__
        else:
            cause = None
    assert isinstance(cause, ValueError) == (observer.gave_up is not None)
    times = observer.times
    for time in times:
        assert len([other for other in times if time - 2 < other <= time]) <= 2
    if observer.gave_up is None:
        assert len(times) == crashes
    else:
        recent = [time for time in times if observer.gave_up - 2 < time]
        assert len(recent) == 2, "gave up too early"
        assert await outcomes.ask(ref, Do(99)) == "ActorStopped"
    outcomes.check()


async def clients_in(nursery: trio.Nursery, clients: Callable[[], Awaitable[None]]) -> None:
    """Run ``clients`` in ``nursery``, where an escalation does not cancel them, to their end."""
    ended = trio.Event()

    async def run() -> None:
        await clients()
        ended.set()

    nursery.start_soon(run)
    await ended.wait()


async def rest_for_one_storm() -> None:
    """When a child restarts, those after it have been stopped, and start after it."""
    random = scenario_random()
    events: list[str] = []
    root = tree(strategy="rest_for_one")
    refs = [
        root.add(
            ActorSpec(
                name,
                partial(Doer, [], events, name),
                backoff=Backoff(first=random.choice([0, 0.5]), factor=1, jitter=0),
                drain_timeout=math.inf,
            )
        )
        for name in "abc"
    ]

    async def crash(ref: ActorRef[Do | Quiet]) -> None:
        await trio.sleep(random.choice([0, 0.5, 0.5, 1, 2]))
        await ref.tell(Quiet(0, random.choice([0, 0.5]), crash=True))

    async with root.running():
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(crash, random.choice(refs))
        for ref in refs:
            await ref.ask(Do(1))
        # There is no event for the end of all restarts.
        while [child.state for child in root.tree().children] != ["running"] * 3:  # noqa: ASYNC110
            await trio.sleep(0.5)
    running: list[str] = []
    for event in events:
        name = event[1]
        if event[0] == "+":
            # A child before it may have just crashed; one after it must be down.
            assert all(other < name for other in running), f"{name} started late: {events}"
            running.append(name)
        else:
            running.remove(name)
    assert running == []
    assert events[-3:] == ["-c", "-b", "-a"]


async def drain_storm() -> None:
    """Messages admitted before the stop are handled, later ones refused."""
    random = scenario_random()
    outcomes = Outcomes()
    root = tree()
    options = {"drain_timeout": math.inf, "admission_timeout": math.inf}
    one = root.add(ActorSpec("one", lambda: Doer(outcomes.done), mailbox_capacity=2, **options))  # type: ignore[arg-type]
    keys: Directory[int, Do | Quiet] = root.add(
        DirectorySpec("keys", lambda key: Doer(outcomes.done), max_awake=2, **options)  # type: ignore[arg-type]
    )
    admitted: list[int] = []

    async def asker(name: int) -> None:
        for turn in range(3):
            ref = random.choice([one, keys.ref(turn), keys.ref(name)])
            await outcomes.ask(ref, Do(name * 10 + turn, random.choice([0, 0.5])))

    async def teller(name: int) -> None:
        for turn in range(3):
            number = 100 + name * 10 + turn
            try:
                await one.tell(Quiet(number, 0.25))
            except ActorStopped:
                outcomes.learnt[number] = "ActorStopped"
            else:
                admitted.append(number)

    async with trio.open_nursery() as nursery:
        async with root.running():
            for name in range(2):
                nursery.start_soon(asker, name)
                nursery.start_soon(teller, name)
            await trio.sleep(random.choice([0, 0.5, 1]))
        handled = len(outcomes.done)
        await trio.sleep(10)
        assert len(outcomes.done) == handled, "somebody worked after the end"
    assert set(admitted) <= set(outcomes.done), "an admitted message was not worked off"
    outcomes.check()


async def cancellation_storm() -> None:
    """An ask is cancelled at any of its checkpoints: it had no effect, or all of it."""
    random = scenario_random()
    outcomes = Outcomes()
    root = tree()
    ref = root.add(
        ActorSpec(
            "doer", lambda: Doer(outcomes.done), mailbox_capacity=1, admission_timeout=math.inf
        )
    )
    withdrawn: list[int] = []

    async def interrupted(number: int) -> None:
        taken = len(outcomes.done)
        checkpoint, woken = random.randrange(5), random.random() < 0.5
        call = partial(ref.ask, Do(number, random.choice([0, 0.5])))
        result = await cancel_at_checkpoint(checkpoint, call, woken=woken)
        if result.cancelled and checkpoint == 0:
            withdrawn.append(number)
        if not result.cancelled:
            assert number in outcomes.done[taken:]

    async def steady(number: int) -> None:
        assert await outcomes.ask(ref, Do(number)) == "done"

    async with root.running():
        async with trio.open_nursery() as nursery:
            for number in range(3):
                nursery.start_soon(interrupted, number)
                nursery.start_soon(steady, 10 + number)
        assert await outcomes.ask(ref, Do(20)) == "done", "the actor lives, its mailbox is free"
        assert ref.resolve(Do(0)).mailbox.statistics().senders_waiting == 0
    assert not set(withdrawn) & set(outcomes.done)
    outcomes.check()


async def quarantine_storm() -> None:
    """A key that crashes is quarantined and recovers; the others are not affected."""
    random = scenario_random()
    done: dict[str, list[int]] = defaultdict(list)
    broken = True

    class Moody(Doer):
        async def handle(self, message: Do | Quiet) -> int | None:
            if self.name == "bad" and broken:
                raise ValueError("broken")
            return await super().handle(message)

    recorder = Recorder()
    root = Supervisor("root", runtime=Runtime(observer=recorder))
    keys: Directory[str, Do | Quiet] = root.add(
        DirectorySpec(
            "keys",
            lambda key: Moody(done[key], name=key),
            backoff=Backoff(first=0.5, jitter=0),
            quarantine=QuarantineRule(crashes=2, period=math.inf, first=3, maximum=3),
        )
    )

    waits: list[float] = []

    async def poke(number: int) -> None:
        try:
            await keys.ask("bad", Do(number))
        except ActorQuarantined as error:
            waits.append(error.retry_after)
        except OutcomeUnknown:
            assert broken

    async def good(name: str) -> None:
        for number in range(3):
            begun = trio.current_time()
            assert await keys.ask(name, Do(number)) == number
            if not current_schedule().early_time:
                assert trio.current_time() == begun, "delayed by another key"
            await trio.sleep(random.choice([0, 0.5]))

    async with root.running():
        async with trio.open_nursery() as nursery:
            for number in range(5):
                nursery.start_soon(poke, number)
            for name in ("x", "y"):
                nursery.start_soon(good, name)
        assert all(0 <= wait <= 3 for wait in waits)
        assert "root/keys/bad quarantined for 3" in recorder.lines
        assert done["x"] == done["y"] == list(range(3))
        assert done["bad"] == []
        broken = False
        await trio.sleep(4)
        assert await keys.ask("bad", Do(50)) == 50
        assert await keys.ask("bad", Do(51)) == 51
        assert "root/keys/bad recovered" in recorder.lines
    assert done["bad"] == [50, 51]


async def children_storm() -> None:
    """Children start, stop and crash under any strategy; the rest all reply in the end."""
    random = scenario_random()
    root = tree(strategy=random.choice(["one_for_one", "rest_for_one", "all_for_one"]))

    def spec(name: str) -> ActorSpec[Do | Quiet]:
        return ActorSpec(
            name,
            lambda: Doer([]),
            backoff=random.choice([AT_ONCE, Backoff(first=0.5, factor=1, jitter=0)]),
            start_timeout=math.inf,
            drain_timeout=math.inf,
        )

    branch = root.add(
        SupervisorSpec("branch", intensity=Intensity(restarts=1, period=1), backoff=AT_ONCE)
    )
    lasting = [root.add(spec("a")), branch.add(spec("b")), root.add(spec("c"))]

    async def crash(ref: ActorRef[Do | Quiet]) -> None:
        await trio.sleep(random.choice([0, 0.5, 1]))
        with contextlib.suppress(NotExecuted):
            await ref.tell(Quiet(0, random.choice([0, 0.5]), crash=True))

    async def passing(name: str) -> None:
        with (
            trio.move_on_after(random.choice([0.5, 1, math.inf])),
            contextlib.suppress(NotExecuted),
        ):
            ref = await root.start_child(spec(name))
            await crash(ref)
        await trio.sleep(random.choice([0, 0.5]))
        with contextlib.suppress(KeyError):
            await root.stop_child(name)

    async with root.running():
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(crash, random.choice(lasting))
            for name in "xy":
                nursery.start_soon(passing, name)
        for ref in lasting:
            assert await ref.ask(Do(1)) == 1
    assert [child.name for child in root.tree().children] == ["branch", "a", "c"]


STORMS: dict[str, Callable[[], Awaitable[None]]] = {
    "ask, timeout, crash": ask_storm,
    "activation, passivation": activation_storm,
    "intensity, escalation": escalation_storm,
    "rest for one": rest_for_one_storm,
    "drain under load": drain_storm,
    "cancellation of ask": cancellation_storm,
    "quarantine": quarantine_storm,
}
