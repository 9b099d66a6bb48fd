"""The assumptions of the private hook about trio, each tested by itself.

A failure here names what a new release of trio has changed.
"""

import gc
import random
import threading
from collections import deque
from types import ModuleType
from typing import Any

import pytest
import trio
import trio._core._run as run_loop
from greenroom.testing import run_deterministic
from greenroom.testing.trio_scheduler import (
    TURNS_WITHOUT_IO,
    ControlledScheduler,
    UnsupportedTrio,
    controlled_scheduler,
    drawn_cancellation,
    lift_shields,
    require_batch,
    require_module,
)


def as_given(runnable: list[int]) -> list[int]:
    return runnable


async def nothing() -> None:
    pass


class Steps(trio.abc.Instrument):
    """Return the names of tasks in the order of their steps."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.names.append(task.name)


async def three_siblings() -> None:
    async def sibling() -> None:
        await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        for name in "abc":
            nursery.start_soon(sibling, name=name)


def siblings_of(names: list[str]) -> str:
    return "".join(name for name in names if name in "abc")


def test_trio_keeps_its_generator_in_the_run_loop_module() -> None:
    assert isinstance(run_loop._r, random.Random), "_run._r is no random.Random any more"


def test_trio_has_a_flag_that_makes_it_shuffle_every_batch() -> None:
    assert isinstance(run_loop._ALLOW_DETERMINISTIC_SCHEDULING, bool), "the flag is gone"


def test_trio_shuffles_each_batch_as_a_list_of_tasks_with_counter_and_run_queue() -> None:
    batches: list[Any] = []

    class Watching(ControlledScheduler):
        def shuffle(self, x: Any) -> None:  # noqa: ANN401
            batches.append(list(x))

    original, flag = run_loop._r, run_loop._ALLOW_DETERMINISTIC_SCHEDULING
    watching = Watching(as_given, 0, original)
    run_loop_names: Any = run_loop
    run_loop_names._r, run_loop_names._ALLOW_DETERMINISTIC_SCHEDULING = watching, True
    try:
        trio.run(three_siblings)
    finally:
        run_loop_names._r, run_loop_names._ALLOW_DETERMINISTIC_SCHEDULING = original, flag

    assert batches, "the run loop does not call _r.shuffle"
    assert any(len(batch) > 2 for batch in batches), "siblings are not shuffled together"
    for batch in batches:
        require_batch(batch)


def test_trio_sorts_a_batch_by_spawning_before_it_shuffles() -> None:
    counters: list[list[int]] = []

    class Watching(random.Random):
        def shuffle(self, x: Any) -> None:  # noqa: ANN401
            counters.append([task._counter for task in x])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_loop, "_r", Watching())
        patch.setattr(run_loop, "_ALLOW_DETERMINISTIC_SCHEDULING", True)
        trio.run(three_siblings)

    assert counters == [sorted(batch) for batch in counters], "batches come in another order"


def test_the_run_loop_steps_a_batch_from_its_end() -> None:
    steps = Steps()
    with controlled_scheduler(as_given):
        trio.run(three_siblings, instruments=[steps])
    assert siblings_of(steps.names) == "abcabc", "the run loop no longer pops from the end"


def test_deferred_tasks_are_runnable_in_the_next_turn() -> None:
    steps = Steps()

    def last_spawned_alone(runnable: list[int]) -> list[int]:
        return runnable[-1:]

    with controlled_scheduler(last_spawned_alone):
        trio.run(three_siblings, instruments=[steps])
    assert siblings_of(steps.names) == "ccbbaa", "the run queue no longer takes tasks back"


def test_a_turn_may_keep_every_task_back() -> None:
    turns = 0

    def every_other_turn(runnable: list[int]) -> list[int]:
        nonlocal turns
        turns += 1
        return runnable if turns % 2 else []

    steps = Steps()
    with controlled_scheduler(every_other_turn):
        trio.run(three_siblings, instruments=[steps])
    assert siblings_of(steps.names) == "abcabc", "a turn without a step loses tasks"


def test_tasks_are_numbered_and_named_by_their_first_appearance() -> None:
    seen: list[int] = []

    def note(runnable: list[int]) -> list[int]:
        seen.extend(runnable)
        return runnable

    with controlled_scheduler(note) as scheduler:
        trio.run(three_siblings)
    assert siblings_of(scheduler.names) == "abc"
    assert list(dict.fromkeys(seen)) == list(range(len(scheduler.names)))


def test_the_hook_is_still_needed_because_seeding_trio_leaves_the_order_to_it() -> None:
    """Show that `random.seed` is not enough; otherwise the hook could be removed."""
    assert run_loop._r is not getattr(random, "_inst", None), (
        "trio draws from the public generator: seed that, and drop the hook"
    )
    public = {
        name
        for name in (*dir(trio), *dir(trio.lowlevel), *dir(trio.testing))
        if "sched" in name.lower() and not name.startswith("_")
    }
    assert public == {"reschedule", "wait_task_rescheduled"}, (
        f"trio has grown something public about scheduling: {sorted(public)}"
    )
    parameters = trio.run.__code__.co_varnames[: trio.run.__code__.co_argcount + 6]
    assert not {"seed", "scheduler", "random"}.intersection(parameters), (
        "trio.run takes a scheduler or a seed: use it, and drop the hook"
    )


def test_trios_names_are_restored_after_the_block() -> None:
    before = run_loop._r, run_loop._ALLOW_DETERMINISTIC_SCHEDULING
    with controlled_scheduler(as_given):
        trio.run(nothing)
    assert (run_loop._r, run_loop._ALLOW_DETERMINISTIC_SCHEDULING) == before


def test_trios_names_are_restored_after_an_error() -> None:
    before = run_loop._r, run_loop._ALLOW_DETERMINISTIC_SCHEDULING

    async def fail() -> None:
        raise LookupError

    with pytest.raises(LookupError), controlled_scheduler(as_given):
        trio.run(fail)
    assert (run_loop._r, run_loop._ALLOW_DETERMINISTIC_SCHEDULING) == before


def test_an_error_of_the_choosing_function_leaves_the_block_unchanged() -> None:
    def fail(runnable: list[int]) -> list[int]:
        raise LookupError(runnable)

    with pytest.raises(LookupError), controlled_scheduler(fail):
        trio.run(nothing)


def test_seeded_numbers_besides_the_order_repeat() -> None:
    with controlled_scheduler(as_given, seed=7) as first:
        trio.run(nothing)
    with controlled_scheduler(as_given, seed=7) as second:
        trio.run(nothing)
    assert (first.random(), first.uniform(0, 9)) == (second.random(), second.uniform(0, 9))


def test_a_run_in_another_thread_is_not_affected() -> None:
    chosen: list[int] = []

    def note(runnable: list[int]) -> list[int]:
        chosen.extend(runnable)
        return runnable

    async def run_another() -> None:
        thread = threading.Thread(target=trio.run, args=(three_siblings,))
        thread.start()
        thread.join()

    with controlled_scheduler(note) as scheduler:
        trio.run(run_another)
    assert siblings_of(scheduler.names) == ""


async def spinning(ended: trio.Event) -> int:
    """Count the turns of a task that is always runnable, until ``ended``."""
    turns = 0
    while not ended.is_set():
        await trio.lowlevel.checkpoint()
        turns += 1
    return turns


def test_io_reaches_a_run_in_each_turn() -> None:
    async def main() -> int:
        ended = trio.Event()

        async def receive() -> None:
            assert await receiver.recv(1) == b"x"
            ended.set()

        sender, receiver = trio.socket.socketpair()
        with sender, receiver:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(receive)
                await trio.lowlevel.checkpoint()
                await sender.send(b"x")
                return await spinning(ended)

    with controlled_scheduler(as_given):
        assert trio.run(main) < TURNS_WITHOUT_IO / 4


def test_threads_reach_a_run_without_io() -> None:
    async def main() -> int:
        ended, token = trio.Event(), trio.lowlevel.current_trio_token()
        thread = threading.Thread(target=token.run_sync_soon, args=(ended.set,))
        thread.start()
        thread.join()
        return await spinning(ended)

    with controlled_scheduler(as_given):
        assert trio.run(main) < 2 * TURNS_WITHOUT_IO


def test_a_second_controller_is_refused() -> None:
    with controlled_scheduler(as_given):
        with (
            pytest.raises(RuntimeError, match="only one can at a time"),
            controlled_scheduler(as_given),
        ):
            pass
        trio.run(nothing)


def test_control_from_inside_a_run_is_refused() -> None:
    async def inside() -> None:
        with controlled_scheduler(as_given):
            pass

    with pytest.raises(RuntimeError, match="from inside a trio run"):
        trio.run(inside)


def test_shields_can_be_lifted_from_outside_the_task() -> None:
    async def main() -> None:
        async def shielded() -> None:
            with trio.CancelScope(shield=True):
                await trio.sleep_forever()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(shielded)
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
            lift_shields()

    trio.run(main)


@pytest.mark.parametrize("name", ["_r", "_ALLOW_DETERMINISTIC_SCHEDULING"])
def test_a_missing_name_of_the_run_loop_is_reported(name: str) -> None:
    changed = ModuleType("trio._core._run")
    changed.__dict__.update({"_r": random.Random(), "_ALLOW_DETERMINISTIC_SCHEDULING": False})
    delattr(changed, name)
    with pytest.raises(UnsupportedTrio, match=name):
        require_module(changed)


@pytest.mark.parametrize(
    ("batch", "message"),
    [(deque(), "a deque, not a list"), ([3], "holds a int, not a Task")],
)
def test_a_batch_of_another_shape_is_reported(batch: object, message: str) -> None:
    with pytest.raises(UnsupportedTrio, match=message):
        require_batch(batch)


def test_a_run_loop_that_never_asks_is_reported() -> None:
    with pytest.raises(UnsupportedTrio, match="without calling"), controlled_scheduler(as_given):
        pass


NAMES = "abcd"
SEEDS = range(150)


async def blocked(name: str, aborted: list[str]) -> None:
    def abort(_: object) -> trio.lowlevel.Abort:
        aborted.append(name)
        return trio.lowlevel.Abort.SUCCEEDED

    await trio.lowlevel.wait_task_rescheduled(abort)


async def one_scope() -> str:
    aborted: list[str] = []
    async with trio.open_nursery() as nursery:
        for name in NAMES:
            nursery.start_soon(blocked, name, aborted)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    return "".join(aborted)


async def inner_scopes() -> str:
    aborted: list[str] = []

    async def within(name: str) -> None:
        with trio.CancelScope():
            await blocked(name, aborted)

    async with trio.open_nursery() as nursery:
        for name in NAMES:
            nursery.start_soon(within, name)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    return "".join(aborted)


async def equal_deadlines() -> str:
    aborted: list[str] = []

    async def until(name: str) -> None:
        with trio.move_on_at(5):
            await blocked(name, aborted)

    async with trio.open_nursery() as nursery:
        for name in NAMES:
            nursery.start_soon(until, name)
    return "".join(aborted)


@pytest.mark.parametrize("scenario", [one_scope, inner_scopes, equal_deadlines])
def test_order_repeats_with_its_seed_in_any_memory(scenario: Any) -> None:  # noqa: ANN401
    orders = [run_deterministic(scenario, seed=seed).value for seed in SEEDS]
    # What is allocated now takes other addresses.
    junk = [bytearray(50 * number) for number in range(1000)]
    del junk[::2]
    gc.collect()
    assert [run_deterministic(scenario, seed=seed).value for seed in SEEDS] == orders
    assert len(set(orders)) == 24


async def test_block_leaves_trio_as_it_was() -> None:
    original = run_loop.CancelStatus
    with drawn_cancellation(run_loop, 0):
        assert run_loop.CancelStatus is not original
    assert run_loop.CancelStatus is original


def test_trio_without_sets_in_a_scope_is_unsupported() -> None:
    other: Any = ModuleType("run")
    other.CancelStatus = object
    with (
        pytest.raises(UnsupportedTrio, match="no sets of children and tasks"),
        drawn_cancellation(other, 0),
    ):
        pass


def test_trio_with_other_deadlines_is_unsupported() -> None:
    with (
        pytest.raises(UnsupportedTrio, match="not an empty heap"),
        drawn_cancellation(run_loop, 0) as draw_deadlines,
    ):
        draw_deadlines(object())
