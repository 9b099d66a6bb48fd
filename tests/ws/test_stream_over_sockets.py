"""The notices of one device during concurrent events, without sockets."""

import json
import math
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import trio
from antechamber.websocket import Frame
from antechamber.websocket.serving import SharedTimer
from octavo_rules.identity import START, AccountId, Cursor, WorkspaceId
from trio.testing import wait_all_tasks_blocked

from octavo.actors.notice_hub import NoticeHub
from octavo.store.queries.workspaces import WorkspaceAccess
from octavo.ws.notice_stream import NoticeStream, changed_frame
from tests.fakes.cursors import at

Message = dict[str, Any]
ANN = AccountId("ann")


def workspace(number: int) -> WorkspaceId:
    return WorkspaceId(f"01900000-0000-7000-8000-{number:012x}")


VAULT, OTHER = workspace(1), workspace(2)
SUBSCRIBE = {"type": "subscribe", "workspaceId": VAULT}
SUBSCRIBE_OTHER = {"type": "subscribe", "workspaceId": OTHER}
UNSUBSCRIBE = {"type": "unsubscribe", "workspaceId": VAULT}
GONE = {"type": "gone", "workspaceId": VAULT}


def changed(position: int, workspace_id: WorkspaceId = VAULT) -> Message:
    cursor = at(position)
    return {
        "type": "changed",
        "workspaceId": workspace_id,
        "position": cursor.position,
        "mark": cursor.mark,
    }


def subscribed(position: int) -> Message:
    return changed(position) | {"type": "subscribed"}


@dataclass
class Talk:
    """A device and the stream that serves it, without a connection between them."""

    hub: NoticeHub[Frame]
    said: deque[str] = field(default_factory=deque)
    some: trio.Event = field(default_factory=trio.Event)
    woken: bool = False
    received: list[Message] = field(default_factory=list)
    reads: bool = True
    reading: trio.Event = field(default_factory=trio.Event)
    turn: trio.StrictFIFOLock = field(default_factory=trio.StrictFIFOLock)
    cursors: dict[WorkspaceId, Cursor] = field(default_factory=dict)
    hidden: set[WorkspaceId] = field(default_factory=set)
    closed: list[tuple[int, str]] = field(default_factory=list)
    before_response: Callable[[], Awaitable[object]] | None = None

    def offer_frame(self, frame: Frame) -> bool:
        if self.reads:
            self._take(frame)
        return self.reads

    async def send_frame(self, frame: Frame) -> None:
        async with self.turn:
            while not self.reads:
                await self.reading.wait()
            self._take(frame)

    async def receive_or_wake(self, patience: float) -> str | None:
        with trio.move_on_after(patience):
            while not self.said and not self.woken:
                self.some = trio.Event()
                await self.some.wait()
        await trio.lowlevel.checkpoint()
        if self.woken:
            self.woken = False
            return None
        return self.said.popleft() if self.said else None

    def wake(self) -> None:
        self.woken = True
        self.some.set()

    async def close(self, code: int, reason: str) -> None:
        self.closed.append((code, reason))

    def _take(self, frame: Frame) -> None:
        self.received.append(json.loads(frame[frame.index(b"{") :]))

    async def workspace_access(
        self, workspace_ids: Sequence[WorkspaceId]
    ) -> dict[WorkspaceId, WorkspaceAccess]:
        found = {
            each: WorkspaceAccess(self.cursors[each], each not in self.hidden)
            for each in workspace_ids
            if each in self.cursors
        }
        before, self.before_response = self.before_response, None
        if before is not None:
            await before()
        return found

    async def still_valid(self) -> bool:
        return True

    async def say(self, *messages: Message) -> None:
        for message in messages:
            self.say_text(json.dumps(message))
        await wait_all_tasks_blocked()

    def say_text(self, message: str) -> None:
        self.said.append(message)
        self.some.set()

    def announce(self, *positions: int, workspace_id: WorkspaceId = VAULT) -> None:
        for position in positions:
            self.cursors[workspace_id] = at(position)
            self.hub.announce(workspace_id, at(position))

    async def read(self) -> list[Message]:
        """Read and return what was sent."""
        self.reads = True
        self.reading.set()
        # More than the next events take.
        await wait_all_tasks_blocked(0.01)
        received, self.received = self.received, []
        return received

    def stop_reading(self) -> None:
        self.reads, self.reading = False, trio.Event()


