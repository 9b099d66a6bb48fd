"""Directories as callers hold them: references to virtual actors by key."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any, Generic, TypeVar

from octavo.actors.core.actor import Actor
from octavo.actors.core.cell import Cell
from octavo.actors.core.directory_child import DirectoryChild
from octavo.actors.core.message import Message
from octavo.actors.core.monitor import Watchers
from octavo.actors.core.ref import ActorRef
from octavo.actors.core.statistics import DirectoryStatistics

K = TypeVar("K", bound=Hashable)
A = TypeVar("A", bound=Actor[Any])
Result = TypeVar("Result")


class KeyRef(ActorRef[A]):
    """A reference to the actor of one key; each message finds or wakes it."""

    __slots__ = ("_directory", "_key")

    def __init__(self, directory: DirectoryChild, key: Hashable) -> None:
        """Refer to ``key``; nothing is activated by this."""
        self._directory = directory
        self._key = key

    @property
    def path(self) -> str:
        """Where the actor stands in the tree."""
        return f"{self._directory.path}/{self._key}"

    def resolve(self) -> Cell:
        """The key's cell, activated if it sleeps."""
        return self._directory.awaken(self._key)

    def watchers(self) -> Watchers:
        """Those who want to hear of this key's ends."""
        return self._directory.remember(self._key).watchers


class Directory(Generic[K, A]):
    """The virtual actors of one kind, by key; made by ``supervisor.add(DirectorySpec(...))``."""

    def __init__(self, child: DirectoryChild) -> None:
        """Refer to the directory under supervision; `Branch` makes it."""
        self._child = child

    def __str__(self) -> str:
        """The path."""
        return self._child.path

    @property
    def path(self) -> str:
        """Where the directory stands in the tree."""
        return self._child.path

    def ref(self, key: K) -> ActorRef[A]:
        """A reference to the actor of ``key``. Nothing is activated by it."""
        return KeyRef(self._child, key)

    async def ask(
        self,
        key: K,
        message: Message[A, Result],
        *,
        timeout: float = math.inf,
        admission: float | None = None,
    ) -> Result:
        """Ask the actor of ``key``; see `ActorRef.ask`.

        The time that an activation or a place among the awake takes counts.

        Raises:
            ActorQuarantined: the key crashed too often; nothing happened.
        """
        return await KeyRef(self._child, key).ask(message, timeout=timeout, admission=admission)

    async def tell(
        self, key: K, message: Message[A, None], *, admission: float | None = None
    ) -> None:
        """Tell the actor of ``key``; see `ActorRef.tell`."""
        await KeyRef(self._child, key).tell(message, admission=admission)

    def tell_nowait(self, key: K, message: Message[A, None]) -> None:
        """As `tell`, without waiting for a place: a full mailbox raises `MailboxFull`."""
        self.ref(key).tell_nowait(message)

    def statistics(self) -> DirectoryStatistics:
        """Counts for operators; reads all remembered keys."""
        return self._child.statistics()
