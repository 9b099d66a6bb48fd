"""Finding a running actor by its path."""

from __future__ import annotations

import pytest
import trio
from greenroom import (
    Actor,
    ActorNotFound,
    ActorSpec,
    ActorStopped,
    DirectorySpec,
    Supervisor,
    SupervisorSpec,
    WorkerContext,
    WorkerSpec,
)

from .actors import Add, Counter, Ledger, Put

pytestmark = pytest.mark.explore(schedules=10)


class Keyed(Counter):
    def __init__(self, key: object) -> None:
        super().__init__(name=str(key))


def made() -> Counter:
    return Counter()


async def idle(worker: WorkerContext) -> None:
    await trio.sleep_forever()


def tree() -> Supervisor:
    root = Supervisor("root")
    branch = root.add(SupervisorSpec("a"))
    branch.add(ActorSpec("b", Counter))
    branch.add(ActorSpec("made", made))
    branch.add(DirectorySpec("keys", Keyed))
    branch.add(WorkerSpec("worker", idle))
    return root


async def test_an_actor_is_found_at_the_path_of_its_reference() -> None:
    root = tree()
    async with root.running():
        ref = root.find("root/a/b", Counter)
        assert ref.path == "root/a/b"
        assert await ref.ask(Add(3)) == 3
        assert await root.find(ref.path, Counter).ask(Add(1)) == 4, "the same actor"
    with pytest.raises(ActorStopped):
        await ref.ask(Add(1))


async def test_a_branch_finds_its_descendants() -> None:
    root = Supervisor("root")
    branch = root.add(SupervisorSpec("a"))
    branch.add(ActorSpec("b", Counter))
    root.add(ActorSpec("c", Counter))
    async with root.running():
        assert await branch.find("root/a/b", Counter).ask(Add(1)) == 1
        with pytest.raises(ActorNotFound, match="its paths begin with root/a/"):
            branch.find("root/c", Counter)


async def test_a_child_added_while_running_is_found() -> None:
    root = Supervisor("root")
    async with root.running():
        await root.start_child(ActorSpec("late", Counter))
        assert await root.find("root/late", Counter).ask(Add(1)) == 1
        await root.stop_child("late")
        with pytest.raises(ActorNotFound):
            root.find("root/late", Counter)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("root/a/c", r"^root/a has no child 'c'; its children: b, made, keys, worker$"),
        ("root/x/b", "root has no child 'x'"),
        ("a/b", "there is no 'a/b' below root; its paths begin with root/"),
        ("root", "there is no 'root' below root"),
        ("", "there is no '' below root"),
        ("root/", "root has no child ''"),
        ("root/a", "root/a is not an actor"),
        ("root/a/", "root/a has no child ''"),
        ("root/a/keys", "root/a/keys is not an actor"),
        ("root/a/worker", "root/a/worker is not an actor"),
        ("root/a/b/c", "root/a/b has no children, so there is no 'c' below it"),
        ("root/a/worker/c", "root/a/worker has no children"),
        ("root/a/keys/x", r"root/a/keys has no active key 'x'; a directory's ref\(\) takes any"),
    ],
)
async def test_a_path_without_an_actor_names_what_is_there(path: str, text: str) -> None:
    root = tree()
    async with root.running():
        with pytest.raises(ActorNotFound, match=text) as caught:
            root.find(path, Counter)
        assert isinstance(caught.value, LookupError)


async def test_an_actor_of_another_class_is_refused() -> None:
    root = tree()
    async with root.running():
        with pytest.raises(TypeError, match="the class of root/a/b is Counter, not Ledger"):
            root.find("root/a/b", Ledger)
        base = root.find("root/a/b", Actor)
        assert base.path == "root/a/b"


async def test_a_class_is_known_from_the_first_start() -> None:
    root = tree()
    with pytest.raises(TypeError, match="not known before it is started, not Counter"):
        root.find("root/a/made", Counter)
    assert root.find("root/a/b", Counter).path == "root/a/b"
    async with root.running():
        assert await root.find("root/a/made", Counter).ask(Add(1)) == 1


async def test_an_active_key_is_found_by_its_text() -> None:
    root = Supervisor("root")
    keys = root.add(DirectorySpec("keys", Keyed, idle_timeout=10))
    async with root.running():
        for key in ("home", 7, "a/b"):
            await keys.ask(key, Add(1))
            ref = root.find(keys.ref(key).path, Keyed)
            assert await ref.ask(Add(1)) == 2
        await trio.sleep(30)
        with pytest.raises(ActorNotFound, match="no active key 'home'"):
            root.find("root/keys/home", Keyed)
        assert await ref.ask(Add(1)) == 1, "the reference activates the key again"


async def test_keys_with_the_same_text_are_ambiguous() -> None:
    root = Supervisor("root")
    keys = root.add(DirectorySpec("keys", Keyed))
    async with root.running():
        for key in ("7", 7):
            await keys.ask(key, Add(1))
        with pytest.raises(ActorNotFound, match="2 keys of root/keys are written '7': '7', 7"):
            root.find("root/keys/7", Keyed)


async def test_a_found_reference_knows_its_messages() -> None:
    root = tree()
    async with root.running():
        with pytest.raises(TypeError, match="does not handle Put"):
            await root.find("root/a/b", Counter).ask(Put("x"))  # type: ignore[arg-type]