@asynccontextmanager
async def talking() -> AsyncIterator[Talk]:
    async def read(workspace_id: WorkspaceId) -> Cursor | None:
        return talk.cursors.get(workspace_id)

    hub: NoticeHub[Frame] = NoticeHub(changed_frame, read)
    talk = Talk(hub, cursors={VAULT: START, OTHER: START})
    stream = NoticeStream(
        talk,  # type: ignore[arg-type]  # what a stream needs of a connection
        hub,
        account_id=ANN,
        workspace_access=talk.workspace_access,
        still_valid=talk.still_valid,
        checks=SharedTimer(math.inf, NoticeStream.recheck_access),
    )
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hub.run)
        nursery.start_soon(stream.run)
        await wait_all_tasks_blocked()
        assert [each["type"] for each in await talk.read()] == ["hello"]
        yield talk
        nursery.cancel_scope.cancel()
    assert hub.listened_to() == []
    hub.recheck_access(ANN)


async def test_change_between_subscription_and_lookup_is_announced_with_the_subscription() -> None:
    async with talking() as talk:

        async def change() -> None:
            talk.announce(1, 2)
            await wait_all_tasks_blocked()

        talk.before_response = change
        await talk.say(SUBSCRIBE)
        assert await talk.read() == [subscribed(2)]
        talk.announce(2, 3)
        assert await talk.read() == [changed(3)]


async def test_change_during_the_subscription_reply_follows_it() -> None:
    async with talking() as talk:
        talk.stop_reading()
        await talk.say(SUBSCRIBE)
        talk.announce(1)
        await wait_all_tasks_blocked()
        talk.announce(2)
        await wait_all_tasks_blocked()
        received = await talk.read()
        assert received[0] == subscribed(0)
        assert received[-1] == changed(2)


async def test_repeated_subscription_never_goes_back() -> None:
    async with talking() as talk:
        await talk.say(SUBSCRIBE)

        async def change() -> None:
            talk.announce(5)
            await wait_all_tasks_blocked()

        talk.before_response = change
        await talk.say(SUBSCRIBE)
        assert await talk.read() == [subscribed(0), changed(5), subscribed(5)]


async def test_workspace_deleted_during_its_lookup_is_gone_once() -> None:
    async with talking() as talk:

        async def delete() -> None:
            talk.hub.announce_gone(VAULT)
            await wait_all_tasks_blocked()

        talk.before_response = delete
        await talk.say(SUBSCRIBE)
        assert await talk.read() == [GONE | {"reason": "deleted"}]
        talk.announce(1)
        assert await talk.read() == []


async def test_ended_membership_closes_the_stream() -> None:
    async with talking() as talk:
        await talk.say(SUBSCRIBE)
        await talk.read()
        talk.hidden.add(VAULT)
        talk.hub.recheck_access(ANN)
        assert await talk.read() == [GONE | {"reason": "not_found"}]
        assert [code for code, _ in talk.closed] == [1008]


async def test_unannounced_deletion_is_found_at_the_next_check() -> None:
    async with talking() as talk:
        await talk.say(SUBSCRIBE, SUBSCRIBE_OTHER)
        await talk.read()
        del talk.cursors[VAULT]
        talk.hub.recheck_access(ANN)
        assert await talk.read() == [GONE | {"reason": "deleted"}]
        talk.announce(1)
        talk.announce(1, workspace_id=OTHER)
        assert await talk.read() == [changed(1, OTHER)]
        assert talk.closed == []


async def test_subscription_during_a_check_is_not_a_deletion() -> None:
    async with talking() as talk:
        await talk.say(SUBSCRIBE)
        await talk.read()

        async def subscribe() -> None:
            await talk.say(SUBSCRIBE_OTHER)

        talk.before_response = subscribe
        talk.hub.recheck_access(ANN)
        assert [each["type"] for each in await talk.read()] == ["subscribed"]


@pytest.mark.parametrize(
    "message",
    [
        f'{{"type":"subscribe","type":"subscribe","workspaceId":"{VAULT}"}}',
        f'{{"type":"subscribe","workspaceId":"{OTHER}","workspaceId":"{VAULT}"}}',
        '{"type":"subscribe"}',
        "{}",
        "",
    ],
)
async def test_message_with_duplicate_or_missing_members_closes_the_stream(message: str) -> None:
    async with talking() as talk:
        talk.say_text(message)
        await wait_all_tasks_blocked()
        assert [code for code, _ in talk.closed] == [1002]
        assert talk.received == []


