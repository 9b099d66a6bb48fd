"""The tree, the statistics and the events for operators."""

from __future__ import annotations

import pytest
import trio
from greenroom import (
    ActorSpec,
    Backoff,
    DirectorySpec,
    Observer,
    QuarantineRule,
    Runtime,
    Supervisor,
    SupervisorSpec,
    WorkerContext,
    WorkerSpec,
    render_tree,
)
from trio.testing import wait_all_tasks_blocked

from .actors import (
    Add,
    Counter,
    CounterMessage,
    Crash,
    Declined,
    Ledger,
    Nap,
    Put,
    Recorder,
    Refuse,
)

pytestmark = pytest.mark.explore(schedules=20, early_time=False)


async def forever(worker: WorkerContext) -> None:
    await trio.sleep_forever()


async def test_the_tree_shows_names_states_restarts_queues_and_times() -> None:
    root = Supervisor("root", runtime=Runtime(observer=Recorder()))
    a = root.add(ActorSpec("a", Counter, backoff=Backoff(first=5, jitter=0)))
    keys = root.add(
        DirectorySpec[str, CounterMessage](
            "keys", lambda key: Counter(), quarantine=QuarantineRule(crashes=1)
        )
    )
    sub = root.add(SupervisorSpec("sub"))
    sub.add(WorkerSpec("worker", forever))
    assert {node.state for _, node in root.tree().walk()} == {"not started"}
    async with root.running(), trio.open_nursery() as nursery:
        await a.ask(Add(1))
        with pytest.raises(Declined):
            await a.ask(Refuse())
        await a.tell(Crash())
        await wait_all_tasks_blocked()
        assert [child.state for child in root.tree().children] == [
            "restarting",
            "running",
            "running",
        ]
        await trio.sleep(6)
        nursery.start_soon(a.ask, Nap(10))
        await wait_all_tasks_blocked()
        nursery.start_soon(a.ask, Add(1))
        await keys.tell("bad", Crash())
        await trio.sleep(3)
        tree = root.tree()
        nodes = dict(tree.walk())
        assert list(nodes) == [
            "root", "root/a", "root/keys", "root/keys/bad", "root/sub", "root/sub/worker",
        ]  # fmt: skip
        mailbox = nodes["root/a"].mailbox
        assert mailbox is not None
        assert mailbox.depth == 1
        assert mailbox.oldest_age == pytest.approx(3)
        assert nodes["root/a"].restarts == 1
        assert nodes["root/keys/bad"].state == "quarantined"
        wait, handling = nodes["root/a"].wait, nodes["root/a"].handling
        assert wait is not None
        assert handling is not None
        assert handling.count == 2
        text = render_tree(tree).splitlines()
        assert text[0] == "root (supervisor, running)"
        assert text[1].startswith("├─ a (actor, running)  restarts 1  waiting 1/1024  oldest 3.0s")
        assert text[3].startswith("│  └─ bad (virtual actor, quarantined)")
        assert text[5] == "   └─ worker (worker, running)"
        assert len(text) == 6
    assert {node.state for _, node in root.tree().walk()} == {"stopped"}


async def test_times_in_the_mailbox_and_in_the_handler_are_counted_apart() -> None:
    root = Supervisor("root")
    ref = root.add(ActorSpec("a", Counter))
    async with root.running():
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(ref.ask, Nap(2))
        node = root.tree().children[0]
    assert node.wait is not None
    assert node.handling is not None
    assert node.wait.count == node.handling.count == 3
    assert node.wait.total == pytest.approx(0 + 2 + 4)
    assert node.handling.total == pytest.approx(6)
    assert node.handling.longest == pytest.approx(2)
    assert node.handling.mean == pytest.approx(2)


async def test_an_observer_receives_every_message_on_request() -> None:
    class Metrics(Recorder):
        def handled(self, path: str, message: object, wait: float, handling: float) -> None:
            self.lines.append(f"{path} {message!r} {wait:g} {handling:g}")

    metrics = Metrics()
    root = Supervisor("root", runtime=Runtime(observer=metrics))
    ref = root.add(ActorSpec("a", Counter))
    async with root.running():
        await ref.ask(Nap(2))
    assert metrics.lines == [
        "root/a started",
        "root/a Nap(seconds=2) 0 2",
        "root/a stopped",
    ]


async def test_an_observer_that_fails_breaks_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Faulty(Observer):
        def started(self, path: str) -> None:
            raise RuntimeError("metrics are down")

        def handled(self, path: str, message: object, wait: float, handling: float) -> None:
            raise RuntimeError("metrics are down")

    root = Supervisor("root", runtime=Runtime(observer=Faulty()))
    ref = root.add(ActorSpec("a", Counter))
    async with root.running():
        assert await ref.ask(Add(1)) == 1
    assert "an observer failed" in caplog.text


async def test_crashes_are_logged_by_default(caplog: pytest.LogCaptureFixture) -> None:
    root = Supervisor("root")
    ref = root.add(ActorSpec("a", Counter))
    async with root.running():
        await ref.tell(Crash())
        await trio.sleep(1)
    assert "root/a crashed" in caplog.text
    assert "ValueError" in caplog.text


async def test_messages_received_but_not_yet_handled_count_as_waiting() -> None:
    root = Supervisor("root")
    ref = root.add(ActorSpec("a", Counter))
    async with root.running(), trio.open_nursery() as nursery:
        for _ in range(50):
            nursery.start_soon(ref.ask, Nap(2))
        await trio.sleep(1)
        mailbox = root.tree().children[0].mailbox
        assert mailbox is not None
        assert mailbox.depth == 49
        assert mailbox.oldest_age == pytest.approx(1)


async def test_age_is_that_of_the_message_that_was_received_first() -> None:
    root = Supervisor("root")
    ref = root.add(ActorSpec("a", Counter))
    async with root.running(), trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(ref.ask, Nap(4))
            await trio.sleep(1)
        # The first is done, and the second is being handled since the fourth second.
        mailbox = root.tree().children[0].mailbox
        assert mailbox is not None
        assert mailbox.depth == 3
        assert mailbox.oldest_age == pytest.approx(3)


async def test_messages_of_a_batch_share_the_time_that_it_takes() -> None:
    ledger = Ledger()
    root = Supervisor("root")
    ref = root.add(ActorSpec("a", lambda: ledger))
    async with root.running():
        async with trio.open_nursery() as nursery:
            for _ in range(4):
                nursery.start_soon(ref.ask, Put("line"))
        handling = root.tree().children[0].handling
        assert handling is not None
        assert handling.count == 4
        assert handling.total == pytest.approx(len(ledger.batches))
