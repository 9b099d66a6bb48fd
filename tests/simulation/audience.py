"""The lasting listeners of a process: each learns at once of every position that is announced."""

from random import Random

import trio
from greenroom.testing import current_schedule, note
from octavo_rules.identity import AccountId, Cursor, Position, WorkspaceId

from octavo.actors.notice_hub import NoticeHub
from tests.simulation.bare_process import Violation
from tests.simulation.disk import ANN, Disk

Frame = tuple[WorkspaceId, Cursor]
NUMBER = 3
"""Of listeners of a process."""
RESTLESS = 0.1
"""How often a listener leaves or returns when a position is announced, before and after it."""


class LastingListener:
    """Listens to workspaces from the start of a process, and checks its notices against the disk.

    Attributes:
        name: what reports call it.
        told: the newest position of each workspace that it was notified of.
        due: the positions that it has to be notified of, each with the time since when.
    """

    def __init__(self, name: str, disk: Disk, violated: Violation) -> None:
        self.name = name
        self._disk = disk
        self._violated = violated
        self.told = dict(disk.committed)
        self.due: dict[WorkspaceId, tuple[Position, float]] = {}

    @property
    def account_id(self) -> AccountId:
        return ANN

    def expect(self, workspace_id: WorkspaceId, position: Position) -> None:
        """Record that a position was announced; one that was told is not told again."""
        if position <= self.told[workspace_id]:
            return
        _, since = self.due.get(workspace_id, (position, trio.current_time()))
        self.due[workspace_id] = position, since

    def changed(
        self, workspace_id: WorkspaceId, cursor: Cursor, frame: Frame, *, certain: bool
    ) -> None:
        position = cursor.position
        note(f"{self.name} is told {workspace_id} at {position}", f"{self.name}/{workspace_id}")
        if frame != (workspace_id, cursor):
            self._violated(f"{frame} was told for {workspace_id} at {position}")
        if position > self._disk.committed[workspace_id]:
            self._violated(f"{workspace_id} was told at {position} before it was committed")
        if position < self.told[workspace_id] and not certain:
            return
        self.told[workspace_id] = position
        due, since = self.due.get(workspace_id, (position, trio.current_time()))
        # Unless it passes early, time passes when nothing else can be done.
        if since < trio.current_time() and not current_schedule().early_time:
            late = trio.current_time() - since
            self._violated(f"{self.name} was told {workspace_id} at {position} {late:g} s late")
        if position >= due:
            self.due.pop(workspace_id, None)

    def gone(self, workspace_id: WorkspaceId) -> None:
        self._violated(f"{workspace_id} was told to be gone")

    def recheck_access(self) -> None:
        self._violated("rights were told to have changed")


class Audience:
    """The lasting listeners of a process. All but the first leave and return at random moments."""

    def __init__(
        self, name: str, hub: NoticeHub[Frame], disk: Disk, random: Random, violated: Violation
    ) -> None:
        self._name = name
        self._hub = hub
        self._random = random
        self._violated = violated
        self._announced = dict(disk.committed)
        self.listeners = [
            LastingListener(f"{name}'s listener {number}", disk, violated)
            for number in range(NUMBER)
        ]
        self._subscribed: dict[tuple[WorkspaceId, LastingListener], None] = {}
        for workspace_id in disk.committed:
            for listener in self.listeners:
                self._subscribe(workspace_id, listener)

    def announce(self, workspace_id: WorkspaceId, cursor: Cursor) -> None:
        """Announce a cursor to the hub."""
        position = cursor.position
        self._turn_over(workspace_id)
        self._announced[workspace_id] = max(position, self._announced[workspace_id])
        for listener in self.listeners:
            if (workspace_id, listener) in self._subscribed:
                listener.expect(workspace_id, position)
        self._hub.announce(workspace_id, cursor)
        self._turn_over(workspace_id)

    def require_announced(self, workspace_id: WorkspaceId, position: Position) -> None:
        """Report a position of a receipt that was not announced before its sender had it."""
        if position > self._announced[workspace_id]:
            announced = self._announced[workspace_id]
            self._violated(
                f"{self._name} accepts {workspace_id} at {position}, and announced {announced}"
            )

    def faults_at_rest(self) -> list[str]:
        """Return the notices that are due, when everything is done."""
        return [
            f"{listener.name} was told {listener.told[workspace_id]} of {workspace_id},"
            f" and {position} is due since {since:g} s"
            for listener in self.listeners
            for workspace_id, (position, since) in listener.due.items()
        ]

    def _turn_over(self, workspace_id: WorkspaceId) -> None:
        if self._random.random() >= RESTLESS:
            return
        listener = self._random.choice(self.listeners[1:])
        if (workspace_id, listener) in self._subscribed:
            del self._subscribed[workspace_id, listener]
            listener.due.pop(workspace_id, None)
            self._hub.unsubscribe(workspace_id, listener)
        else:
            self._subscribe(workspace_id, listener)

    def _subscribe(self, workspace_id: WorkspaceId, listener: LastingListener) -> None:
        self._subscribed[workspace_id, listener] = None
        self._hub.subscribe(workspace_id, listener)
        # What was announced before is read from the store, as `NoticeStream` does.
        announced = self._announced[workspace_id]
        listener.told[workspace_id] = max(announced, listener.told[workspace_id])