@pytest.mark.parametrize("ending", ["unsubscribed", "deleted"])
async def test_nothing_follows_the_end_of_a_subscription_that_a_slow_device_learns_of(
    ending: str,
) -> None:
    async with talking() as talk:
        await talk.say(SUBSCRIBE)
        await talk.read()
        talk.stop_reading()
        talk.announce(1)
        await wait_all_tasks_blocked()
        talk.announce(2)
        await wait_all_tasks_blocked()
        if ending == "deleted":
            talk.hub.announce_gone(VAULT)
            assert await talk.read() == [changed(1), GONE | {"reason": "deleted"}]
        else:
            # Read when the device reads again.
            await talk.say(UNSUBSCRIBE)
            assert await talk.read() == [changed(1), changed(2)]
            talk.announce(3)
            assert await talk.read() == []


async def test_queue_for_a_slow_reader_is_one_position_per_workspace() -> None:
    async with talking() as talk:
        await talk.say(SUBSCRIBE, SUBSCRIBE | {"workspaceId": OTHER})
        await talk.read()
        talk.stop_reading()
        for position in range(1, 1001):
            talk.announce(position)
            talk.announce(position, workspace_id=OTHER)
            await wait_all_tasks_blocked()
        received = await talk.read()
        assert received[0] == changed(1)
        assert sorted(received[1:], key=str) == [changed(1000), changed(1000, OTHER)]


async def test_unannounced_position_is_found_at_the_next_check() -> None:
    async with talking() as talk:
        await talk.say(SUBSCRIBE)
        await talk.read()
        # Committed by a process that died before it could announce it.
        talk.cursors[VAULT] = at(3)
        talk.hub.recheck_access(ANN)
        assert await talk.read() == [changed(3)]
        talk.hub.recheck_access(ANN)
        assert await talk.read() == []


async def test_history_that_was_taken_back_is_told() -> None:
    async with talking() as talk:
        await talk.say(SUBSCRIBE)
        talk.announce(5)
        assert await talk.read() == [subscribed(0), changed(5)]
        for cursor in (at(2, "anew"), at(5, "anew")):
            talk.cursors[VAULT] = cursor
            talk.hub.announce(VAULT, cursor)
            told = {"position": cursor.position, "mark": cursor.mark}
            assert await talk.read() == [changed(0) | told]
        # Unless the store agrees, an earlier one is late.
        talk.hub.announce(VAULT, at(4))
        assert await talk.read() == []


async def test_history_that_was_taken_back_unnoticed_is_found_at_the_next_check() -> None:
    async with talking() as talk:
        await talk.say(SUBSCRIBE)
        talk.announce(5)
        await talk.read()
        talk.cursors[VAULT] = at(2, "anew")
        talk.hub.recheck_access(ANN)
        told = {"position": 2, "mark": at(2, "anew").mark}
        assert await talk.read() == [changed(0) | told]
        talk.hub.recheck_access(ANN)
        assert await talk.read() == []


async def test_first_subscription_after_a_history_was_taken_back_tells_the_others() -> None:
    async with talking() as talk:
        await talk.say(SUBSCRIBE)
        talk.announce(5)
        await talk.read()
        talk.cursors[VAULT] = at(2, "anew")
        await talk.say(SUBSCRIBE)
        told = {"position": 2, "mark": at(2, "anew").mark}
        assert (await talk.read())[0] == subscribed(0) | told


async def test_history_that_is_taken_back_during_the_lookup_is_told_at_the_next_check() -> None:
    async with talking() as talk:
        talk.announce(5)

        async def take_back() -> None:
            talk.cursors[VAULT] = at(2, "anew")
            talk.hub.announce(VAULT, at(2, "anew"))
            await wait_all_tasks_blocked()

        talk.before_response = take_back
        await talk.say(SUBSCRIBE)
        # What was read is of the lost history: the next check finds it.
        talk.hub.recheck_access(ANN)
        received = await talk.read()
        assert (received[-1]["position"], received[-1]["mark"]) == at(2, "anew")
