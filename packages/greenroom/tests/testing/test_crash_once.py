"""``crash_anywhere``: each schedule injects one crash at a point that its seed chooses."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import pytest
import trio
from greenroom import (
    Actor,
    ActorCrashed,
    ActorRef,
    ActorSpec,
    Message,
    Observer,
    OutcomeUnknown,
    Runtime,
    Supervisor,
)
from greenroom.testing import (
    Fault,
    FaultPlan,
    InjectedCrash,
    MalformedSchedule,
    Schedule,
    ScheduleFailure,
    explore,
    run_deterministic,
)
from greenroom.testing.faults import CrashOnce
from greenroom.testing.schedule_failure import ReplayToken


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Do not log the injected crashes."""
    with caplog.at_level(logging.CRITICAL, "greenroom"):
        yield


@dataclass(frozen=True, slots=True)
class Append(Message[int]):
    number: int


class Log(Actor[Append]):
    """Writes twice without a transaction; a crash between the two shows."""

    def __init__(self, disk: list[int], *, careless: bool) -> None:
        self.disk = disk
        self.careless = careless

    async def handle(self, message: Append) -> int:
        if self.careless:
            self.disk.append(message.number)
            await self.context.fault_point("log.half")
            self.disk.append(-message.number)
        else:
            await self.context.fault_point("log.before")
            self.disk += [message.number, -message.number]
        return len(self.disk)


async def write(steps: list[int], *, careless: bool, runtime: Runtime | None = None) -> None:
    disk: list[int] = []
    root = Supervisor("root", runtime=runtime)
    log = root.add(ActorSpec("log", lambda: Log(disk, careless=careless)))
    async with root.running():
        for number in steps:
            try:
                await log.ask(Append(number))
            except OutcomeUnknown:
                await trio.lowlevel.checkpoint()
    assert sum(disk) == 0, f"half a write: {disk}"


async def careless(steps: list[int]) -> None:
    await write(steps, careless=True)


async def careful() -> None:
    await write([1, 2], careless=False)


STEPS = [1, 2, 3, 4]


def test_a_crash_between_two_writes_is_found_shrunk_named_and_replayed() -> None:
    with pytest.raises(ScheduleFailure) as found:
        explore(careless, steps=STEPS, schedules=200, crash_anywhere=True)
    failure = found.value
    assert isinstance(failure.error, AssertionError)
    assert failure.crash == "log.half of root/log"
    assert failure.steps is not None
    assert len(failure.steps) == 1, "one write is enough"
    assert "\n  crash:    log.half of root/log\n" in str(failure)
    assert "/crash:" in failure.token
    for crash_anywhere in (True, False):  # the token says it all
        with pytest.raises(ScheduleFailure) as again:
            explore(careless, steps=STEPS, replay=failure.token, crash_anywhere=crash_anywhere)
        assert again.value.crash == failure.crash
        assert again.value.steps == failure.steps
        assert again.value.token == failure.token


def test_without_it_nothing_crashes() -> None:
    assert explore(careless, steps=STEPS, schedules=50).crashes == 0


def test_a_scenario_that_survives_any_single_crash_passes_and_crashes_are_counted() -> None:
    exploration = explore(careful, schedules=50, crash_anywhere=True)
    assert (exploration.schedules, exploration.crashes) == (50, 50)


def test_every_point_of_the_actors_crashes_in_turn() -> None:
    crashed: set[str] = set()

    class Crashes(Observer):
        def crashed(self, path: str, error: BaseException) -> None:
            crashed.add(str(error))

    async def scenario() -> None:
        await write([1, 2], careless=False, runtime=Runtime(observer=Crashes()))

    explore(scenario, schedules=100, crash_anywhere=True)
    assert crashed == {
        f"injected at {point} of root/log"
        for point in ("actor.starting", "actor.taken", "log.before", "actor.handled")
    }, "not those that the client passes"


@dataclass(frozen=True, slots=True)
class ToRelay(Message[int]):
    log: ActorRef[Append]


class Relay(Actor[ToRelay]):
    async def handle(self, message: ToRelay) -> int:
        return await message.log.ask(Append(1))


def test_an_asker_that_is_an_actor_crashes_at_its_points_too() -> None:
    points: set[str] = set()

    async def scenario() -> None:
        class Crashes(Observer):
            def crashed(self, path: str, error: BaseException) -> None:
                points.add(f"{path}: {error}")

        root = Supervisor("root", runtime=Runtime(observer=Crashes()))
        log = root.add(ActorSpec("log", lambda: Log([], careless=False)))
        relay = root.add(ActorSpec("relay", Relay))
        async with root.running():
            with suppress(ActorCrashed):
                await relay.ask(ToRelay(log))

    explore(scenario, schedules=100, crash_anywhere=True)
    assert "root/relay: injected at ask.sending of root/log" in points
    assert "root/relay: injected at ask.replied of root/log" in points


def test_points_of_a_plan_count_as_well() -> None:
    async def scenario() -> None:
        plan = FaultPlan(1, [Fault("delay", "log.before", delay=1)])
        await write([1], careless=False, runtime=Runtime(faults=plan))

    assert explore(scenario, schedules=20, crash_anywhere=True).crashes == 20


def test_a_scenario_that_passes_no_point_is_an_error() -> None:
    async def scenario() -> None:
        await trio.sleep(1)

    with pytest.raises(ValueError, match="crash_anywhere: the scenario passed no fault point"):
        explore(scenario, schedules=5, crash_anywhere=True)


def test_a_failure_without_a_crash_has_none_in_its_report() -> None:
    async def scenario() -> None:
        await careful()
        raise OSError("anyway")

    with pytest.raises(ScheduleFailure) as found:
        explore(scenario, schedules=5, crash_anywhere=True)
    assert found.value.crash is None
    assert "/crash:" not in found.value.token
    assert "crash:" not in str(found.value)


def test_it_counts_points_and_crashes_once() -> None:
    faults = CrashOnce(1)

    async def scenario() -> list[str]:
        results = []
        for point in ("ask.sending", "a", "b", "c"):
            try:
                await faults.reach(point, "root/x")
                results.append("passed")
            except InjectedCrash as crash:
                results.append(str(crash))
        return results

    assert run_deterministic(scenario).value == [
        "passed",
        "passed",
        "injected at b of root/x",
        "passed",
    ]
    assert (faults.passes, faults.injected) == (3, "b of root/x")
    assert not faults.loses_reply("root/x")


@pytest.mark.parametrize("token", ["random:1/crash:0", "pct:2:40:7/crash:12@0,3-5", "random:1@0"])
def test_a_token_with_a_crash_is_read_back(token: str) -> None:
    assert str(ReplayToken.parse(token)) == token


def test_the_parts_of_a_token() -> None:
    token = ReplayToken.parse("random:1/crash:7@2")
    assert token == ReplayToken(Schedule.random(1), (2,), 7)


@pytest.mark.parametrize("token", ["random:1/", "random:1/crash", "random:1/crash:x", "random:1/7"])
def test_a_malformed_crash_is_refused(token: str) -> None:
    with pytest.raises(MalformedSchedule, match="what follows / is not of the form crash:number"):
        ReplayToken.parse(token)
