"""Notify the listeners of a workspace of its newest cursor.

Announcing never blocks. A cursor that is superseded before its delivery is skipped: listeners
receive the newest one, and read the feed for the changes in between.

Announcements may arrive late, so an earlier position says nothing by itself. If the mark is another
one, the history of the database may have been taken back: the store is asked then.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

import trio
from octavo_rules.identity import AccountId, Cursor, WorkspaceId

from octavo.store import StoreUnavailable

NOTIFIED_PER_TURN = 32
"""Listeners that are notified before the loop yields to other tasks."""

MAX_READS = 5
"""Reads of a cursor while the workspace changes, at most."""

F = TypeVar("F")
F_contra = TypeVar("F_contra", contravariant=True)


class Listener(Protocol[F_contra]):
    """A recipient of notifications. Its methods must neither block nor raise."""

    @property
    def account_id(self) -> AccountId:
        """The account whose rights the listener uses."""

    def changed(
        self, workspace_id: WorkspaceId, cursor: Cursor, frame: F_contra, *, certain: bool
    ) -> None:
        """Receive a new cursor; ``frame`` is its encoding, shared by all listeners.

        One with an earlier position may be late, unless it is ``certain``.
        """

    def gone(self, workspace_id: WorkspaceId) -> None:
        """Receive the deletion of the workspace."""

    def recheck_access(self) -> None:
        """Receive a possible change of the account's rights."""


class NoticeHub(Generic[F]):
    """The listeners of each workspace and account, and the notifications that are due.

    Args:
        encode: encodes a cursor as the frame that listeners receive.
        read: returns the cursor of a workspace in the store; None without the workspace.
    """

    def __init__(
        self,
        encode: Callable[[WorkspaceId, Cursor], F],
        read: Callable[[WorkspaceId], Awaitable[Cursor | None]],
    ) -> None:
        self._encode = encode
        self._read = read
        self._listeners: dict[WorkspaceId, dict[Listener[F], None]] = {}
        self._of_account: dict[AccountId, dict[Listener[F], None]] = {}
        # The last announced cursor of each workspace that has listeners.
        self._newest: dict[WorkspaceId, Cursor] = {}
        self._due: dict[WorkspaceId, Cursor] = {}
        self._wake = trio.Event()
        # The workspaces whose cursor has to be read from the store.
        self._doubtful: dict[WorkspaceId, None] = {}
        self._ask = trio.Event()

    def enter(self, listener: Listener[F]) -> None:
        """Notify ``listener`` of changes to the rights of its account, until it leaves."""
        self._of_account.setdefault(listener.account_id, {})[listener] = None

    def leave(self, listener: Listener[F]) -> None:
        """Stop notifying ``listener`` of its account. It must have unsubscribed before."""
        of_account = self._of_account[listener.account_id]
        del of_account[listener]
        if not of_account:
            del self._of_account[listener.account_id]

    def subscribe(self, workspace_id: WorkspaceId, listener: Listener[F]) -> None:
        """Notify ``listener`` of every new cursor of the workspace from now on."""
        self._listeners.setdefault(workspace_id, {})[listener] = None

    def unsubscribe(self, workspace_id: WorkspaceId, listener: Listener[F]) -> None:
        """Stop notifying ``listener`` of the workspace; does nothing if it is not subscribed."""
        listeners = self._listeners.get(workspace_id, {})
        listeners.pop(listener, None)
        if not listeners:
            self._listeners.pop(workspace_id, None)
            self._newest.pop(workspace_id, None)

    def listened_to(self) -> list[WorkspaceId]:
        """Return the workspaces that have listeners."""
        return list(self._listeners)

    def announce(self, workspace_id: WorkspaceId, cursor: Cursor) -> None:
        """Schedule the notification of a cursor, which must be durable."""
        newest = self._newest.get(workspace_id)
        if workspace_id not in self._listeners or cursor == newest:
            return
        if newest is None or cursor.position > newest.position:
            self._newest[workspace_id] = self._due[workspace_id] = cursor
            self._wake.set()
        else:
            self._doubtful[workspace_id] = None
            self._ask.set()

    def announce_gone(self, workspace_id: WorkspaceId) -> None:
        """Notify the listeners of a workspace that it was deleted, and drop their subscriptions."""
        self._due.pop(workspace_id, None)
        self._newest.pop(workspace_id, None)
        for listener in list(self._listeners.pop(workspace_id, ())):
            listener.gone(workspace_id)

    def recheck_access(self, account_id: AccountId) -> None:
        """Notify an account's listeners that its rights may have changed."""
        for listener in list(self._of_account.get(account_id, ())):
            listener.recheck_access()

    def recheck_all(self) -> None:
        """Notify every listener that the rights of its account may have changed."""
        for account_id in list(self._of_account):
            self.recheck_access(account_id)

    async def run(self) -> None:
        """Deliver scheduled notifications, until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._ask_store)
            while True:
                await self._wake.wait()
                self._wake = trio.Event()
                while self._due:
                    # The oldest first; one that is announced again meanwhile goes to the end.
                    workspace_id = next(iter(self._due))
                    await self._notify(workspace_id, self._due.pop(workspace_id), certain=False)

    async def _ask_store(self) -> None:
        while True:
            await self._ask.wait()
            self._ask = trio.Event()
            while self._doubtful:
                workspace_id, _ = self._doubtful.popitem()
                # If the store can't be read, the checks of the listeners announce it again.
                with suppress(StoreUnavailable):
                    await self._look_up(workspace_id)

    async def _look_up(self, workspace_id: WorkspaceId) -> None:
        """Notify of the cursor that the store has."""
        for _ in range(MAX_READS):
            before = self._newest.get(workspace_id)
            cursor = await self._read(workspace_id)
            if self._newest.get(workspace_id) == before:
                break
        else:
            # It was announced again during each read; what was announced last is delivered.
            return
        if cursor is None:
            self.announce_gone(workspace_id)
        elif workspace_id in self._listeners:
            self._due.pop(workspace_id, None)
            self._newest[workspace_id] = cursor
            await self._notify(workspace_id, cursor, certain=True)

    async def _notify(self, workspace_id: WorkspaceId, cursor: Cursor, *, certain: bool) -> None:
        frame = self._encode(workspace_id, cursor)
        listeners = tuple(self._listeners.get(workspace_id, ()))
        for begin in range(0, len(listeners), NOTIFIED_PER_TURN):
            # Some may have unsubscribed while other tasks ran.
            subscribed = self._listeners.get(workspace_id, ())
            for listener in listeners[begin : begin + NOTIFIED_PER_TURN]:
                if listener in subscribed:
                    listener.changed(workspace_id, cursor, frame, certain=certain)
            await trio.lowlevel.checkpoint()
