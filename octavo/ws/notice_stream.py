"""The notice stream: devices subscribe to workspaces and are notified of changes.

The server sends ``hello``, ``subscribed``, ``changed`` and ``gone``, the client ``subscribe`` and
``unsubscribe``. A slow client receives only the latest cursor of each workspace, so it uses no
memory here except for its subscriptions.
"""

import json
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

from antechamber.websocket.connection import ServerWebSocket
from antechamber.websocket.frames import Frame, message_frame
from antechamber.websocket.serving import SharedTimer
from attrs import define, field
from octavo_rules.identity import NO_MARK, AccountId, Cursor, Position, WorkspaceId
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from octavo.actors.notice_hub import NoticeHub
from octavo.store import StoreUnavailable
from octavo.store.queries.workspaces import WorkspaceAccess

SUBPROTOCOL = "octavo.notices.v1"
MAX_MESSAGE = 4096
"""Maximum size in bytes of a message from the client."""
MAX_SUBSCRIPTIONS = 1000
SENT_IN_A_ROW = 32
"""Notices that a slow device is sent before the stream looks for messages."""
GLANCE = 0.001
"""Seconds that the stream waits for messages of a device for which notices are due."""
PROTOCOL_ERROR, UNSUPPORTED, POLICY, TRY_LATER = 1002, 1003, 1008, 1013
_ID = r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"

ReadAccess = Callable[[Sequence[WorkspaceId]], Awaitable[dict[WorkspaceId, WorkspaceAccess]]]
StillValid = Callable[[], Awaitable[bool]]


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, cache_strings="keys")

    type: Literal["subscribe", "unsubscribe"]
    workspace_id: str = Field(pattern=_ID, alias="workspaceId")


_MESSAGE = TypeAdapter(_Message)
_PENDING = Cursor(Position(-1), NO_MARK)
"""The sent cursor of a subscription that is being set up."""


def changed_frame(workspace_id: WorkspaceId, cursor: Cursor) -> Frame:
    """Return the notice of a cursor, which any number of devices can be sent."""
    return message_frame(
        f'{{"type":"changed","workspaceId":"{workspace_id}","position":{cursor.position},'
        f'"mark":"{cursor.mark}"}}'
    )


