"""Tell those who listen to a workspace of its newest position.

Whoever announces never waits. A position that is overtaken before it was told is not told at all:
listeners learn the newest one, and read the feed for what lies between.
"""

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

import trio

from octavo.model.identity import AccountId, Position, WorkspaceId

TURN = 32
"""So many listeners are told before others on the loop have their turn."""

F = TypeVar("F")
F_contra = TypeVar("F_contra", contravariant=True)


class Listener(Protocol[F_contra]):
    """Somebody who is told. None of these may wait or raise."""

    @property
    def account_id(self) -> AccountId:
        """On whose behalf it listens."""

    def changed(self, workspace_id: WorkspaceId, position: Position, frame: F_contra) -> None:
        """Learn of a position; ``frame`` tells the same, encoded once for everybody."""

    def gone(self, workspace_id: WorkspaceId) -> None:
        """Learn that the workspace was deleted."""

    def look_again(self) -> None:
        """Learn that the rights of the account may have changed."""


class NoticeHub(Generic[F]):
    """Knows who listens to what.

    Args:
        encode: makes the frame that tells a position.
    """

    def __init__(self, encode: Callable[[WorkspaceId, Position], F]) -> None:
        self._encode = encode
        self._listeners: dict[WorkspaceId, dict[Listener[F], None]] = {}
        self._of_account: dict[AccountId, dict[Listener[F], None]] = {}
        self._due: dict[WorkspaceId, Position] = {}
        self._wake = trio.Event()

    def enter(self, listener: Listener[F]) -> None:
        """Let ``listener`` know when its account's rights change; until it leaves."""
        self._of_account.setdefault(listener.account_id, {})[listener] = None

    def leave(self, listener: Listener[F]) -> None:
        """Tell ``listener`` nothing any more; its subscriptions are dropped before."""
        of_account = self._of_account[listener.account_id]
        del of_account[listener]
        if not of_account:
            del self._of_account[listener.account_id]

    def subscribe(self, workspace_id: WorkspaceId, listener: Listener[F]) -> None:
        """Tell ``listener`` of every position of the workspace from now on."""
        self._listeners.setdefault(workspace_id, {})[listener] = None

    def unsubscribe(self, workspace_id: WorkspaceId, listener: Listener[F]) -> None:
        """Tell ``listener`` of the workspace no more, if it was told."""
        listeners = self._listeners.get(workspace_id, {})
        listeners.pop(listener, None)
        if not listeners:
            self._listeners.pop(workspace_id, None)

    def listened_to(self) -> list[WorkspaceId]:
        """Return the workspaces that somebody listens to."""
        return list(self._listeners)

    def announce(self, workspace_id: WorkspaceId, position: Position) -> None:
        """Have a position told, which is durable."""
        if workspace_id in self._listeners and position > self._due.get(workspace_id, 0):
            self._due[workspace_id] = position
            self._wake.set()

    def announce_gone(self, workspace_id: WorkspaceId) -> None:
        """Tell that a workspace was deleted."""
        self._due.pop(workspace_id, None)
        for listener in list(self._listeners.pop(workspace_id, ())):
            listener.gone(workspace_id)

    def look_again(self, account_id: AccountId) -> None:
        """Tell that the rights of an account may have changed: a session ended, a role."""
        for listener in list(self._of_account.get(account_id, ())):
            listener.look_again()

    async def run(self) -> None:
        """Tell what is announced, until cancelled."""
        while True:
            await self._wake.wait()
            self._wake = trio.Event()
            while self._due:
                # The one that waits longest; announced again meanwhile, it waits behind the others.
                workspace_id = next(iter(self._due))
                await self._tell(workspace_id, self._due.pop(workspace_id))

    async def _tell(self, workspace_id: WorkspaceId, position: Position) -> None:
        frame = self._encode(workspace_id, position)
        for count, listener in enumerate(list(self._listeners.get(workspace_id, ())), start=1):
            # It may have left while others had their turn.
            if listener in self._listeners.get(workspace_id, ()):
                listener.changed(workspace_id, position, frame)
            if count % TURN == 0:
                await trio.lowlevel.checkpoint()
        await trio.lowlevel.checkpoint()
