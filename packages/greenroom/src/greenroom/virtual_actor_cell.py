"""The cell of one key of a directory, which has an actor only while it is needed."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Literal, Protocol

from greenroom.cell import Cell
from greenroom.message import MessageTypes
from greenroom.options import ActorOptions
from greenroom.quarantine import CrashRecord
from greenroom.runtime import Runtime
from greenroom.statistics import ActorStatistics

KeyState = Literal["asleep", "queued", "awake", "leaving", "backing off", "quarantined"]
"""The state of a key.

``asleep``: it has no actor. ``queued``: it waits until another actor is passivated. ``awake``: it
has an actor. ``leaving``: its actor is being passivated; messages are collected for the next one.
``backing off``: it crashed and waits for its backoff. ``quarantined``: it crashed too often;
messages are refused.
"""


class DirectoryCallbacks(Protocol):
    """The events of a cell that its directory handles."""

    def became_idle(self, cell: VirtualActorCell) -> None:
        """Handle that the cell's actor waits for messages."""

    def became_busy(self, cell: VirtualActorCell) -> None:
        """Handle that a message arrived for the cell."""

    def on_awaited(self, cell: VirtualActorCell) -> None:
        """Handle that another actor is about to wait for the cell."""

    def handled_first_message(self, cell: VirtualActorCell) -> None:
        """Handle that the cell's new actor handled its first message."""

    def all_withdrawn(self, cell: VirtualActorCell) -> None:
        """Handle that the last waiting message was withdrawn."""


class VirtualActorCell(Cell):
    """The cell of one key, with the state of the key and its record of crashes."""

    __slots__ = ("_directory", "_idle", "key", "key_state", "record")

    def __init__(
        self,
        directory: DirectoryCallbacks,
        parent: str,
        key: Hashable,
        factory: Callable[[], object],
        options: ActorOptions,
        runtime: Runtime,
        statistics: ActorStatistics,
        message_types: MessageTypes | None,
    ) -> None:
        """Create a cell without an actor, which accepts messages."""
        super().__init__(
            parent, key, factory, options, runtime, statistics, message_types, park_observer=self
        )
        self._directory = directory
        self.key = key
        self.record: CrashRecord | None = None
        # Whether the directory counts the actor as idle: then it is informed of the next message.
        self._idle = False
        self.key_state: KeyState = "asleep"
        self.open()

    def parked(self) -> None:
        """Handle that the actor waits for messages."""
        self._idle = True
        self._directory.became_idle(self)

    def woken(self) -> None:
        """Handle that a message arrived."""
        if self._idle:
            self._idle = False
            self._directory.became_busy(self)

    def emptied(self) -> None:
        """Handle that the last message was withdrawn."""
        self._directory.all_withdrawn(self)

    def handled_first_message(self) -> None:
        """Handle that the current actor handled its first message."""
        self._directory.handled_first_message(self)

    def on_awaited(self) -> None:
        """Handle that one more actor is about to wait for this one."""
        self._directory.on_awaited(self)

    def finish(self) -> None:
        """End after the current message; the key's other messages go to its next actor."""
        self.retire("finished")

    @property
    def forgettable(self) -> bool:
        """Whether the directory can drop this sleeping key without losing anything."""
        return self.record is None and not self.mailbox.in_use and not self.watched
