"""The storage actor: what callers learn, whatever happens to it and to them."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from greenroom import ActorRef, Intensity, Observer, Refusal, Runtime, Supervisor
from greenroom.testing import Fault, FaultPlan
from outcome import Outcome
from trio.testing import wait_all_tasks_blocked

from octavo.actors.group_commit import (
    BATCH_LIMIT,
    MAILBOX_CAPACITY,
    GroupCommit,
    Write,
    storage_spec,
)
from octavo.store import Script, StoreFull, StoreUnavailable, Transaction
from octavo.store.sqlite import InlineStore
from tests.store.conformance import adding, fetching, identities, incrementing


class Watched(InlineStore):
    """An inline store that counts, and can be held or made to fail."""

    def __init__(self) -> None:
        super().__init__(None)
        self.batches: list[int] = []
        self.released = trio.Event()
        self.released.set()

    def hold(self) -> None:
        self.released = trio.Event()

    async def write_batch(self, scripts: Sequence[Script[Any]]) -> list[Outcome[Any]]:
        self.batches.append(len(scripts))
        outcomes: list[Outcome[Any]] = []
        with trio.CancelScope(shield=True):
            await self.released.wait()
            outcomes = await super().write_batch(scripts)
        return outcomes  # noqa: RET504  # for the type checker, a scope may end early


class Quiet(Observer):
    def crashed(self, path: str, error: BaseException) -> None:
        pass

    def restarting(self, path: str, delay: float) -> None:
        pass


Running = tuple[GroupCommit, Watched, ActorRef[Write[Any]]]


@asynccontextmanager
async def running(faults: FaultPlan | None = None) -> AsyncIterator[Running]:
    engine = Watched()
    root = Supervisor("test", runtime=Runtime(faults=faults, observer=Quiet()))
    actor = root.add(storage_spec(engine))
    async with root.running():
        yield GroupCommit(actor, engine), engine, actor
    engine.close()


async def test_waiting_writes_form_one_batch() -> None:
    async with running() as (store, engine, _), trio.open_nursery() as nursery:
        engine.hold()
        nursery.start_soon(store.write, adding("first"))
        await wait_all_tasks_blocked()
        for number in range(BATCH_LIMIT + 1):
            nursery.start_soon(store.write, adding(f"{number:04}"))
        await wait_all_tasks_blocked()
        engine.released.set()
    assert engine.batches == [1, BATCH_LIMIT, 1]


class No(Refusal):
    pass


@pytest.mark.parametrize(
    "error",
    [No("no"), ValueError("no"), StoreFull("no"), ExceptionGroup("no", [ValueError(), KeyError()])],
    ids=repr,
)
async def test_exception_of_a_script_reaches_its_caller_and_the_actor_continues(
    error: Exception,
) -> None:
    async def raising(_transaction: Transaction) -> None:
        raise error

    caught: list[Exception] = []

    async def ask(store: GroupCommit) -> None:
        try:
            await store.write(raising)
        except Exception as raised:  # noqa: BLE001 - whatever it is
            caught.append(raised)

    async with running() as (store, _, _):
        async with trio.open_nursery() as nursery:
            for identity in "abc":
                nursery.start_soon(store.write, adding(identity))
                nursery.start_soon(ask, store)
        assert caught == [error] * 3
        assert await identities(store) == ["a", "b", "c"]


@pytest.mark.parametrize("taken", [False, True])
async def test_cancelled_caller_has_no_effect_before_its_script_starts_and_full_effect_after(
    taken: bool,
) -> None:
    async with running() as (store, engine, _):
        engine.hold()
        async with trio.open_nursery() as nursery:
            if not taken:
                nursery.start_soon(store.write, adding("ahead"))
                await wait_all_tasks_blocked()
            scope = trio.CancelScope()

            async def leave() -> None:
                with scope:
                    await store.write(adding("left"))

            nursery.start_soon(leave)
            await wait_all_tasks_blocked()
            scope.cancel()
            await wait_all_tasks_blocked()
            engine.released.set()
        await store.write(adding("behind"))
        assert await identities(store) == (["behind", "left"] if taken else ["ahead", "behind"])


async def test_full_mailbox_is_busy_and_nothing_was_written(autojump_clock: object) -> None:
    async with running() as (store, engine, _):
        engine.hold()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.write, adding("first"))
            await wait_all_tasks_blocked()
            for number in range(MAILBOX_CAPACITY):
                nursery.start_soon(store.write, adding(str(number)))
            await wait_all_tasks_blocked()
            with pytest.raises(StoreUnavailable, match="too many pending writes") as caught:
                await store.write(adding("late"))
            nursery.cancel_scope.cancel()
            engine.released.set()
        assert not caught.value.outcome_unknown


@pytest.mark.parametrize(
    ("point", "kept"), [("storage.before_commit", []), ("storage.after_commit", ["a"])]
)
async def test_crash_at_a_point_leaves_the_outcome_unknown_and_the_actor_recovers(
    point: str, kept: list[str], autojump_clock: object
) -> None:
    async with running(FaultPlan(0, [Fault("crash", point, times=1)])) as (store, _, _):
        with pytest.raises(StoreUnavailable) as caught:
            await store.write(adding("a"))
        assert caught.value.outcome_unknown
        assert await identities(store) == kept
        await store.write(adding("b"))
        assert await identities(store) == [*kept, "b"]


async def test_stopped_actor_reports_that_nothing_was_written() -> None:
    async with running() as (store, _, _):
        pass
    with pytest.raises(StoreUnavailable, match="nothing was written") as caught:
        await store.write(adding("a"))
    assert not caught.value.outcome_unknown


@pytest.mark.explore(schedules=200)
async def test_counter_under_any_schedule_and_crashes_counts_acknowledged_writes() -> None:
    plan = FaultPlan(
        3,
        [
            Fault("crash", "storage.before_commit", probability=0.1),
            Fault("crash", "storage.after_commit", probability=0.1),
            Fault("lose reply", "actor.reply", probability=0.1),
        ],
    )
    acknowledged: list[int] = []
    unknown = 0
    engine = Watched()
    await engine.write(adding("a"))
    patient = Intensity(restarts=100, period=1)
    root = Supervisor("test", intensity=patient, runtime=Runtime(faults=plan, observer=Quiet()))
    store = GroupCommit(root.add(storage_spec(engine)), engine)

    async def client() -> None:
        nonlocal unknown
        for _ in range(3):
            try:
                acknowledged.append(await store.write(incrementing("a")))
            except StoreUnavailable as error:
                unknown += error.outcome_unknown

    async with root.running(), trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(client)
    [(position,)] = await engine.read(fetching("SELECT position FROM workspaces"))
    assert len(set(acknowledged)) == len(acknowledged) <= position
    assert position <= len(acknowledged) + unknown
    engine.close()
