"""One key of a directory: a cell that is awake only while it is of use."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Literal, Protocol

from octavo.actors.core.actor import Actor
from octavo.actors.core.cell import Cell
from octavo.actors.core.options import ActorOptions
from octavo.actors.core.quarantine import CrashRecord
from octavo.actors.core.runtime import Runtime
from octavo.actors.core.statistics import ActorStatistics

KeyState = Literal["asleep", "in line", "awake", "leaving", "resting", "quarantined"]
"""Where a key stands.

``asleep``: no actor. ``in line``: waits for a place among the awake. ``awake``:
has an actor. ``leaving``: its actor is being put to sleep; messages collect for
the next one. ``resting``: crashed, waits for its backoff. ``quarantined``:
crashed too often; messages are refused.
"""


class DirectoryCallbacks(Protocol):
    """What a cell tells its directory."""

    def fell_idle(self, cell: VirtualActorCell) -> None:
        """Its actor waits for messages."""

    def got_busy(self, cell: VirtualActorCell) -> None:
        """A message came for it."""

    def is_awaited(self, cell: VirtualActorCell) -> None:
        """Another actor is about to wait for it."""

    def proved_itself(self, cell: VirtualActorCell) -> None:
        """Its new actor handled a first message."""

    def lost_interest(self, cell: VirtualActorCell) -> None:
        """The last message that waited was withdrawn."""


class VirtualActorCell(Cell):
    """The cell of one key, with where it stands and what is remembered of it."""

    __slots__ = ("_directory", "key", "key_state", "record")

    def __init__(
        self,
        household: DirectoryCallbacks,
        parent: str,
        key: Hashable,
        factory: Callable[[], Actor[Any]],
        options: ActorOptions,
        runtime: Runtime,
        statistics: ActorStatistics,
    ) -> None:
        """Make a sleeping cell that accepts messages."""
        super().__init__(parent, key, factory, options, runtime, statistics, park_observer=self)
        self._directory = household
        self.key = key
        self.record: CrashRecord | None = None
        self.key_state: KeyState = "asleep"
        self.open()

    def parked(self) -> None:
        """Hear from the mailbox that the actor waits."""
        self._directory.fell_idle(self)

    def woken(self) -> None:
        """Hear from the mailbox that a message came."""
        self._directory.got_busy(self)

    def emptied(self) -> None:
        """Hear from the mailbox that the last message was withdrawn."""
        self._directory.lost_interest(self)

    def first_served(self) -> None:
        """Hear that the present actor handled its first message."""
        self._directory.proved_itself(self)

    def is_awaited(self) -> None:
        """Hear that one more actor is about to wait for this one."""
        self._directory.is_awaited(self)

    def finish(self) -> None:
        """End after the present message; the key's others are for its next actor."""
        self.retire("finished")

    @property
    def forgettable(self) -> bool:
        """Whether nothing is lost when the directory drops this sleeping key."""
        return self.record is None and not self.mailbox.in_use and not self.watched
