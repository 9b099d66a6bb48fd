"""Small actors for the tests of the core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import trio
from greenroom import Actor, ActorRef, Envelope, Message, Observer, Refusal, Reply, StopReason

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Add(Message[int]):
    """Add to the total; the result is the new total."""

    amount: int = 1


@dataclass(frozen=True, slots=True)
class Note(Message[None]):
    """Record a word; without a result."""

    word: str


@dataclass(frozen=True, slots=True)
class Words(Message[tuple[str, ...]]):
    """Return the words recorded so far by this incarnation."""


@dataclass(frozen=True, slots=True)
class Nap(Message[str]):
    """Sleep, then reply "rested"."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Refuse(Message[None]):
    """Refuse this message."""


@dataclass(frozen=True, slots=True)
class Crash(Message[None]):
    """Make the handler fail, after a while."""

    after: float = 0.0
    error: Callable[[], BaseException] = ValueError


@dataclass(frozen=True, slots=True)
class Relay(Message[int]):
    """Ask another counter to add."""

    to: ActorRef[Any]
    message: Message[int]


CounterMessage = Add | Note | Words | Nap | Refuse | Crash | Relay


class Declined(Refusal):
    """The refusal used by the tests."""


class Counter(Actor[CounterMessage]):
    """Adds up in memory; can sleep, refuse and crash on request."""

    def __init__(self, log: list[str] | None = None, name: str = "counter") -> None:
        self.total = 0
        self.words: list[str] = []
        self.log = log if log is not None else []
        self.name = name

    async def started(self) -> None:
        self.log.append(f"{self.name} started")

    async def stopping(self, reason: StopReason) -> None:
        self.log.append(f"{self.name} {reason}")

    async def handle(self, message: CounterMessage) -> Reply:
        match message:
            case Add():
                self.total += message.amount
                return message.reply(self.total)
            case Note():
                self.words.append(message.word)
                self.log.append(message.word)
                return message.reply(None)
            case Words():
                return message.reply(tuple(self.words))
            case Nap():
                await trio.sleep(message.seconds)
                return message.reply("rested")
            case Refuse():
                raise Declined("no")
            case Crash():
                await trio.sleep(message.after)
                raise message.error()
            case Relay():
                return message.reply(await message.to.ask(message.message))


@dataclass(frozen=True, slots=True)
class Put(Message[int]):
    """Write a line; the result is the number of lines in its batch."""

    line: str


@dataclass(frozen=True, slots=True)
class FailBatch(Message[int]):
    """Make the whole batch fail: crash, refuse, or leave an ask without a reply."""

    how: str


class Ledger(Actor[Put | FailBatch]):
    """Handles batches."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    async def handle_batch(self, batch: Sequence[Envelope[Put | FailBatch]]) -> None:
        await trio.sleep(1)
        lines = [item.message.line for item in batch if isinstance(item.message, Put)]
        self.batches.append(lines)
        for item in batch:
            message = item.message
            if isinstance(message, Put):
                item.reply(message.reply(len(batch)))
            elif message.how == "refuse one":
                item.refuse(Declined("this one"))
            elif message.how != "forget":
                raise Declined("all") if message.how == "refuse all" else ValueError("spoiled")


class Recorder(Observer):
    """Records events as lines of text."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def started(self, path: str) -> None:
        self.lines.append(f"{path} started")

    def ended(self, path: str, reason: str) -> None:
        self.lines.append(f"{path} {reason}")

    def crashed(self, path: str, error: BaseException) -> None:
        self.lines.append(f"{path} crashed: {error!r}")

    def restarting(self, path: str, delay: float) -> None:
        self.lines.append(f"{path} restarts in {delay:g}")

    def escalated(self, path: str, error: BaseException) -> None:
        self.lines.append(f"{path} escalated")

    def quarantined(self, path: str, retry_after: float) -> None:
        self.lines.append(f"{path} quarantined for {retry_after:g}")

    def recovered(self, path: str) -> None:
        self.lines.append(f"{path} recovered")

    def tell_refused(self, path: str, message: object, error: BaseException) -> None:
        self.lines.append(f"{path} refused {message!r} unheard")


class Passing(Actor[T], Generic[T]):
    """Handles what a class of another module declares."""

    async def handle(self, message: T) -> None:
        pass
