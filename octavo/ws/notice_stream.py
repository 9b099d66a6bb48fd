"""The notice stream: a device subscribes to workspaces, and learns when they change.

The server says ``hello``, ``subscribed``, ``changed`` and ``gone``, the client ``subscribe`` and
``unsubscribe``. A client that reads slowly is told the newest position of each workspace and no
other, so it holds no memory here but for its subscriptions.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

import trio
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from octavo.actors.notice_hub import NoticeHub
from octavo.model.identity import AccountId, Position, WorkspaceId
from octavo.store import StoreUnavailable
from octavo.store.scripts.workspaces import WorkspaceAccess
from octavo.ws.connection import ServerWebSocket
from octavo.ws.frames import Frame, message_frame

SUBPROTOCOL = "octavo.notices.v1"
MAX_MESSAGE = 4096
"""Bytes of a message of the client."""
MOST_SUBSCRIPTIONS = 1000
PROTOCOL_ERROR, UNSUPPORTED, POLICY, TRY_LATER = 1002, 1003, 1008, 1013
_ID = r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"

Standings = Callable[[Sequence[WorkspaceId]], Awaitable[dict[WorkspaceId, WorkspaceAccess]]]
StillValid = Callable[[], Awaitable[bool]]


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    type: Literal["subscribe", "unsubscribe"]
    workspace_id: str = Field(pattern=_ID, alias="workspaceId")


_MESSAGE = TypeAdapter(_Message)
_NOTHING = Position(-1)
"""What a device was told whose subscription is under way."""


def changed_frame(workspace_id: WorkspaceId, position: Position) -> Frame:
    """Return the notice of a position, ready to be sent to any number of listeners."""
    return message_frame(
        f'{{"type":"changed","workspaceId":"{workspace_id}","position":{position}}}'
    )


class NoticeStream:
    """One device that listens, until it leaves or may listen no longer.

    Args:
        connection: to the device.
        hub: tells of changes.
        account_id: whose device it is.
        standings: answers how those of the workspaces that there are stand to the account.
        still_valid: answers whether session or key still open the account.
        check_every: seconds between two looks at session and memberships, beside those that the
            hub asks for.
    """

    def __init__(
        self,
        connection: ServerWebSocket,
        hub: NoticeHub[Frame],
        *,
        account_id: AccountId,
        standings: Standings,
        still_valid: StillValid,
        check_every: float,
    ) -> None:
        self.account_id = account_id
        self._connection = connection
        self._hub = hub
        self._standings = standings
        self._still_valid = still_valid
        self._check_every = check_every
        # Each subscription with the newest position that the device was told.
        self._told: dict[WorkspaceId, Position] = {}
        # What it is still to be told; None: the workspace is gone.
        self._due: dict[WorkspaceId, Position | None] = {}
        self._wake = trio.Event()
        self._check = trio.Event()

    async def run(self) -> None:
        """Serve the device. Raises `ConnectionGone`; cancelling drops the subscriptions."""
        self._hub.enter(self)
        try:
            await self._say(type="hello", protocol=SUBPROTOCOL)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._tell)
                nursery.start_soon(self._look)
                await self._listen()
                nursery.cancel_scope.cancel(reason="the device has left")
        finally:
            for workspace_id in self._told:
                self._hub.unsubscribe(workspace_id, self)
            self._hub.leave(self)

    # What the hub tells; none of it waits

    def changed(self, workspace_id: WorkspaceId, position: Position, frame: Frame) -> None:
        """Tell the device at once if it takes it, and otherwise when it does."""
        told = self._told.get(workspace_id)
        if told is None or position <= told:
            return
        if told == _NOTHING or (not self._due and self._connection.offer_frame(frame)):
            self._told[workspace_id] = position
        else:
            self._due[workspace_id] = position
            self._wake.set()

    def gone(self, workspace_id: WorkspaceId) -> None:
        """Tell the device that it hears of the workspace no more."""
        if self._told.pop(workspace_id, None) is not None:
            self._due[workspace_id] = None
            self._wake.set()

    def recheck_access(self) -> None:
        """Look at session and memberships now."""
        self._check.set()

    # What runs beside each other

    async def _listen(self) -> None:
        async for message in self._connection:
            if isinstance(message, bytes):
                await self._connection.close(UNSUPPORTED, "Notices are text, in JSON.")
                return
            told = _read(message)
            if told is None:
                await self._connection.close(
                    PROTOCOL_ERROR, 'Send {"type": "subscribe", "workspaceId": "…"}.'
                )
                return
            workspace_id = WorkspaceId(told.workspace_id)
            if told.type == "unsubscribe":
                self._drop(workspace_id)
            elif not await self._subscribe(workspace_id):
                return

    async def _subscribe(self, workspace_id: WorkspaceId) -> bool:
        if len(self._told) >= MOST_SUBSCRIPTIONS and workspace_id not in self._told:
            await self._connection.close(
                POLICY, f"One stream takes {MOST_SUBSCRIPTIONS} subscriptions at most."
            )
            return False
        # First, so that nothing is missed that happens while the store is asked.
        self._told.setdefault(workspace_id, _NOTHING)
        self._hub.subscribe(workspace_id, self)
        try:
            found = (await self._standings([workspace_id])).get(workspace_id)
        except StoreUnavailable:
            await self._connection.close(TRY_LATER, "The workspace can't be looked up now.")
            return False
        told = self._told.get(workspace_id)
        if told is None:
            # It went meanwhile, and whoever dropped it says so.
            return True
        if found is None or not found.member:
            self._drop(workspace_id)
            await self._say(type="gone", workspaceId=workspace_id, reason="not_found")
            return True
        self._told[workspace_id] = position = max(told, found.position)
        await self._say(type="subscribed", workspaceId=workspace_id, position=position)
        return True

    async def _tell(self) -> None:
        while True:
            await self._wake.wait()
            self._wake = trio.Event()
            while self._due:
                workspace_id, position = next(iter(self._due.items()))
                del self._due[workspace_id]
                if position is None:
                    await self._say(type="gone", workspaceId=workspace_id, reason="deleted")
                elif position > self._told.get(workspace_id, position):
                    self._told[workspace_id] = position
                    await self._connection.send_frame(changed_frame(workspace_id, position))

    async def _look(self) -> None:
        while True:
            with trio.move_on_after(self._check_every):
                await self._check.wait()
            self._check = trio.Event()
            try:
                if not await self._still_valid():
                    await self._connection.close(POLICY, "Session or key has ended: sign in again.")
                    return
                if not await self._look_at_workspaces():
                    await self._connection.close(POLICY, "A membership has ended.")
                    return
            except StoreUnavailable:
                # Nobody can say now; the next look will.
                continue

    async def _look_at_workspaces(self) -> bool:
        """Tell what nobody announced; False when a membership has ended."""
        asked = [workspace_id for workspace_id, told in self._told.items() if told != _NOTHING]
        standings = await self._standings(asked)
        for workspace_id in asked:
            told = self._told.get(workspace_id)
            if told is None or told == _NOTHING:
                continue
            standing = standings.get(workspace_id)
            if standing is None:
                # Deleted by a process that died before it could announce it.
                self.gone(workspace_id)
                self._hub.unsubscribe(workspace_id, self)
            elif not standing.member:
                self._drop(workspace_id)
                await self._say(type="gone", workspaceId=workspace_id, reason="not_found")
                return False
            elif standing.position > told and self._due.get(workspace_id) is None:
                # Kept by a process that died before it could announce it.
                self._due[workspace_id] = standing.position
                self._wake.set()
        return True

    def _drop(self, workspace_id: WorkspaceId) -> None:
        self._told.pop(workspace_id, None)
        self._due.pop(workspace_id, None)
        self._hub.unsubscribe(workspace_id, self)

    async def _say(self, **message: object) -> None:
        # As a frame: between here and the socket nothing else is offered to it.
        await self._connection.send_frame(message_frame(json.dumps(message, separators=(",", ":"))))


def _read(message: str) -> _Message | None:
    """Return what the client says; None when it is nothing that can be said here."""
    try:
        told = _MESSAGE.validate_json(message)
    except ValidationError:
        return None
    # No value holds a colon: with more of them than members, one stands there twice.
    return told if message.count(":") == len(_Message.model_fields) else None
