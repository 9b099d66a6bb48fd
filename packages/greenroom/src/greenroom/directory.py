"""Directories as callers hold them: references to virtual actors by key."""

from __future__ import annotations

import math
from collections.abc import Coroutine, Hashable
from typing import Any, Generic, TypeVar

from greenroom.cell import Cell
from greenroom.directory_child import DirectoryChild
from greenroom.message import MessageFor
from greenroom.monitor import Watchers
from greenroom.ref import ActorRef
from greenroom.statistics import DirectoryStatistics

K = TypeVar("K", bound=Hashable)
M = TypeVar("M")
M_contra = TypeVar("M_contra", contravariant=True)
Result = TypeVar("Result")
Default = TypeVar("Default")


class KeyRef(ActorRef[M_contra]):
    """A reference to the actor of one key; each message activates it if need be."""

    __slots__ = ("_directory", "_key")

    def __init__(self, directory: DirectoryChild, key: Hashable) -> None:
        """Refer to ``key`` without activating it."""
        self._directory = directory
        self._key = key

    @property
    def path(self) -> str:
        """The actor's path in the tree."""
        return f"{self._directory.path}/{self._key}"

    def resolve(self, message: object) -> Cell:
        """Return the key's cell, and activate it if it is asleep; see `ActorRef.resolve`."""
        return self._directory.activate(self._key, message)

    def watchers(self) -> Watchers:
        """Return the watchers of this key's ends."""
        return self._directory.cell(self._key).watchers


class Directory(Generic[K, M_contra]):
    """Virtual actors of one kind, by key; created by ``supervisor.add(DirectorySpec(...))``."""

    def __init__(self, child: DirectoryChild) -> None:
        """Refer to the directory under supervision; `Branch` creates it."""
        self._child = child

    def __str__(self) -> str:
        """Return the path."""
        return self._child.path

    @property
    def path(self) -> str:
        """The directory's path in the tree."""
        return self._child.path

    def ref(self, key: K) -> ActorRef[M_contra]:
        """Return a reference to the actor of ``key`` without activating it."""
        return KeyRef(self._child, key)

    # Not an async function: that saves every ask one coroutine.
    def ask(
        self: Directory[K, M],
        key: K,
        message: MessageFor[M, Result],
        *,
        timeout: float = math.inf,
        admission: float | None = None,
    ) -> Coroutine[Any, Any, Result]:
        """Ask the actor of ``key``; see `ActorRef.ask`.

        ``timeout`` includes the time until the actor is activated.

        Raises:
            ActorQuarantined: the key crashed too often; the message was not executed.
        """
        ref: KeyRef[M] = KeyRef(self._child, key)
        return ref.ask(message, timeout=timeout, admission=admission)

    def answer(
        self: Directory[K, M], key: K, message: MessageFor[M, Result], default: Default
    ) -> Result | Default:
        """Return the answer that the actor of ``key`` has at once, or ``default``.

        An actor that is awake and waits for messages answers if its `Actor.answer` does. In every
        other state this is ``default``, also for a stopped key and one in quarantine, where `ask`
        raises. Activates and sends nothing. What `Actor.answer` raises propagates.
        """
        answer: Result | Default = self._child.answer(key, message, default)
        return answer

    async def tell(
        self: Directory[K, M],
        key: K,
        message: MessageFor[M, None],
        *,
        admission: float | None = None,
    ) -> None:
        """Tell the actor of ``key``; see `ActorRef.tell`."""
        ref: KeyRef[M] = KeyRef(self._child, key)
        await ref.tell(message, admission=admission)

    def tell_nowait(self: Directory[K, M], key: K, message: MessageFor[M, None]) -> None:
        """Do the same as `tell` without waiting: a full mailbox raises `MailboxFull`."""
        self.ref(key).tell_nowait(message)

    def statistics(self) -> DirectoryStatistics:
        """Return counts for operators; takes time linear in the number of tracked keys."""
        return self._child.statistics()
