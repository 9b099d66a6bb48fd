"""The notice hub: who is notified of what, how often, and in which order."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
import trio
from octavo_rules.identity import START, AccountId, Cursor, WorkspaceId
from trio.testing import wait_all_tasks_blocked

from octavo.actors.notice_hub import MAX_READS, NOTIFIED_PER_TURN, NoticeHub
from octavo.store import StoreUnavailable
from tests.fakes.cursors import at

VAULT, OTHER = WorkspaceId("vault"), WorkspaceId("other")
ANN, BOB = AccountId("ann"), AccountId("bob")


def described(workspace_id: WorkspaceId, cursor: Cursor) -> str:
    return f"{workspace_id} {cursor.position}" + (" anew" if "anew" in cursor.mark else "")


@dataclass(eq=False)
class Recorder:
    """A listener that records its notices, and may act on one."""

    account_id: AccountId = ANN
    received: list[str] = field(default_factory=list)
    react: Callable[[], None] = lambda: None

    def changed(
        self, workspace_id: WorkspaceId, cursor: Cursor, frame: str, *, certain: bool
    ) -> None:
        assert frame == described(workspace_id, cursor)
        self.received.append(f"{frame} for certain" if certain else frame)
        self.react()

    def gone(self, workspace_id: WorkspaceId) -> None:
        self.received.append(f"{workspace_id} gone")

    def recheck_access(self) -> None:
        self.received.append("look again")


class Hub(NoticeHub[str]):
    """A hub that counts what it encodes."""

    def __init__(self) -> None:
        self.encoded: list[str] = []
        self.stored: dict[WorkspaceId, Cursor] = {}
        self.reads = 0
        self.silent = False
        self.react: Callable[[], None] = lambda: None
        super().__init__(self._encode_it, self._read_it)

    def _encode_it(self, workspace_id: WorkspaceId, cursor: Cursor) -> str:
        self.encoded.append(described(workspace_id, cursor))
        return self.encoded[-1]

    async def _read_it(self, workspace_id: WorkspaceId) -> Cursor | None:
        self.reads += 1
        if self.silent:
            await trio.sleep_forever()
        found = self.stored.get(workspace_id)
        await trio.lowlevel.checkpoint()
        self.react()
        return found

    def recorder(self, *workspaces: WorkspaceId, account_id: AccountId = ANN) -> Recorder:
        recorder = Recorder(account_id)
        self.enter(recorder)
        for workspace_id in workspaces:
            self.subscribe(workspace_id, recorder)
        return recorder

    def tell(self, workspace_id: WorkspaceId, *positions: int) -> None:
        for position in positions:
            if position > self.stored.get(workspace_id, START).position:
                self.stored[workspace_id] = at(position)
            self.announce(workspace_id, at(position))


@asynccontextmanager
async def running() -> AsyncIterator[Hub]:
    hub = Hub()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hub.run)
        yield hub
        nursery.cancel_scope.cancel()


async def test_listeners_are_notified_of_their_workspaces_only() -> None:
    async with running() as hub:
        one, two, both = hub.recorder(VAULT), hub.recorder(OTHER), hub.recorder(VAULT, OTHER)
        hub.tell(VAULT, 1)
        hub.tell(OTHER, 7)
        await wait_all_tasks_blocked()
        assert (one.received, two.received) == (["vault 1"], ["other 7"])
        assert both.received == ["vault 1", "other 7"]


async def test_position_is_encoded_once_for_all_listeners_and_never_for_none() -> None:
    async with running() as hub:
        recorders = [hub.recorder(VAULT) for _ in range(3 * NOTIFIED_PER_TURN)]
        hub.tell(VAULT, 1)
        hub.tell(OTHER, 1)
        await wait_all_tasks_blocked()
        assert hub.encoded == ["vault 1"]
        assert all(recorder.received == ["vault 1"] for recorder in recorders)


async def test_positions_announced_before_the_first_delivery_are_delivered_as_the_newest() -> None:
    async with running() as hub:
        recorder = hub.recorder(VAULT)
        hub.tell(VAULT, 3, 5, 4)
        await wait_all_tasks_blocked()
        hub.tell(VAULT, 6)
        await wait_all_tasks_blocked()
        assert recorder.received == ["vault 5", "vault 5 for certain", "vault 6"]


async def test_positions_announced_during_a_delivery_are_delivered_after_it() -> None:
    async with running() as hub:
        recorders = [hub.recorder(VAULT) for _ in range(2 * NOTIFIED_PER_TURN)]
        other = hub.recorder(OTHER)
        recorders[0].react = lambda: (
            hub.tell(VAULT, 2, 3) if len(recorders[0].received) == 1 else None
        )
        order: list[str] = []
        recorders[-1].react = lambda: order.append("vault")
        other.react = lambda: order.append("other")
        hub.tell(VAULT, 1)
        hub.tell(OTHER, 1)
        await wait_all_tasks_blocked()
        assert all(recorder.received == ["vault 1", "vault 3"] for recorder in recorders)
        assert order == ["vault", "other", "vault"]


async def test_other_tasks_run_during_a_long_delivery() -> None:
    async with running() as hub:
        recorders = [hub.recorder(VAULT) for _ in range(10 * NOTIFIED_PER_TURN)]
        hub.tell(VAULT, 1)
        received: list[int] = []
        while not received or received[-1] < len(recorders):
            await trio.lowlevel.checkpoint()
            received.append(sum(len(recorder.received) for recorder in recorders))
        steps = [after - before for before, after in zip([0, *received], received, strict=False)]
        assert max(steps) <= 2 * NOTIFIED_PER_TURN


@pytest.mark.parametrize("goes", ["unsubscribes", "leaves"])
async def test_listener_removed_during_a_delivery_receives_nothing_more(goes: str) -> None:
    async with running() as hub:
        first, *between, last = [hub.recorder(VAULT) for _ in range(NOTIFIED_PER_TURN + 2)]

        def go() -> None:
            hub.unsubscribe(VAULT, last)
            if goes == "leaves":
                hub.leave(last)

        first.react = go
        hub.tell(VAULT, 1)
        await wait_all_tasks_blocked()
        assert last.received == []
        assert all(recorder.received == ["vault 1"] for recorder in between)


async def test_listener_added_during_a_delivery_receives_the_next_notice() -> None:
    async with running() as hub:
        first = hub.recorder(VAULT)
        came: list[Recorder] = []
        first.react = lambda: came.append(hub.recorder(VAULT))
        hub.tell(VAULT, 1)
        await wait_all_tasks_blocked()
        first.react = lambda: None
        hub.tell(VAULT, 2)
        await wait_all_tasks_blocked()
        assert [recorder.received for recorder in came] == [["vault 2"]]


async def test_deleted_workspace_is_announced_once_and_never_again() -> None:
    async with running() as hub:
        recorder = hub.recorder(VAULT, OTHER)
        hub.tell(VAULT, 1)
        hub.announce_gone(VAULT)
        hub.announce_gone(VAULT)
        hub.tell(VAULT, 2)
        hub.tell(OTHER, 1)
        await wait_all_tasks_blocked()
        assert recorder.received == ["vault gone", "other 1"]
        assert hub.listened_to() == [OTHER]


def test_account_notification_reaches_each_of_its_devices() -> None:
    hub = Hub()
    one, two, other = hub.recorder(VAULT), hub.recorder(), hub.recorder(account_id=BOB)
    hub.recheck_access(ANN)
    assert (one.received, two.received, other.received) == (["look again"], ["look again"], [])
    hub.leave(one)
    hub.recheck_access(ANN)
    assert (len(one.received), len(two.received)) == (1, 2)
    hub.leave(two)
    hub.recheck_access(ANN)
    assert len(two.received) == 2


def test_workspaces_with_listeners_are_known() -> None:
    hub = Hub()
    one, two = hub.recorder(VAULT), hub.recorder(VAULT, OTHER)
    assert hub.listened_to() == [VAULT, OTHER]
    hub.unsubscribe(OTHER, one)
    hub.unsubscribe(VAULT, one)
    assert hub.listened_to() == [VAULT, OTHER]
    hub.unsubscribe(VAULT, two)
    hub.unsubscribe(OTHER, two)
    assert hub.listened_to() == []


async def test_restarted_hub_delivers_what_was_announced_meanwhile() -> None:
    hub = Hub()
    recorder = hub.recorder(VAULT)
    hub.tell(VAULT, 1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hub.run)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    hub.tell(VAULT, 2)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hub.run)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert recorder.received == ["vault 1", "vault 2"]


@pytest.mark.parametrize("position", [2, 5])
async def test_store_is_asked_when_another_history_may_have_the_position(position: int) -> None:
    async with running() as hub:
        recorder = hub.recorder(VAULT)
        hub.tell(VAULT, 5)
        await wait_all_tasks_blocked()
        hub.stored[VAULT] = at(position, "anew")
        hub.announce(VAULT, at(position, "anew"))
        await wait_all_tasks_blocked()
        assert recorder.received == ["vault 5", f"vault {position} anew for certain"]
        hub.announce(VAULT, at(3, "anew"))
        hub.stored[VAULT] = at(6, "anew")
        hub.announce(VAULT, at(6, "anew"))
        await wait_all_tasks_blocked()
        assert "vault 6 anew" in recorder.received[-2:]


async def test_late_announcement_of_the_lost_history_is_not_believed() -> None:
    async with running() as hub:
        hub.recorder(VAULT)
        hub.tell(VAULT, 5)
        hub.stored[VAULT] = at(2, "anew")
        hub.announce(VAULT, at(2, "anew"))
        await wait_all_tasks_blocked()
        recorder = hub.recorder(VAULT)
        hub.announce(VAULT, at(1))
        await wait_all_tasks_blocked()
        assert recorder.received == ["vault 2 anew for certain"]


async def test_change_during_the_question_is_not_superseded_by_the_reply() -> None:
    async with running() as hub:
        recorder = hub.recorder(VAULT)
        hub.tell(VAULT, 5)
        await wait_all_tasks_blocked()
        hub.react = lambda: hub.tell(VAULT, 6) if hub.reads == 1 else None
        hub.announce(VAULT, at(4))
        await wait_all_tasks_blocked()
        assert recorder.received[-1] in ("vault 6", "vault 6 for certain")
        assert hub.reads == 2


async def test_store_is_not_asked_for_ever_while_a_workspace_changes() -> None:
    async with running() as hub:
        recorder = hub.recorder(VAULT)
        hub.tell(VAULT, 5)
        hub.react = lambda: hub.tell(VAULT, 5 + hub.reads)
        hub.announce(VAULT, at(4))
        await wait_all_tasks_blocked()
        assert hub.reads == MAX_READS
        assert recorder.received[-1] == f"vault {5 + MAX_READS}"


async def test_workspace_that_the_store_does_not_have_is_gone() -> None:
    async with running() as hub:
        recorder = hub.recorder(VAULT)
        hub.tell(VAULT, 5)
        await wait_all_tasks_blocked()
        del hub.stored[VAULT]
        hub.announce(VAULT, at(4))
        await wait_all_tasks_blocked()
        assert recorder.received == ["vault 5", "vault gone"]


async def test_notices_go_on_while_the_store_does_not_respond() -> None:
    async with running() as hub:
        recorder = hub.recorder(VAULT, OTHER)
        hub.tell(VAULT, 5)
        await wait_all_tasks_blocked()
        hub.silent = True
        hub.announce(VAULT, at(4))
        hub.tell(OTHER, 1)
        hub.tell(VAULT, 6)
        await wait_all_tasks_blocked()
        assert recorder.received == ["vault 5", "other 1", "vault 6"]


async def test_question_that_fails_is_asked_again_with_the_next_doubt() -> None:
    async with running() as hub:
        recorder = hub.recorder(VAULT)
        hub.tell(VAULT, 5)
        await wait_all_tasks_blocked()
        hub.stored[VAULT] = at(2, "anew")

        def fail() -> None:
            if hub.reads == 1:
                raise StoreUnavailable("down")

        hub.react = fail
        for _ in range(2):
            hub.announce(VAULT, at(2, "anew"))
            await wait_all_tasks_blocked()
        assert recorder.received == ["vault 5", "vault 2 anew for certain"]
