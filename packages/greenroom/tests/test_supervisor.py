"""Supervision: order of start and stop, restarts, strategies, escalation, shutdown."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import pytest
import trio
from greenroom import (
    Actor,
    ActorContext,
    ActorCrashed,
    ActorSpec,
    ActorStopped,
    Backoff,
    Intensity,
    InvalidActor,
    OutcomeUnknown,
    Restart,
    RestartIntensityExceeded,
    Runtime,
    StartTimeout,
    Strategy,
    Supervisor,
    SupervisorSpec,
    WorkerContext,
    WorkerSpec,
)
from greenroom.testing import scenario_random
from trio.testing import wait_all_tasks_blocked

from .actors import Add, Counter, CounterMessage, Crash, Nap, Note, Recorder, Relay, Words

pytestmark = pytest.mark.explore(schedules=20, early_time=False)

QUICK = Backoff(first=1, factor=2, maximum=60, jitter=0)


def spec(
    name: str, log: list[str] | None = None, *, restart: Restart = "permanent", drain: float = 5.0
) -> ActorSpec[CounterMessage]:
    return ActorSpec(
        name, partial(Counter, log, name), restart=restart, backoff=QUICK, drain_timeout=drain
    )


def supervisor(
    strategy: Strategy = "one_for_one",
    *,
    restarts: int = 3,
    period: float = 100,
    recorder: Recorder | None = None,
) -> Supervisor:
    return Supervisor(
        "root",
        strategy=strategy,
        intensity=Intensity(restarts=restarts, period=period),
        runtime=Runtime(observer=recorder or Recorder()),
    )


async def test_children_start_in_order_and_stop_in_reverse() -> None:
    log: list[str] = []
    root = supervisor()
    for name in "abc":
        root.add(spec(name, log))
    async with root.running():
        assert log == ["a started", "b started", "c started"]
    assert log[3:] == ["c drained", "b drained", "a drained"]


async def test_a_child_starts_only_when_the_one_before_is_ready() -> None:
    seen: list[str] = []

    async def slow(worker: WorkerContext) -> None:
        await trio.sleep(5)
        seen.append("slow is ready")
        worker.started()
        await trio.sleep_forever()

    root = supervisor()
    root.add(WorkerSpec("slow", slow, reports_ready=True))
    root.add(spec("next", seen))
    async with root.running():
        assert seen == ["slow is ready", "next started"]


async def test_a_crashed_permanent_child_restarts_after_its_backoff() -> None:
    recorder = Recorder()
    root = supervisor(recorder=recorder)
    ref = root.add(spec("a"))
    async with root.running():
        begun = trio.current_time()
        for wait in (1, 2, 4):
            with pytest.raises(ActorCrashed):
                await ref.ask(Crash())
            begun = trio.current_time()
            await ref.ask(Add(1))
            assert trio.current_time() - begun == pytest.approx(wait)


async def test_the_backoff_is_reset_after_time_without_a_crash() -> None:
    root = supervisor()
    ref = root.add(
        ActorSpec("a", Counter, backoff=Backoff(first=1, factor=10, jitter=0, reset_after=30))
    )
    async with root.running():
        for _ in range(3):
            with pytest.raises(ActorCrashed):
                await ref.ask(Crash())
            begun = trio.current_time()
            await ref.ask(Add(1))
            assert trio.current_time() - begun == pytest.approx(1)
            await trio.sleep(30)


@pytest.mark.parametrize(
    ("restart", "end", "comes_back"),
    [
        ("permanent", "crash", True),
        ("permanent", "finish", True),
        ("transient", "crash", True),
        ("transient", "finish", False),
        ("temporary", "crash", False),
        ("temporary", "finish", False),
    ],
)
async def test_a_restart_policy_decides_which_child_restarts(
    restart: Restart, end: str, comes_back: bool
) -> None:
    class Ending(Counter):
        async def handle(self, message: object) -> object:  # type: ignore[override]
            if isinstance(message, Note):
                self.context.stop()
                return None
            return await super().handle(message)  # type: ignore[arg-type]

    root = supervisor()
    ref = root.add(ActorSpec("a", Ending, restart=restart, backoff=QUICK))
    async with root.running():
        await ref.tell(Crash() if end == "crash" else Note("stop"))
        await trio.sleep(10)
        if comes_back:
            assert await ref.ask(Add(1)) == 1
        else:
            with pytest.raises(ActorStopped):
                await ref.ask(Add(1))
            assert root.tree().children == ()


@pytest.mark.parametrize(
    ("strategy", "restarted"),
    [
        ("one_for_one", ["b"]),
        ("rest_for_one", ["b", "c"]),
        ("all_for_one", ["a", "b", "c"]),
    ],
)
async def test_a_strategy_decides_which_children_restart_together(
    strategy: Strategy, restarted: list[str]
) -> None:
    log: list[str] = []
    root = supervisor(strategy)
    _, b, c = [root.add(spec(name, log)) for name in "abc"]
    async with root.running():
        await c.tell(Note("heard"))
        await c.ask(Words())
        log.clear()
        with pytest.raises(ActorCrashed):
            await b.ask(Crash())
        await trio.sleep(10)
        stopped = [name for name in reversed(restarted) if name != "b"]
        assert log == [
            "b crashed",
            *(f"{name} restarted" for name in stopped),
            *(f"{name} started" for name in restarted),
        ]


async def test_a_sibling_restarted_too_keeps_its_waiting_messages_in_order() -> None:
    log: list[str] = []
    root = supervisor("all_for_one")
    a, b = root.add(spec("a", log)), root.add(spec("b", log))
    async with root.running(), trio.open_nursery() as nursery:
        nursery.start_soon(b.ask, Nap(3))
        await wait_all_tasks_blocked()
        for word in ("1", "2", "3"):
            await b.tell(Note(word))
        await a.tell(Crash())
        assert await b.ask(Words()) == ("1", "2", "3")
        assert log.index("b restarted") < log.index("1")


async def test_more_restarts_than_the_intensity_escalate_with_the_cause() -> None:
    recorder = Recorder()
    root = supervisor(restarts=2, recorder=recorder)
    ref = root.add(spec("a"))

    async def crash_three_times() -> None:
        async with root.running():
            for _ in range(3):
                await ref.tell(Crash())
            await trio.sleep_forever()

    with pytest.raises(RestartIntensityExceeded, match="more than 2 restarts") as caught:
        await crash_three_times()
    assert isinstance(caught.value.__cause__, ValueError)
    assert recorder.lines.count("root/a crashed: ValueError()") == 3
    assert "root escalated" in recorder.lines
    with pytest.raises(ActorStopped):
        await ref.ask(Add(1))


async def test_restarts_outside_of_the_period_do_not_add_up() -> None:
    root = supervisor(restarts=1, period=10)
    ref = root.add(spec("a"))
    async with root.running():
        for _ in range(5):
            await ref.tell(Crash())
            await trio.sleep(200)
        assert await ref.ask(Add(1)) == 1


async def test_a_subtree_that_gives_up_is_restarted_by_the_supervisor_above() -> None:
    recorder = Recorder()
    root = supervisor(recorder=recorder)
    branch = root.add(
        SupervisorSpec("sub", intensity=Intensity(restarts=0, period=5), backoff=QUICK)
    )
    ref, sibling = branch.add(spec("a")), branch.add(spec("b"))
    async with root.running():
        await sibling.ask(Add(5))
        await ref.tell(Crash())
        await ref.tell(Note("kept"))
        assert await ref.ask(Words()) == ("kept",), "the mailbox survives the subtree"
        assert await sibling.ask(Add(1)) == 1
        await wait_all_tasks_blocked()
    assert recorder.lines.count("root/sub started") == 2


async def test_every_restart_of_a_subtree_that_fails_counts_above() -> None:
    root = supervisor(restarts=1)
    branch = root.add(SupervisorSpec("sub", intensity=Intensity(restarts=0), backoff=QUICK))
    ref = branch.add(spec("a"))

    async def crash_twice() -> None:
        async with root.running():
            for _ in range(2):
                await ref.tell(Crash())
            await trio.sleep_forever()

    with pytest.raises(RestartIntensityExceeded, match=r"^root gave up: root/sub") as caught:
        await crash_twice()
    assert isinstance(caught.value.__cause__, RestartIntensityExceeded)


async def test_a_start_that_fails_at_first_is_retried_and_delays_the_next() -> None:
    log: list[str] = []
    tries = 0

    class Shaky(Counter):
        async def started(self) -> None:
            nonlocal tries
            tries += 1
            if tries < 3:
                raise OSError("the database is not there yet")
            await super().started()

    root = supervisor()
    shaky = root.add(ActorSpec("shaky", partial(Shaky, log, "shaky"), backoff=QUICK))
    root.add(spec("next", log))
    async with root.running():
        assert log == ["shaky started", "next started"]
        assert await shaky.ask(Add(1)) == 1


async def test_a_start_that_always_fails_ends_the_program_with_the_cause() -> None:
    class Broken(Counter):
        async def started(self) -> None:
            raise OSError("no disk")

    root = supervisor(restarts=2)
    root.add(ActorSpec("broken", Broken, backoff=QUICK))
    with pytest.raises(RestartIntensityExceeded) as caught:
        async with root.running():
            pytest.fail("the block must not begin")
    assert isinstance(caught.value.__cause__, OSError)


async def test_a_start_that_takes_too_long_is_a_crash() -> None:
    class Stuck(Counter):
        async def started(self) -> None:
            await trio.sleep_forever()

    async def never_ready(worker: WorkerContext) -> None:
        await trio.sleep_forever()

    for child in (
        ActorSpec("stuck", Stuck, start_timeout=3),
        WorkerSpec("stuck", never_ready, reports_ready=True, start_timeout=3),
    ):
        root = supervisor(restarts=0)
        root.add(child)
        begun = trio.current_time()
        with pytest.raises(RestartIntensityExceeded) as caught:
            await root.run()
        assert isinstance(caught.value.__cause__, StartTimeout)
        assert trio.current_time() - begun == pytest.approx(3)


async def test_a_factory_that_fails_is_a_crash() -> None:
    def factory() -> Counter:
        raise LookupError("nothing to build from")

    root = supervisor(restarts=0)
    root.add(ActorSpec("a", factory))
    with pytest.raises(RestartIntensityExceeded) as caught:
        await root.run()
    assert isinstance(caught.value.__cause__, LookupError)


async def test_shutdown_handles_waiting_messages_and_refuses_new_ones() -> None:
    root = supervisor()
    ref = root.add(spec("a"))
    results: list[object] = []

    async def ask(message: Nap | Add) -> None:
        try:
            results.append(await ref.ask(message))
        except ActorStopped:
            results.append("stopped")

    async with trio.open_nursery() as nursery, root.running():
        nursery.start_soon(ask, Nap(1))
        await wait_all_tasks_blocked()
        nursery.start_soon(ask, Add(7))
        await wait_all_tasks_blocked()
        nursery.start_soon(root.stop)
        await wait_all_tasks_blocked()
        await ask(Add(9))
        assert results == ["stopped"]
    assert results[0] == "stopped"
    assert set(results[1:]) == {"rested", 7}


async def test_what_is_not_drained_in_time_is_cancelled_and_every_ask_ends() -> None:
    root = supervisor()
    ref = root.add(spec("a", drain=2))
    outcomes: dict[str, type] = {}

    async def ask(name: str, message: Nap | Add) -> None:
        try:
            await ref.ask(message)
        except (OutcomeUnknown, ActorStopped) as error:
            outcomes[name] = type(error)

    async with trio.open_nursery() as nursery:
        async with root.running():
            nursery.start_soon(ask, "taken", Nap(60))
            await wait_all_tasks_blocked()
            nursery.start_soon(ask, "waiting", Add(1))
            await wait_all_tasks_blocked()
            begun = trio.current_time()
        assert trio.current_time() - begun == pytest.approx(2)
    assert outcomes == {"taken": OutcomeUnknown, "waiting": ActorStopped}


async def test_the_deadline_of_the_whole_stop_holds_with_patient_children() -> None:
    root = supervisor()
    ref = root.add(spec("a", drain=1000))
    async with root.running(drain_timeout=3):
        await ref.tell(Crash(after=500))
        await wait_all_tasks_blocked()
        begun = trio.current_time()
    assert trio.current_time() - begun == pytest.approx(3)


async def test_cancelling_the_block_stops_everything_by_force() -> None:
    log: list[str] = []
    root = supervisor()
    ref = root.add(spec("a", log))
    with trio.move_on_after(1):
        async with root.running():
            await ref.ask(Nap(60))
    assert log == ["a started", "a cancelled"]
    with pytest.raises(ActorStopped):
        await ref.ask(Add(1))


async def test_an_error_in_the_block_is_raised_unchanged() -> None:
    root = supervisor()
    root.add(spec("a"))
    with pytest.raises(KeyError, match="mine"):
        async with root.running():
            raise KeyError("mine")


@pytest.mark.parametrize("inner", [[ValueError(1)], [ValueError(1), KeyError(2)]])
async def test_a_group_raised_in_the_block_is_raised_unchanged(inner: list[Exception]) -> None:
    root = supervisor()
    root.add(spec("a"))
    mine = ExceptionGroup("mine", inner)
    with pytest.raises(ExceptionGroup) as caught:
        async with root.running():
            raise mine
    assert (caught.value.message, list(caught.value.exceptions)) == ("mine", inner)


async def test_a_stopping_that_hangs_is_cancelled_in_its_time() -> None:
    class Clinging(Counter):
        async def stopping(self, reason: object) -> None:
            await trio.sleep_forever()

    root = supervisor()
    root.add(ActorSpec("a", Clinging, stopping_timeout=2))
    async with root.running():
        begun = trio.current_time()
    assert trio.current_time() - begun == pytest.approx(2)


async def test_a_crash_of_stopping_after_a_crash_keeps_both_errors() -> None:
    class Sloppy(Counter):
        async def stopping(self, reason: object) -> None:
            raise KeyError("second")

    recorder = Recorder()
    root = supervisor(recorder=recorder)
    ref = root.add(ActorSpec("a", Sloppy, restart="temporary"))
    async with root.running():
        await ref.tell(Crash())
        await trio.sleep(1)
    crashed = next(line for line in recorder.lines if "crashed" in line)
    assert "ValueError()" in crashed
    assert "KeyError('second')" in crashed


async def test_a_worker_is_restarted_and_stopped_like_an_actor() -> None:
    runs: list[str] = []

    async def ticker(worker: WorkerContext) -> None:
        runs.append("run")
        if len(runs) < 3:
            raise OSError("lost the socket")
        await worker.stopping.wait()
        await trio.sleep(1)
        runs.append("finished its request")

    root = supervisor()
    root.add(WorkerSpec("ticker", ticker, backoff=QUICK, drain_timeout=5))
    async with root.running():
        await trio.sleep(10)
    assert runs == ["run", "run", "run", "finished its request"]


async def test_a_worker_that_does_not_watch_for_the_stop_is_cancelled_immediately() -> None:
    async def forever(worker: WorkerContext) -> None:
        await trio.sleep_forever()

    root = supervisor()
    root.add(WorkerSpec("forever", forever))
    async with root.running():
        begun = trio.current_time()
    assert trio.current_time() == begun


async def test_children_can_be_added_and_stopped_while_running() -> None:
    log: list[str] = []
    root = supervisor()
    async with root.running():
        ref = await root.start_child(spec("late", log))
        assert await ref.ask(Add(1)) == 1
        with pytest.raises(ValueError, match="root already has a child named 'late'"):
            await root.start_child(spec("late"))
        with pytest.raises(RuntimeError, match="use start_child"):
            root.add(spec("other"))
        await root.stop_child("late")
        assert log == ["late started", "late drained"]
        with pytest.raises(ActorStopped):
            await ref.ask(Add(1))
        with pytest.raises(KeyError, match="root has no child 'late'; its children: none"):
            await root.stop_child("late")
        again = await root.start_child(spec("late"))
        assert await again.ask(Add(1)) == 1


async def test_a_child_added_while_running_that_fails_to_start_is_not_kept() -> None:
    class Broken(Counter):
        async def started(self) -> None:
            raise OSError("no disk")

    root = supervisor()
    async with root.running():
        with pytest.raises(OSError, match="no disk"):
            await root.start_child(ActorSpec("broken", Broken))
        assert root.tree().children == ()
    with pytest.raises(ActorStopped, match="root is not running"):
        await root.start_child(spec("a"))


async def test_a_child_can_be_stopped_during_its_backoff() -> None:
    root = supervisor()
    ref = root.add(spec("a"))
    root.add(spec("b"))
    async with root.running():
        await ref.tell(Crash())
        await wait_all_tasks_blocked()
        await root.stop_child("a")
        await trio.sleep(100)
        assert [child.name for child in root.tree().children] == ["b"]


async def test_a_stop_during_the_start_ends_it() -> None:
    async def never_ready(worker: WorkerContext) -> None:
        await trio.sleep_forever()

    root = supervisor()
    root.add(WorkerSpec("stuck", never_ready, reports_ready=True, start_timeout=1000))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(root.run)
        await wait_all_tasks_blocked()
        begun = trio.current_time()
        await root.stop()
    assert trio.current_time() == begun


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: Supervisor("x", strategy="any"), ValueError, "unknown restart strategy 'any'"),  # type: ignore[arg-type]
        (lambda: Supervisor("a/b"), ValueError, "without '/'"),
        (lambda: ActorSpec("", Counter), ValueError, "non-empty"),
        (lambda: ActorSpec("a", 3), TypeError, "factory must be callable, not 3"),  # type: ignore[arg-type]
        (lambda: ActorSpec("a", Counter, restart="maybe"), ValueError, "unknown restart policy"),  # type: ignore[arg-type]
        (lambda: ActorSpec("a", Counter, mailbox_capacity=0), ValueError, "mailbox_capacity"),
        (lambda: ActorSpec("a", Counter, batch_limit=-1), ValueError, "batch_limit"),
        (lambda: ActorSpec("a", Counter, start_timeout=0), ValueError, "start_timeout"),
        (lambda: ActorSpec("a", Counter, drain_timeout=-1), ValueError, "drain_timeout"),
        (lambda: Intensity(restarts=-1), ValueError, r"Intensity\.restarts"),
        (lambda: Intensity(period=0), ValueError, r"Intensity\.period"),
        (lambda: Backoff(first=-1), ValueError, r"Backoff\.first"),
        (lambda: Backoff(factor=0.5), ValueError, r"Backoff\.factor"),
        (lambda: Backoff(jitter=2), ValueError, r"Backoff\.jitter"),
        (lambda: Backoff(factor=math.inf), ValueError, r"Backoff\.factor"),
        (lambda: Backoff(first=math.inf, maximum=math.inf), ValueError, "finite"),
        (lambda: ActorSpec("a", Counter, backoff=3), TypeError, "must be a Backoff"),  # type: ignore[arg-type]
        (lambda: SupervisorSpec("s", intensity=3), TypeError, "must be a Intensity"),  # type: ignore[arg-type]
        (lambda: WorkerSpec("w", None), TypeError, "run must be callable"),  # type: ignore[arg-type]
        (lambda: Supervisor("x").add("a"), TypeError, "not a child specification"),  # type: ignore[call-overload]
    ],
)
async def test_invalid_arguments_are_refused_clearly(
    make: Callable[[], object], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        make()


async def test_a_duplicate_name_is_refused() -> None:
    root = supervisor()
    root.add(spec("a"))
    with pytest.raises(ValueError, match="root already has a child named 'a'"):
        root.add(spec("a"))


async def test_an_actor_with_both_handlers_or_none_is_refused() -> None:
    class Both(Counter):
        async def handle_batch(self, batch: object) -> None:
            pass

    class Neither(Actor[Add]):
        pass

    with pytest.raises(TypeError, match="Both defines both handle and handle_batch"):
        ActorSpec("both", Both)
    with pytest.raises(TypeError, match="Neither defines neither handle nor handle_batch"):
        ActorSpec("neither", Neither)
    recorder = Recorder()
    root = supervisor(recorder=recorder)
    root.add(ActorSpec("both", lambda: Both()))  # noqa: PLW0108 - only a call shows the class
    with pytest.raises(InvalidActor, match="defines both handle and handle_batch"):
        await root.run()
    assert not [line for line in recorder.lines if "restarts in" in line], "it can't help"


async def test_a_supervisor_runs_once() -> None:
    root = supervisor()
    async with root.running():
        with pytest.raises(RuntimeError, match="runs or has run already"):
            await root.run()


async def test_a_stop_during_the_start_of_a_subtree_still_drains_what_runs_in_it() -> None:
    async def never_ready(worker: WorkerContext) -> None:
        await trio.sleep_forever()

    log: list[str] = []
    root = supervisor()
    branch = root.add(SupervisorSpec("sub"))
    branch.add(spec("a", log))
    branch.add(WorkerSpec("stuck", never_ready, reports_ready=True, start_timeout=1000))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(root.run)
        await wait_all_tasks_blocked()
        await root.stop()
    assert log == ["a started", "a drained"]


@pytest.mark.parametrize("strategy", ["rest_for_one", "all_for_one"])
async def test_a_sibling_that_waits_for_the_crashed_one_does_not_block_the_restart(
    strategy: Strategy,
) -> None:
    root = supervisor(strategy)
    a = root.add(spec("a", drain=math.inf))
    b = root.add(spec("b", drain=math.inf))
    outcomes: list[str] = []

    async def ask_through() -> None:
        with pytest.raises(ActorCrashed) as caught:
            await b.ask(Relay(a, Add(1)))
        outcomes.append(type(caught.value.__cause__).__name__)

    async with root.running(), trio.open_nursery() as nursery:
        await a.tell(Crash(after=1))
        await wait_all_tasks_blocked()
        nursery.start_soon(ask_through)
        await trio.sleep(0.5)
        begun = trio.current_time()
        assert await a.ask(Add(1)) == 1, "one that is no sibling goes on waiting"
        assert trio.current_time() - begun == pytest.approx(1.5)
        assert await b.ask(Add(1)) == 1
    assert outcomes == ["ActorStopped"]


async def test_a_start_that_asks_a_later_sibling_fails_immediately_on_a_restart_too() -> None:
    asks: list[str] = []

    class Eager(Counter):
        async def started(self) -> None:
            try:
                await later.ask(Add(1))
            except ActorStopped as error:
                asks.append(str(error))

    root = supervisor("all_for_one")
    eager = root.add(ActorSpec("eager", Eager, backoff=QUICK))
    later = root.add(spec("later"))
    async with root.running():
        await eager.tell(Crash())
        begun = trio.current_time()
        assert await eager.ask(Add(1)) == 1
        assert trio.current_time() - begun == pytest.approx(1)
    assert "is not started" in asks[0]
    assert "is restarted together with its siblings" in asks[1]


async def test_an_ask_to_one_in_backoff_ends_when_the_shutdown_begins() -> None:
    root = supervisor()
    a = root.add(
        ActorSpec("a", Counter, backoff=Backoff(first=1000, maximum=1000), drain_timeout=math.inf)
    )
    b = root.add(spec("b", drain=math.inf))
    async with trio.open_nursery() as nursery:
        async with root.running():
            await a.tell(Crash())
            await wait_all_tasks_blocked()

            async def ask_through() -> None:
                with pytest.raises(ActorCrashed):
                    await b.ask(Relay(a, Add(1)))

            nursery.start_soon(ask_through)
            await wait_all_tasks_blocked()
            begun = trio.current_time()
        assert trio.current_time() == begun


@pytest.mark.parametrize("strategy", ["rest_for_one", "all_for_one"])
async def test_a_restart_continues_when_the_child_it_waits_for_is_stopped_by_name(
    strategy: Strategy,
) -> None:
    root = supervisor(strategy, restarts=100)
    a, b, c = [root.add(spec(name)) for name in "abc"]
    async with root.running():
        async with trio.open_nursery() as nursery:
            await b.tell(Crash(after=1))
            await a.tell(Crash(after=1))
            await trio.sleep(1)
            nursery.start_soon(root.stop_child, "b")
        assert await a.ask(Add(1), timeout=100) == 1
        assert await c.ask(Add(1), timeout=100) == 1


async def test_a_temporary_sibling_is_not_restarted_with_the_others() -> None:
    root = supervisor("all_for_one")
    a = root.add(spec("a"))
    b = root.add(spec("b", restart="temporary"))
    async with root.running():
        assert await b.ask(Add(1)) == 1
        await a.tell(Crash())
        await trio.sleep(10)
        assert await a.ask(Add(1)) == 1
        with pytest.raises(ActorStopped):
            await b.ask(Add(1))


async def test_the_end_of_another_one_does_not_cut_a_backoff_short() -> None:
    async def ends(worker: WorkerContext) -> None:
        await trio.sleep(2)

    root = supervisor("rest_for_one")
    root.add(WorkerSpec("job", ends, restart="transient"))
    a = root.add(ActorSpec("a", Counter, backoff=Backoff(first=20, jitter=0)))
    async with root.running():
        await a.tell(Crash())
        begun = trio.current_time()
        assert await a.ask(Add(1)) == 1
        assert trio.current_time() - begun == pytest.approx(20)


async def test_stopping_before_the_block_begins_is_reported_clearly() -> None:
    async def never_ready(worker: WorkerContext) -> None:
        await trio.sleep_forever()

    root = supervisor()
    root.add(WorkerSpec("stuck", never_ready, reports_ready=True, start_timeout=1000))

    async def run() -> None:
        with pytest.raises(ActorStopped, match="root was stopped before it was ready"):
            async with root.running():
                pytest.fail("the block must not begin")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        await wait_all_tasks_blocked()
        await root.stop()


async def test_the_context_of_an_ended_incarnation_raises() -> None:
    contexts: list[ActorContext] = []

    class Leaky(Counter):
        async def started(self) -> None:
            contexts.append(self.context)

    root = supervisor()
    ref = root.add(ActorSpec("a", Leaky, backoff=QUICK))
    async with root.running():
        await ref.tell(Crash())
        await ref.ask(Add(1))
        for use in (contexts[0].stop, lambda: contexts[0].schedule_once(1, Note("late"))):
            with pytest.raises(RuntimeError, match="this incarnation of root/a has ended"):
                use()
        assert await ref.ask(Add(1)) == 2


async def test_a_subtree_that_is_stopped_before_its_first_step_ends() -> None:
    root = supervisor("all_for_one", restarts=100)
    a = root.add(spec("a"))
    branch = root.add(SupervisorSpec("sub", backoff=Backoff(first=0, jitter=0)))
    b = branch.add(spec("b"))
    async with root.running():
        for _ in range(3):
            await a.tell(Crash())
            await b.tell(Crash())
            assert await a.ask(Add(1), timeout=1000) == 1
            assert await b.ask(Add(1), timeout=1000) == 1


@pytest.mark.explore(schedules=500)
async def test_cancelling_in_the_midst_of_restarts_ends_cleanly() -> None:
    random = scenario_random()
    root = supervisor(random.choice(["rest_for_one", "all_for_one", "one_for_one"]), restarts=100)
    refs = [
        root.add(ActorSpec(name, Counter, backoff=Backoff(first=0, jitter=0))) for name in "abcd"
    ]
    with trio.CancelScope() as scope:
        async with root.running():
            for ref in refs:
                ref.tell_nowait(Crash())
            for _ in range(random.randrange(12)):
                await trio.lowlevel.checkpoint()
            scope.cancel()
            await trio.lowlevel.checkpoint()
    assert scope.cancelled_caught
    for ref in refs:
        with pytest.raises(ActorStopped):
            await ref.ask(Add(1))
