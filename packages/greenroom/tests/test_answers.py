"""Virtual actors that answer without a message, while they are idle."""

from __future__ import annotations

import pytest
import trio
from greenroom import UNANSWERED, ActorStopped, Reply
from trio.testing import wait_all_tasks_blocked

from .actors import Add, Counter, CounterMessage, Nap, Note, Words
from .directory_tree import Tree

pytestmark = pytest.mark.explore(schedules=20, early_time=False)


class Ready(Counter):
    """Answers for its words while it is idle, and logs what it handles."""

    async def handle(self, message: CounterMessage) -> Reply:
        self.log.append(f"{self.name} handles {type(message).__name__}")
        return await super().handle(message)

    def answer(self, message: CounterMessage) -> Reply:
        if isinstance(message, Words):
            return message.reply(tuple(self.words))
        return UNANSWERED


class ReadyTree(Tree):
    def make(self, key: str) -> Counter:
        self.made[key] += 1
        return Ready(self.log, key)


async def test_idle_actor_answers_in_the_task_of_the_asker_and_a_busy_one_handles() -> None:
    tree = ReadyTree()
    async with tree.root.running(), trio.open_nursery() as nursery:
        await tree.keys.ask("a", Note("one"))
        assert await tree.keys.ask("a", Words()) == ("one",)
        assert tree.log == ["a started", "a handles Note", "one"]
        nursery.start_soon(tree.keys.ask, "a", Nap(1))
        await wait_all_tasks_blocked()
        assert await tree.keys.ask("a", Words(), timeout=5) == ("one",)
        assert tree.log[3:] == ["a handles Nap", "a handles Words"]
        # An actor that is asleep is activated first.
        assert await tree.keys.ask("b", Words()) == ()
        assert tree.log[5:] == ["b started", "b handles Words"]


async def test_actor_that_gives_answers_stays_awake_until_nobody_asks() -> None:
    tree = ReadyTree(idle=10)
    async with tree.root.running():
        await tree.keys.ask("a", Add(1))
        for _ in range(12):
            await trio.sleep(4)
            await tree.keys.ask("a", Words())
        assert tree.made == {"a": 1}
        await trio.sleep(21)
        assert tree.log[-1] == "a passivated"


async def test_over_the_limit_an_actor_that_gives_answers_gets_a_second_chance() -> None:
    tree = ReadyTree(max_awake=2)
    async with tree.root.running():
        for key in "ab":
            await tree.keys.ask(key, Add(1))
            await trio.sleep(1)
        await tree.keys.ask("a", Words())
        await tree.keys.ask("c", Add(1))
        assert "b passivated" in tree.log
        assert "a passivated" not in tree.log
        await tree.keys.ask("d", Add(1))
        assert "a passivated" in tree.log


async def test_answer_is_given_at_once_or_not_at_all() -> None:
    tree = ReadyTree(idle=10)
    async with tree.root.running(), trio.open_nursery() as nursery:
        # Nobody is woken.
        assert tree.keys.answer("a", Words(), None) is None
        await trio.sleep(1)
        assert tree.log == []
        await tree.keys.ask("a", Note("one"))
        assert tree.keys.answer("a", Words(), None) == ("one",)
        assert tree.keys.answer("a", Note("two"), None) is None
        nursery.start_soon(tree.keys.ask, "a", Nap(1))
        await wait_all_tasks_blocked()
        assert tree.keys.answer("a", Words(), None) is None
        await trio.sleep(2)
        # Whoever gives answers is in use.
        for _ in range(12):
            await trio.sleep(4)
            assert tree.keys.answer("a", Words(), None) == ("one",)
        await trio.sleep(21)
        assert tree.keys.answer("a", Words(), None) is None
        assert tree.made == {"a": 1}
    assert tree.keys.answer("a", Words(), None) is None


async def test_stopped_directory_answers_nothing() -> None:
    tree = ReadyTree()
    async with tree.root.running():
        await tree.keys.ask("a", Add(1))
    with pytest.raises(ActorStopped):
        await tree.keys.ask("a", Words())
