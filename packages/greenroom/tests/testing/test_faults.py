"""Planned faults occur where and as often as planned, and repeatably for a seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import trio
from greenroom import (
    Actor,
    ActorCrashed,
    ActorRef,
    ActorSpec,
    Backoff,
    Intensity,
    Message,
    Observer,
    OutcomeUnknown,
    Runtime,
    Supervisor,
)
from greenroom.testing import (
    CORE_POINTS,
    Fault,
    FaultPlan,
    InjectedCrash,
    current_schedule,
    scenario_random,
)

pytestmark = pytest.mark.explore(schedules=10, early_time=False)


@dataclass(frozen=True, slots=True)
class Write(Message[int]):
    """Write a line; the result is the number of lines."""


class Disk(Actor[Write]):
    """Passes its own fault point before it writes."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    async def handle(self, message: Write) -> int:
        await self.context.fault_point("disk.write")
        self.lines.append("line")
        return len(self.lines)


class Quiet(Observer):
    """Does not log the injected crashes."""

    def crashed(self, path: str, error: BaseException) -> None:
        pass

    def restarting(self, path: str, delay: float) -> None:
        pass


def disk(*faults: Fault, seed: int = 0) -> tuple[Supervisor, ActorRef[Write], list[str], FaultPlan]:
    plan = FaultPlan(seed, faults)
    lines: list[str] = []
    root = Supervisor(
        "root",
        intensity=Intensity(restarts=100, period=1),
        runtime=Runtime(faults=plan, observer=Quiet()),
    )
    ref = root.add(ActorSpec("disk", lambda: Disk(lines), backoff=Backoff(first=0, jitter=0)))
    return root, ref, lines, plan


@pytest.mark.parametrize(
    ("point", "written"), [("actor.taken", 0), ("disk.write", 0), ("actor.handled", 1)]
)
async def test_a_crash_happens_at_its_point_as_often_as_planned(point: str, written: int) -> None:
    root, ref, lines, plan = disk(Fault("crash", point, times=1))
    async with root.running():
        with pytest.raises(ActorCrashed) as caught:
            await ref.ask(Write())
        assert isinstance(caught.value.__cause__, InjectedCrash)
        assert len(lines) == written
        assert await ref.ask(Write()) == written + 1
    assert plan.injected == [("crash", point, "root/disk")]


async def test_a_crash_at_the_start_is_tried_again() -> None:
    root, ref, _, plan = disk(Fault("crash", "actor.starting", times=2))
    async with root.running():
        assert await ref.ask(Write()) == 1
    assert len(plan.injected) == 2


@pytest.mark.parametrize("point", ["ask.sending", "actor.taken", "disk.write", "ask.replied"])
async def test_a_delay_takes_its_time(point: str) -> None:
    root, ref, _, _ = disk(Fault("delay", point, delay=3))
    async with root.running():
        begun = trio.current_time()
        assert await ref.ask(Write()) == 1
        assert trio.current_time() - begun == pytest.approx(3)


async def test_a_lost_reply_leaves_the_effect_and_an_unknown_outcome() -> None:
    root, ref, lines, _ = disk(Fault("lose reply", "actor.reply", times=1))
    async with root.running():
        with pytest.raises(OutcomeUnknown, match="was lost"):
            await ref.ask(Write())
        assert lines == ["line"]
        assert await ref.ask(Write()) == 2


@pytest.mark.parametrize(("point", "written"), [("ask.sending", 0), ("ask.replied", 1)])
async def test_a_cancellation_ends_the_innermost_block(point: str, written: int) -> None:
    root, ref, lines, plan = disk(Fault("cancel", point, times=1))
    async with root.running():
        with plan.cancellable() as outer:
            with plan.cancellable() as inner:
                await ref.ask(Write())
            assert inner.cancelled_caught
            await trio.lowlevel.checkpoint()
        assert not outer.cancelled_caught
        assert len(lines) == written


async def test_a_block_ends_at_its_deadline(autojump_clock: trio.testing.MockClock) -> None:
    plan = FaultPlan(0, [])
    with plan.cancellable(trio.current_time() + 3) as scope:
        await trio.sleep(60)
    assert scope.cancelled_caught
    assert trio.current_time() == pytest.approx(3)


async def test_a_block_that_has_ended_is_not_cancelled() -> None:
    root, ref, _, plan = disk(Fault("cancel", "ask.sending"))
    async with root.running():
        with pytest.raises(ValueError, match="left"), plan.cancellable():
            raise ValueError("left")
        with pytest.raises(RuntimeError, match=r"no cancellable\(\) block"):
            await ref.ask(Write())


async def test_a_cancellation_without_a_block_raises() -> None:
    root, ref, _, _ = disk(Fault("cancel", "ask.sending"))
    async with root.running():
        with pytest.raises(RuntimeError, match=r"no cancellable\(\) block"):
            await ref.ask(Write())


async def test_wildcards_choose_points_and_subjects() -> None:
    plan = FaultPlan(0, [Fault("crash", "actor.*", subject="root/a*")])
    await plan.reach("ask.sending", "root/a1")
    await plan.reach("actor.taken", "root/b")
    with pytest.raises(InjectedCrash):
        await plan.reach("actor.taken", "root/a1")


async def test_the_same_seed_plans_the_same() -> None:
    async def passes(seed: int) -> list[bool]:
        plan = FaultPlan(seed, [Fault("crash", "p", probability=0.5)])
        hit = []
        for _ in range(30):
            try:
                await plan.reach("p", "s")
            except InjectedCrash:
                hit.append(True)
            else:
                hit.append(False)
        return hit

    first = await passes(1)
    assert first == await passes(1)
    assert first != await passes(2)
    assert {True, False} == set(first)


async def test_every_point_of_the_core_is_passed() -> None:
    class Listening(FaultPlan):
        def __init__(self) -> None:
            super().__init__(0, [])
            self.passed: list[str] = []

        async def reach(self, point: str, subject: str) -> None:
            self.passed.append(point)

        def loses_reply(self, subject: str) -> bool:
            self.passed.append("actor.reply")
            return False

    plan = Listening()
    root = Supervisor("root", runtime=Runtime(faults=plan))
    ref = root.add(ActorSpec("disk", lambda: Disk([])))
    async with root.running():
        await ref.ask(Write())
    assert set(plan.passed) == {*CORE_POINTS, "disk.write"}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"kind": "explode", "point": "p"}, "unknown fault 'explode'"),
        ({"kind": "crash", "point": "p", "probability": 2}, "probability"),
        ({"kind": "delay", "point": "p"}, "positive number of seconds"),
        ({"kind": "crash", "point": "p", "delay": 1}, "other faults have none"),
        ({"kind": "lose reply", "point": "p"}, "is for the point 'actor.reply'"),
        ({"kind": "crash", "point": "actor.reply"}, "is for the point 'actor.reply'"),
    ],
)
async def test_an_invalid_fault_is_refused(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Fault(**arguments)


async def test_a_scenario_draws_the_same_for_the_same_schedule() -> None:
    again = scenario_random().random()
    assert scenario_random().random() == again
    assert str(current_schedule())
