"""Asks that could only end in a deadlock are refused, and no others."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import trio
from greenroom import (
    Actor,
    ActorCrashed,
    ActorRef,
    ActorSpec,
    AskCycle,
    DirectorySpec,
    Envelope,
    MailboxFull,
    Message,
    NotExecuted,
    Runtime,
    Supervisor,
)
from trio.testing import wait_all_tasks_blocked

from .actors import Recorder

pytestmark = pytest.mark.explore(schedules=50, early_time=False)


@dataclass(frozen=True, slots=True)
class Via(Message[str]):
    """Ask along a path of actors; the result is the names on the way."""

    path: tuple[ActorRef[Any], ...] = ()
    pause: float = 0.0
    aside: bool = False
    """Ask from a child task of the handler."""


@dataclass(frozen=True, slots=True)
class Hint(Message[None]):
    """Tell the actor itself, or another one, from the handler."""

    to: ActorRef[Any] | None = None


class Node(Actor[Via | Hint]):
    """Passes messages on."""

    def __init__(self, name: str, foreign: trio.Nursery | None = None) -> None:
        self.name = name
        self.foreign = foreign
        self.hints = 0

    async def handle(self, message: Via | Hint) -> str | None:
        if isinstance(message, Hint):
            self.hints += 1
            if message.to is not None:
                await message.to.tell(Hint())
            return None
        await trio.sleep(message.pause)
        if not message.path:
            return self.name
        target, rest = message.path[0], Via(message.path[1:], message.pause)
        if not message.aside:
            return self.name + await target.ask(rest)
        replies: list[str] = []

        async def ask() -> None:
            replies.append(await target.ask(rest))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
        return self.name + replies[0]


def tree(*names: str, capacity: int = 10) -> tuple[Supervisor, list[ActorRef[Via | Hint]]]:
    root = Supervisor("root", runtime=Runtime(observer=Recorder()))
    refs = [
        root.add(
            ActorSpec(name, lambda name=name: Node(name), mailbox_capacity=capacity)  # type: ignore[misc]
        )
        for name in names
    ]
    return root, refs


def cycle_in(error: BaseException | None) -> str:
    """The text of the AskCycle at the end of a chain of crashes."""
    while error is not None and not isinstance(error, AskCycle):
        error = error.__cause__
    assert isinstance(error, AskCycle), "no AskCycle in the chain of causes"
    assert isinstance(error, NotExecuted)
    return str(error)


async def test_a_chain_of_asks_is_no_circle() -> None:
    root, [a, b, c] = tree("a", "b", "c")
    async with root.running():
        assert await a.ask(Via((b, c))) == "abc"


@pytest.mark.parametrize("aside", [False, True])
async def test_an_actor_that_asks_itself_is_refused(aside: bool) -> None:
    root, [a] = tree("a")
    async with root.running():
        with pytest.raises(ActorCrashed) as caught:
            await a.ask(Via((a,), aside=aside))
        text = cycle_in(caught.value)
    assert "an actor can't ask itself" in text
    assert "root/a -> root/a" in text


async def test_a_circle_of_asks_is_refused_and_named() -> None:
    root, [a, b, c] = tree("a", "b", "c")
    async with root.running():
        with pytest.raises(ActorCrashed) as caught:
            await a.ask(Via((b, c, a)))
        assert "root/c -> root/a -> root/b -> root/c" in cycle_in(caught.value)
        assert await a.ask(Via((b,))) == "ab", "all are alive again"


async def test_mutual_concurrent_asks_do_not_deadlock() -> None:
    root, [a, b] = tree("a", "b")
    outcomes: list[str] = []

    async def ask(first: ActorRef[Via | Hint], then: ActorRef[Via | Hint]) -> None:
        try:
            outcomes.append(await first.ask(Via((then,), pause=1)))
        except ActorCrashed as error:
            cycle_in(error)
            outcomes.append("refused")

    async with root.running(), trio.open_nursery() as nursery:
        nursery.start_soon(ask, a, b)
        nursery.start_soon(ask, b, a)
    assert len(outcomes) == 2
    assert "refused" in outcomes


async def test_a_circle_through_a_directory_is_refused() -> None:
    root = Supervisor("root", runtime=Runtime(observer=Recorder()))
    keys = root.add(DirectorySpec[str, Via | Hint]("keys", Node))
    async with root.running():
        a, b = keys.ref("a"), keys.ref("b")
        assert await a.ask(Via((b,))) == "ab"
        with pytest.raises(ActorCrashed) as caught:
            await a.ask(Via((b, a)))
        assert "root/keys/b -> root/keys/a -> root/keys/b" in cycle_in(caught.value)


async def test_an_actor_may_tell_itself_until_its_mailbox_is_full() -> None:
    root, [a] = tree("a", capacity=1)
    async with root.running():
        await a.ask(Via())
        await a.tell(Hint(to=a))
        await wait_all_tasks_blocked()
        assert await a.ask(Via()) == "a"


async def test_telling_ones_own_full_mailbox_is_refused_immediately() -> None:
    recorder = Recorder()
    root = Supervisor("root", runtime=Runtime(observer=recorder))
    a = root.add(ActorSpec("a", lambda: Node("a"), mailbox_capacity=1, admission_timeout=60))
    async with root.running():
        a.tell_nowait(Hint(to=a))
        await trio.lowlevel.checkpoint()
        with contextlib.suppress(MailboxFull):
            while True:
                a.tell_nowait(Hint())
        begun = trio.current_time()
        await wait_all_tasks_blocked()
        assert trio.current_time() == begun


async def test_a_task_started_in_a_foreign_nursery_may_ask_the_actor_back() -> None:
    replies: list[str] = []

    class Starter(Node):
        async def handle(self, message: Via | Hint) -> str | None:
            if isinstance(message, Hint) and self.foreign is not None:
                self.foreign.start_soon(later)
                await trio.sleep(1)
                return None
            return await super().handle(message)

    async def later() -> None:
        replies.append(await ref.ask(Via()))

    root = Supervisor("root", runtime=Runtime(observer=Recorder()))
    async with trio.open_nursery() as nursery:
        ref = root.add(ActorSpec("a", lambda: Starter("a", nursery)))
        async with root.running():
            await ref.tell(Hint())
            await trio.sleep(2)
    assert replies == ["a"]


async def test_a_reply_before_the_ask_back_prevents_a_cycle() -> None:
    """b has replied to a; a's ask is over although a's task has not run yet."""
    root, [a, b] = tree("a", "b")
    async with root.running():
        for _ in range(5):
            assert await a.ask(Via((b,))) == "ab"
            assert await b.ask(Via((a,))) == "ba"


class EarlyReply(Actor[Via]):
    """Replies before it asks the actors on the path."""

    def __init__(self, replies: list[str]) -> None:
        self.replies = replies

    async def handle_batch(self, batch: Sequence[Envelope[Via]]) -> None:
        for envelope in batch:
            envelope.reply(envelope.message.reply("b"))
            for target in envelope.message.path:
                self.replies.append(await target.ask(Via()))


async def test_an_asker_that_has_its_reply_and_has_not_run_yet_may_be_asked() -> None:
    root, [a] = tree("a")
    replies: list[str] = []
    b = root.add(ActorSpec("b", lambda: EarlyReply(replies)))
    async with root.running():
        assert await a.ask(Via((b, a))) == "ab"
        await wait_all_tasks_blocked()
    assert replies == ["a"]


async def test_a_key_that_an_active_one_waits_for_is_activated_over_the_limit() -> None:
    root = Supervisor("root", runtime=Runtime(observer=Recorder()))
    keys = root.add(DirectorySpec[str, Via | Hint]("keys", Node, max_awake=1))
    between = root.add(ActorSpec("between", lambda: Node("between")))
    async with root.running():
        a, b, c = keys.ref("a"), keys.ref("b"), keys.ref("c")
        assert await a.ask(Via((b, c))) == "abc"
        assert await a.ask(Via((between, b))) == "abetweenb", "through another actor, too"
        await wait_all_tasks_blocked()
        assert keys.statistics().awake <= 3
        assert await c.ask(Via()) == "c"


async def test_a_queued_key_is_activated_when_an_active_one_asks_for_it() -> None:
    root = Supervisor("root", runtime=Runtime(observer=Recorder()))
    keys = root.add(DirectorySpec[str, Via | Hint]("keys", Node, max_awake=1))
    replies: list[str] = []

    async def ask(first: str, *path: str) -> None:
        replies.append(await keys.ask(first, Via(tuple(map(keys.ref, path)), pause=1)))

    async with root.running(), trio.open_nursery() as nursery:
        nursery.start_soon(ask, "a", "b")
        await wait_all_tasks_blocked()
        nursery.start_soon(ask, "b")
    assert sorted(replies) == ["ab", "b"]


async def test_waits_leave_no_trace() -> None:
    root, [a, b] = tree("a", "b")
    async with root.running():
        await a.ask(Via((b,)))
        with trio.move_on_after(1):
            await a.ask(Via((b,), pause=5))
        await trio.sleep(60)
        for ref in (a, b):
            cell = ref.resolve(Via())
            assert (cell._waits, cell._awaited_by) == (None, None)