@define(eq=False)
class NoticeStream:
    """The stream of one device, until it disconnects or loses its authorisation.

    Args:
        connection: the WebSocket of the device.
        hub: publishes changes.
        account_id: the account of the device.
        workspace_access: returns, for each existing workspace, whether the account is a member, and
            the cursor of the workspace.
        still_valid: returns whether the session or key is still valid.
        checks: calls `recheck_access` at intervals, in addition to the hub.
    """

    _connection: ServerWebSocket
    _hub: NoticeHub[Frame]
    account_id: AccountId
    _workspace_access: ReadAccess
    _still_valid: StillValid
    _checks: SharedTimer["NoticeStream"]
    # The subscriptions, with the latest cursor sent for each.
    _sent: dict[WorkspaceId, Cursor] = field(factory=dict, init=False)
    # The cursors still to be sent; None: the workspace is gone.
    _unsent: dict[WorkspaceId, Cursor | None] = field(factory=dict, init=False)
    # The latest cursors of subscriptions that are being set up: whether the account is a
    # member, and may know of them, is being looked up.
    _withheld: dict[WorkspaceId, Cursor] = field(factory=dict, init=False)
    _check_due: bool = field(default=False, init=False)

    async def run(self) -> None:
        """Serve the device. Raises `ConnectionGone`. Cancellation drops the subscriptions."""
        self._hub.enter(self)
        self._checks.set(self)
        try:
            await self._send(type="hello", protocol=SUBPROTOCOL)
            # One task for everything: a listener that waits takes little memory.
            while not self._check_due or await self._check():
                await self._send_due()
                patience = GLANCE if self._unsent else math.inf
                message = await self._connection.receive_or_wake(patience)
                if message is not None and not await self._answer(message):
                    return
        finally:
            self._checks.clear(self)
            for workspace_id in self._sent:
                self._hub.unsubscribe(workspace_id, self)
            self._hub.leave(self)

    # Called by the hub; these must not wait.

    def changed(
        self, workspace_id: WorkspaceId, cursor: Cursor, frame: Frame, *, certain: bool
    ) -> None:
        """Send the notice immediately if the socket accepts it, otherwise as soon as it does."""
        sent = self._sent.get(workspace_id)
        if sent is None or cursor == sent or (cursor.position <= sent.position and not certain):
            return
        if sent == _PENDING:
            withheld = self._withheld.get(workspace_id)
            if withheld is None or certain or cursor.position > withheld.position:
                self._withheld[workspace_id] = cursor
        elif not self._unsent and self._connection.offer_frame(frame):
            self._sent[workspace_id] = cursor
        else:
            self._send_later(workspace_id, cursor)

    def gone(self, workspace_id: WorkspaceId) -> None:
        """Notify the device that the workspace is gone."""
        sent = self._sent.pop(workspace_id, None)
        # While the subscription is being set up, the look-up decides what the device may know.
        if sent is not None and sent != _PENDING:
            self._send_later(workspace_id, None)

    def recheck_access(self) -> None:
        """Check session and memberships before anything else is done."""
        self._check_due = True
        self._connection.wake()

    # Requests of the device; each returns whether the stream continues.

    async def _answer(self, message: str | bytes) -> bool:
        if isinstance(message, bytes):
            await self._connection.close(UNSUPPORTED, "Messages must be text, in JSON.")
            return False
        request = _read(message)
        if request is None:
            await self._connection.close(
                PROTOCOL_ERROR, 'Send {"type": "subscribe", "workspaceId": "…"}.'
            )
            return False
        workspace_id = WorkspaceId(request.workspace_id)
        if request.type == "unsubscribe":
            self._drop(workspace_id)
            return True
        return await self._subscribe(workspace_id)

    async def _subscribe(self, workspace_id: WorkspaceId) -> bool:
        if len(self._sent) >= MAX_SUBSCRIPTIONS and workspace_id not in self._sent:
            await self._connection.close(
                POLICY, f"A stream may have at most {MAX_SUBSCRIPTIONS} subscriptions."
            )
            return False
        # Registered first, so that no change is missed while the store is read.
        before = self._sent.setdefault(workspace_id, _PENDING)
        self._hub.subscribe(workspace_id, self)
        try:
            access = (await self._workspace_access([workspace_id])).get(workspace_id)
        except StoreUnavailable:
            await self._connection.close(TRY_LATER, "The workspace can't be read now.")
            return False
        withheld = self._withheld.pop(workspace_id, None)
        sent = self._sent.get(workspace_id)
        if sent is None and before != _PENDING:
            # It was dropped meanwhile, and the device has been notified.
            return True
        if access is None or not access.member:
            self._drop(workspace_id)
            await self._send(type="gone", workspaceId=workspace_id, reason="not_found")
            return True
        if sent is None:
            await self._send(type="gone", workspaceId=workspace_id, reason="deleted")
            return True
        # A cursor that was sent meanwhile may be newer than the one that was read.
        cursor = access.cursor if sent == before else sent
        if withheld is not None and withheld.position > cursor.position:
            cursor = withheld
        self._sent[workspace_id] = cursor
        if cursor == access.cursor:
            # The hub compares what follows with it.
            self._hub.announce(workspace_id, cursor)
        await self._send(
            type="subscribed",
            workspaceId=workspace_id,
            position=cursor.position,
            mark=cursor.mark,
        )
        return True

    # Notices and checks that are due

    def _send_later(self, workspace_id: WorkspaceId, cursor: Cursor | None) -> None:
        if not self._unsent:
            self._connection.wake()
        self._unsent[workspace_id] = cursor

    async def _send_due(self) -> None:
        for _ in range(SENT_IN_A_ROW):
            if not self._unsent or self._check_due:
                return
            workspace_id, cursor = next(iter(self._unsent.items()))
            del self._unsent[workspace_id]
            if cursor is None:
                await self._send(type="gone", workspaceId=workspace_id, reason="deleted")
            elif cursor != self._sent.get(workspace_id, cursor):
                self._sent[workspace_id] = cursor
                await self._connection.send_frame(changed_frame(workspace_id, cursor))

    async def _check(self) -> bool:
        """Check session and memberships; return whether the stream continues."""
        self._check_due = False
        self._checks.set(self)
        try:
            if not await self._still_valid():
                await self._connection.close(POLICY, "The session or key has ended: sign in again.")
                return False
            if not await self._check_workspaces():
                await self._connection.close(POLICY, "A membership has ended.")
                return False
        except StoreUnavailable:
            # Unknown at present; the next check decides.
            return True
        return True

    async def _check_workspaces(self) -> bool:
        """Send missed notices; return False when a membership has ended."""
        subscribed = {
            workspace_id: sent for workspace_id, sent in self._sent.items() if sent != _PENDING
        }
        workspace_access = await self._workspace_access([*subscribed])
        for workspace_id, before in subscribed.items():
            sent = self._sent.get(workspace_id)
            if sent is None or sent == _PENDING:
                continue
            access = workspace_access.get(workspace_id)
            if access is None:
                # Deleted by a process that died before it published the change.
                self.gone(workspace_id)
                self._hub.unsubscribe(workspace_id, self)
            elif not access.member:
                self._drop(workspace_id)
                await self._send(type="gone", workspaceId=workspace_id, reason="not_found")
                return False
            elif sent == before != access.cursor:
                # Committed by a process that died before it published the change.
                self._hub.announce(workspace_id, access.cursor)
        return True

    def _drop(self, workspace_id: WorkspaceId) -> None:
        self._sent.pop(workspace_id, None)
        self._unsent.pop(workspace_id, None)
        self._hub.unsubscribe(workspace_id, self)

    async def _send(self, **message: object) -> None:
        # As a frame, since offered and ordinary messages must not interleave.
        await self._connection.send_frame(message_frame(json.dumps(message, separators=(",", ":"))))


def _read(message: str) -> _Message | None:
    """Return the parsed message of the client; None when it is invalid."""
    try:
        request = _MESSAGE.validate_json(message)
    except ValidationError:
        return None
    # No value contains a colon, so more colons than members mean a duplicate key.
    return request if message.count(":") == len(_Message.model_fields) else None
