"""A message that an actor's class does not handle is refused where it is sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar, Union

import pytest
import trio
from greenroom import (
    Actor,
    ActorRef,
    ActorSpec,
    Directory,
    DirectorySpec,
    Down,
    Envelope,
    Message,
    MessageTypeError,
    Runtime,
    Supervisor,
)

from .actors import Add, Counter, Ledger, Note, Passing, Put, Recorder, Words

T = TypeVar("T")

explored = pytest.mark.explore(schedules=20)

TEXT = (
    "root/counter is an actor of class Counter and does not handle Put, only Add, Crash, Nap, Note,"
    " Refuse, Relay, Words; send the message to another actor, or add Put to the parameter of"
    " Actor[...] in the bases of Counter and handle it. Nothing was sent."
)


class ByKey(Counter):
    def __init__(self, key: str) -> None:
        super().__init__(name=key)


def by_key(key: str) -> ByKey:
    return ByKey(key)


def untyped(ref: ActorRef[Any]) -> ActorRef[Any]:
    """Return ``ref`` without its type, as a caller without a type checker has it."""
    return ref


async def send_ask(ref: ActorRef[Any]) -> None:
    await ref.ask(Put("x"))


async def send_tell(ref: ActorRef[Any]) -> None:
    await ref.tell(Put("x"))  # type: ignore[arg-type]


async def send_tell_nowait(ref: ActorRef[Any]) -> None:
    ref.tell_nowait(Put("x"))  # type: ignore[arg-type]


@explored
@pytest.mark.parametrize("send", [send_ask, send_tell, send_tell_nowait])
async def test_the_sender_gets_an_error_that_names_both_classes(
    send: Callable[[ActorRef[Any]], Awaitable[None]],
) -> None:
    recorder = Recorder()
    root = Supervisor("root", runtime=Runtime(observer=recorder))
    ref = root.add(ActorSpec("counter", Counter))
    async with root.running():
        with pytest.raises(MessageTypeError) as caught:
            await send(ref)
        assert str(caught.value) == TEXT
        assert isinstance(caught.value, TypeError)
        assert await ref.ask(Add(1)) == 1, "the actor did not notice"
    assert recorder.lines == ["root/counter started", "root/counter stopped"]


@explored
async def test_a_non_message_is_refused() -> None:
    root = Supervisor("root")
    ref: ActorRef[Any] = root.add(ActorSpec("counter", Counter))
    async with root.running():
        with pytest.raises(MessageTypeError, match="does not handle str, only Add"):
            await ref.ask("add")  # type: ignore[arg-type]


@explored
async def test_a_sleeping_key_is_not_activated_by_a_wrong_message() -> None:
    root = Supervisor("root")
    keys: Directory[str, Any] = root.add(DirectorySpec("keys", ByKey))
    async with root.running():
        with pytest.raises(MessageTypeError, match="root/keys/a is an actor of class ByKey"):
            await keys.ask("a", Put("x"))
        assert keys.statistics().activations == 0
        assert await keys.ask("a", Add(2)) == 2


@explored
@pytest.mark.parametrize("capacity", [1, 10])
async def test_messages_sent_before_the_class_is_known_are_refused_at_the_first_start(
    capacity: int,
) -> None:
    recorder = Recorder()
    root = Supervisor("root", runtime=Runtime(observer=recorder))
    keys: Directory[str, Any] = root.add(
        DirectorySpec("keys", by_key, mailbox_capacity=capacity, max_awake=1)
    )
    errors: list[str] = []
    replies: list[int] = []

    async def wrong() -> None:
        with pytest.raises(MessageTypeError, match="root/keys/b is an actor of class ByKey"):
            await keys.ask("b", Put("x"), admission=100)
        errors.append("ask")

    async def right() -> None:
        replies.append(await keys.ask("b", Add(1), admission=100))

    async with root.running(), trio.open_nursery() as nursery:
        await keys.tell("b", Put("x"))  # type: ignore[arg-type]
        for task in (wrong, right, wrong, right):
            nursery.start_soon(task)
    assert (len(errors), sorted(replies)) == (2, [1, 2])
    logged = [line for line in recorder.lines if "unheard" in line]
    assert logged == ["root/keys/b refused Put(line='x') unheard"]


@explored
async def test_a_class_that_only_an_incarnation_shows_is_checked_at_the_sender_too() -> None:
    root = Supervisor("root")
    ref: ActorRef[Any] = root.add(ActorSpec("counter", lambda: Counter()))  # noqa: PLW0108
    async with root.running():
        with pytest.raises(MessageTypeError):
            ref.tell_nowait(Put("x"))  # type: ignore[arg-type]


@explored
async def test_a_timer_and_a_notice_of_the_wrong_type_are_refused() -> None:
    errors: list[str] = []

    class Timed(Counter):
        async def started(self) -> None:
            with pytest.raises(MessageTypeError):
                self.context.schedule_once(1, Put("x"))  # type: ignore[arg-type]
            with pytest.raises(MessageTypeError):
                self.context.schedule_every(1, Put("x"))  # type: ignore[arg-type]
            errors.append("both")

    root = Supervisor("root")
    root.add(ActorSpec("timed", Timed))
    async with root.running():
        pass
    assert errors == ["both"]


@explored
async def test_a_notice_of_the_wrong_type_is_logged_and_dropped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.clear()

    class Watching(Counter):
        async def started(self) -> None:
            self.context.monitor(watched, notice)

    def notice(down: Down) -> Message[None]:
        return Put("down")  # type: ignore[return-value]

    root = Supervisor("root", runtime=Runtime(observer=Recorder()))
    watched = root.add(ActorSpec("watched", Counter, restart="temporary"))
    watching = root.add(ActorSpec("watching", Watching))
    async with root.running():
        await root.stop_child("watched")
        assert await watching.ask(Add(1)) == 1
    assert "root/watching is an actor of class Watching and does not handle Put" in caplog.text


class Doubling(Counter):
    pass


class Plain(Message[None]):
    pass


class Derived(Plain):
    pass


class Box(Message[int], Generic[T]):
    pass


class Shape(Protocol):
    size: int


class Plainly(Actor[Plain]):
    async def handle(self, message: Plain) -> None:
        pass


class ByName(Actor["Plain | Box[int]"]):
    async def handle(self, message: object) -> None:
        pass


class ByUnion(Actor[Union[Plain, "Add", Box[int]]]):
    async def handle(self, message: object) -> None:
        pass


class Base(Actor[T], Generic[T]):
    async def handle(self, message: T) -> None:
        pass


class Filled(Base[Plain]):
    pass


class FilledByName(Passing["Plain"]):
    """Its message is known in this module, and not in that of its base."""


class Several(Actor[T | Add], Generic[T]):
    async def handle_batch(self, batch: Sequence[Envelope[T | Add]]) -> None:
        pass


class SeveralFilled(Several[Plain]):
    pass


class Mixin:
    pass


class Mixed(Mixin, Filled):
    pass


class Anything(Actor[Any]):
    async def handle(self, message: object) -> None:
        pass


class Bare(Actor):  # type: ignore[type-arg]
    async def handle(self, message: object) -> None:
        pass


class Unresolved(Actor["Nowhere"]):  # type: ignore[name-defined]
    async def handle(self, message: object) -> None:
        pass


class Structural(Actor[Shape]):
    async def handle(self, message: Shape) -> None:
        pass


@pytest.mark.parametrize(
    ("actor", "handled"),
    [
        (Counter, {"Add", "Note", "Words", "Nap", "Refuse", "Crash", "Relay"}),
        (Ledger, {"Put", "FailBatch"}),
        (Plainly, {"Plain"}),
        (ByName, {"Plain", "Box"}),
        (ByUnion, {"Plain", "Add", "Box"}),
        (Filled, {"Plain"}),
        (FilledByName, {"Plain"}),
        (SeveralFilled, {"Plain", "Add"}),
        (Mixed, {"Plain"}),
        (Doubling, {"Add", "Note", "Words", "Nap", "Refuse", "Crash", "Relay"}),
        (Anything, None),
        (Base, None),
        (Several, None),
        (Bare, None),
        (Unresolved, None),
        (Structural, None),
        (Actor, None),
    ],
)
def test_the_parameter_of_actor_declares_its_messages(
    actor: type[Actor[Any]], handled: set[str] | None
) -> None:
    types = actor.message_types().handled
    assert (None if types is None else {cls.__name__ for cls in types}) == handled


@pytest.mark.parametrize("message", [Plain(), Derived()])
def test_messages_of_a_derived_class_are_handled(message: object) -> None:
    Plainly.message_types().require(message, "root/plainly")


def test_an_actor_without_a_declaration_accepts_everything() -> None:
    Anything.message_types().require("whatever", "root/anything")


def test_the_declaration_is_read_once_for_each_class() -> None:
    assert Counter.message_types() is Counter.message_types()
    assert Counter.message_types() is not Doubling.message_types()


def test_a_message_of_another_class_is_refused() -> None:
    with pytest.raises(MessageTypeError, match="does not handle Note, only Plain"):
        Plainly.message_types().require(Note("x"), "root/plainly")
    with pytest.raises(MessageTypeError, match="does not handle Words"):
        Filled.message_types().require(Words(), "root/filled")
