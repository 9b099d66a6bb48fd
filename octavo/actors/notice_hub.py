"""Notify the listeners of a workspace of its newest position.

Announcing never blocks. A position that is superseded before its delivery is skipped: listeners
receive the newest one, and read the feed for the changes in between.
"""

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

import trio

from octavo.model.identity import AccountId, Position, WorkspaceId

NOTIFIED_PER_TURN = 32
"""Listeners that are notified before the loop yields to other tasks."""

F = TypeVar("F")
F_contra = TypeVar("F_contra", contravariant=True)


class Listener(Protocol[F_contra]):
    """A recipient of notifications. Its methods must neither block nor raise."""

    @property
    def account_id(self) -> AccountId:
        """The account whose rights the listener uses."""

    def changed(self, workspace_id: WorkspaceId, position: Position, frame: F_contra) -> None:
        """Receive a new position; ``frame`` is its encoding, shared by all listeners."""

    def gone(self, workspace_id: WorkspaceId) -> None:
        """Receive the deletion of the workspace."""

    def recheck_access(self) -> None:
        """Receive a possible change of the account's rights."""


class NoticeHub(Generic[F]):
    """The listeners of each workspace and account, and the notifications that are due.

    Args:
        encode: encodes a position as the frame that listeners receive.
    """

    def __init__(self, encode: Callable[[WorkspaceId, Position], F]) -> None:
        self._encode = encode
        self._listeners: dict[WorkspaceId, dict[Listener[F], None]] = {}
        self._of_account: dict[AccountId, dict[Listener[F], None]] = {}
        self._due: dict[WorkspaceId, Position] = {}
        self._wake = trio.Event()

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
        """Notify ``listener`` of every new position of the workspace from now on."""
        self._listeners.setdefault(workspace_id, {})[listener] = None

    def unsubscribe(self, workspace_id: WorkspaceId, listener: Listener[F]) -> None:
        """Stop notifying ``listener`` of the workspace; does nothing if it is not subscribed."""
        listeners = self._listeners.get(workspace_id, {})
        listeners.pop(listener, None)
        if not listeners:
            self._listeners.pop(workspace_id, None)

    def listened_to(self) -> list[WorkspaceId]:
        """Return the workspaces that have listeners."""
        return list(self._listeners)

    def announce(self, workspace_id: WorkspaceId, position: Position) -> None:
        """Schedule the notification of a position, which must be durable."""
        if workspace_id in self._listeners and position > self._due.get(workspace_id, 0):
            self._due[workspace_id] = position
            self._wake.set()

    def announce_gone(self, workspace_id: WorkspaceId) -> None:
        """Notify the listeners of a workspace that it was deleted, and drop their subscriptions."""
        self._due.pop(workspace_id, None)
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
        while True:
            await self._wake.wait()
            self._wake = trio.Event()
            while self._due:
                # The oldest first; a workspace that is announced again meanwhile goes to the end.
                workspace_id = next(iter(self._due))
                await self._notify(workspace_id, self._due.pop(workspace_id))

    async def _notify(self, workspace_id: WorkspaceId, position: Position) -> None:
        frame = self._encode(workspace_id, position)
        listeners = tuple(self._listeners.get(workspace_id, ()))
        for begin in range(0, len(listeners), NOTIFIED_PER_TURN):
            # Some may have unsubscribed while other tasks ran.
            subscribed = self._listeners.get(workspace_id, ())
            for listener in listeners[begin : begin + NOTIFIED_PER_TURN]:
                if listener in subscribed:
                    listener.changed(workspace_id, position, frame)
            await trio.lowlevel.checkpoint()
