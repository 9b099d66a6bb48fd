"""Factories that can't work are reported where they are given, and never called again."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import trio
import trio.lowlevel
from greenroom import (
    Actor,
    ActorRef,
    ActorSpec,
    ActorStopped,
    Backoff,
    Directory,
    DirectorySpec,
    InvalidActor,
    Runtime,
    Strategy,
    Supervisor,
    SupervisorSpec,
    WorkerSpec,
)
from greenroom.specs import actor_class_of

from .actors import Add, Counter, CounterMessage, Recorder

explored = pytest.mark.explore(schedules=20)


class Keyed(Counter):
    def __init__(self, key: str) -> None:
        super().__init__(name=key)


def plain() -> Counter:
    return Counter()


named: Callable[..., Counter] = Counter


class Abstract(Counter, ABC):
    @property
    @abstractmethod
    def size(self) -> int: ...


async def made_later() -> Counter:
    return Counter()


def made_later_by_call() -> object:
    return made_later()


def worker_without_a_context() -> None:
    pass


def spec(factory: Any) -> ActorSpec[Any]:  # noqa: ANN401 - whatever a caller may give
    return ActorSpec("a", factory)


def directory(factory: Any) -> DirectorySpec[Any, Any]:  # noqa: ANN401
    return DirectorySpec("d", factory)


def worker(run: Any) -> WorkerSpec:  # noqa: ANN401
    return WorkerSpec("w", run)


@pytest.mark.parametrize(
    ("make", "factory", "text"),
    [
        (spec, 3, r"^ActorSpec\.factory must be callable, not 3$"),
        (spec, Counter(), r"^ActorSpec\.factory must be callable, not <"),
        (
            spec,
            Keyed,
            r"factory is called with no argument, but Keyed\(.*missing a required argument: 'key'$",
        ),
        (spec, lambda key: Counter(), "is called with no argument"),
        (
            spec,
            partial(named, [], "a", "b"),
            "ActorSpec.factory can't be called: .* incorrect arguments",
        ),
        (directory, plain, "is called with the argument key"),
        (directory, partial(Keyed, "a"), "is called with the argument key"),
        (worker, worker_without_a_context, "is called with the argument context"),
        (spec, made_later, "made_later is an async function; load state in the actor's started"),
        (spec, partial(made_later), "made_later is an async function"),
        (spec, dict, "dict does not derive from it"),
        (spec, partial(dict), "dict does not derive from it"),
        (directory, str, "str does not derive from it"),
        (spec, Abstract, "the class Abstract is abstract"),
        (spec, Actor, "defines neither handle nor handle_batch"),
    ],
)
def test_a_factory_that_cannot_work_is_refused_with_its_specification(
    make: Callable[[object], object], factory: object, text: str
) -> None:
    with pytest.raises(TypeError, match=text):
        make(factory)


@pytest.mark.parametrize(
    ("make", "factory"),
    [
        (spec, Counter),
        (spec, partial(Counter, name="a")),
        (spec, partial(Keyed, "a")),
        (spec, plain),
        (spec, lambda *arguments: Counter()),
        (directory, Keyed),
        (directory, lambda key, more=1: Counter()),
        (worker, trio.sleep),
        (worker, asyncio.sleep),
    ],
)
def test_a_factory_that_may_work_is_accepted(
    make: Callable[[object], object], factory: object
) -> None:
    make(factory)


def test_the_class_of_a_factory_is_known_if_it_is_a_class() -> None:
    assert actor_class_of(Counter) is Counter
    assert actor_class_of(partial(partial(Keyed), "a")) is Keyed
    assert actor_class_of(plain) is None
    assert actor_class_of(dict) is None


@explored
@pytest.mark.parametrize("strategy", ["one_for_one", "rest_for_one", "all_for_one"])
async def test_a_factory_that_returns_no_actor_ends_the_program_without_a_restart(
    strategy: Strategy,
) -> None:
    calls: list[str] = []

    def factory() -> Counter:
        calls.append("called")
        return "no actor"  # type: ignore[return-value]

    recorder = Recorder()
    root = Supervisor("root", strategy=strategy, runtime=Runtime(observer=recorder))
    branch = root.add(SupervisorSpec("sub", strategy=strategy))
    branch.add(ActorSpec("good", Counter))
    branch.add(ActorSpec("bad", factory))
    with pytest.raises(InvalidActor) as caught:
        await root.run()
    assert str(caught.value) == (
        "the factory of root/sub/bad returned 'no actor', which is not an Actor; it is not called"
        " again. The message was not executed."
    )
    assert isinstance(caught.value, TypeError)
    assert calls == ["called"]
    assert "root/sub escalated" in recorder.lines
    assert "root escalated" in recorder.lines


@explored
async def test_a_child_added_while_running_reports_the_error_to_its_caller_only() -> None:
    root = Supervisor("root", runtime=Runtime(observer=Recorder()))
    good = root.add(ActorSpec("good", Counter))
    async with root.running():
        with pytest.raises(InvalidActor, match="root/bad returned None"):
            await root.start_child(ActorSpec("bad", lambda: None))  # type: ignore[arg-type, return-value]
        assert await good.ask(Add(1)) == 1
        assert [child.name for child in root.tree().children] == ["good"]


@explored
async def test_a_coroutine_in_place_of_an_actor_is_closed() -> None:
    root = Supervisor("root", runtime=Runtime(observer=Recorder()))
    root.add(ActorSpec("bad", made_later_by_call))  # type: ignore[arg-type]
    with pytest.raises(InvalidActor, match="returned <coroutine object made_later"):
        await root.run()


@explored
async def test_askers_of_a_key_without_an_actor_are_refused_and_other_keys_work() -> None:
    calls: list[str] = []

    def factory(key: str) -> Counter:
        calls.append(key)
        return Counter() if key == "good" else None  # type: ignore[return-value]

    recorder = Recorder()
    root = Supervisor("root", runtime=Runtime(observer=recorder))
    keys = root.add(DirectorySpec("keys", factory, backoff=Backoff(first=1, jitter=0)))
    refused: list[str] = []

    async def ask() -> None:
        with pytest.raises(InvalidActor, match="root/keys/bad returned None"):
            await keys.ask("bad", Add(1))
        refused.append("bad")

    async with root.running():
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(ask)
        assert len(refused) == 3
        assert calls.count("bad") <= 3, "once for each ask that came later, and never by itself"
        before = len(calls)
        await trio.sleep(1000)
        assert len(calls) == before
        assert keys.statistics().quarantined == 0
        assert await keys.ask("good", Add(1)) == 1
    assert not [line for line in recorder.lines if "restarts in" in line]


@explored
async def test_a_factory_that_raises_is_tried_again() -> None:
    calls: list[int] = []

    def factory() -> Counter:
        calls.append(1)
        if len(calls) < 3:
            raise OSError("no disk yet")
        return Counter()

    root = Supervisor("root", runtime=Runtime(observer=Recorder()))
    ref = root.add(ActorSpec("a", factory))
    async with root.running():
        assert await ref.ask(Add(1)) == 1


@explored
async def test_the_siblings_in_a_tree_that_ends_are_refused() -> None:
    root = Supervisor("root", runtime=Runtime(observer=Recorder()))
    good: ActorRef[CounterMessage] = root.add(ActorSpec("good", Counter))
    keys: Directory[str, CounterMessage] = root.add(DirectorySpec("keys", Keyed))
    root.add(ActorSpec("bad", lambda: None))  # type: ignore[arg-type, return-value]
    with pytest.raises(InvalidActor):
        await root.run()
    with pytest.raises(ActorStopped):
        await good.ask(Add(1))
    with pytest.raises(ActorStopped):
        await keys.ask("a", Add(1))
