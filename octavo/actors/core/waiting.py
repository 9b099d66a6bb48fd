"""Who waits for whom: an ask that would close a circle is refused.

While an actor's handler waits for another actor, it handles nothing. If that
other actor, directly or through more actors, waits for the first, neither ever
goes on. Every wait of an actor is therefore an edge of a graph, noted before
it begins; the wait that would close a circle is the last one to be noted, so a
look from the target along the edges finds each circle before it exists.

An edge lasts as long as its envelope is pending, not as long as its task: an
answer that was given but not yet seen holds nobody up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import Any

import trio

from octavo.actors.core.envelope import Envelope
from octavo.actors.core.errors import ActorStopped, AskCycle

_current_waiter: ContextVar[Waiter | None] = ContextVar("octavo_actor", default=None)
"""Which actor the running code belongs to: a constant key; the values live in tasks' contexts."""


class Group:
    """The paths of children that are being restarted together."""

    def __init__(self, paths: Iterable[str]) -> None:
        """Hold the paths."""
        self._paths = tuple(paths)

    def waits(self, waiter: Waiter) -> bool:
        """Whether ``waiter`` belongs to the group, or one of the group waits for it."""
        return self._holds(waiter) or any(self._holds(other) for other in waiter.awaited_by())

    def _holds(self, waiter: Waiter) -> bool:
        path = f"{waiter.path}/"
        return any(path.startswith(f"{mine}/") for mine in self._paths)


class Waiter:
    """One actor as a node of the graph of waits."""

    __slots__ = ("_awaited_by", "_group", "_task", "_waits")

    def __init__(self) -> None:
        """Make a node with no edges."""
        self._task: trio.lowlevel.Task | None = None
        self._waits: dict[Envelope[Any], Waiter] | None = None
        self._awaited_by: dict[Envelope[Any], Waiter] | None = None
        self._group: Group | None = None

    @property
    def path(self) -> str:
        """The name to show in an error."""
        raise NotImplementedError

    def enter(self) -> None:
        """Declare the current task to be this actor's."""
        self._task = trio.lowlevel.current_task()
        _current_waiter.set(self)

    def leave(self) -> None:
        """Declare this actor's task to be over."""
        self._task = None
        _current_waiter.set(None)

    def will_wait(self, envelope: Envelope[Any], target: Waiter) -> None:
        """Note that this actor is about to wait for ``target``.

        Raises:
            AskCycle: ``target`` waits, directly or not, for this actor.
            ActorStopped: ``target`` is started again only when this actor, or
                one that waits for it, has ended or got ready.
        """
        if target._group is not None and target._group.waits(self):
            envelope.abandon()
            raise target.restarting()
        circle = _find_path(target, self)
        if circle is not None:
            envelope.abandon()
            names = " -> ".join(waiter.path for waiter in (self, *circle))
            what = "an actor can't ask itself" if target is self else "actors can't ask in a circle"
            raise AskCycle(f"{what}, since each would wait for ever: {names}; nothing was sent")
        if self._waits is None:
            self._waits = {}
        self._waits[envelope] = target
        if target._awaited_by is None:
            target._awaited_by = {}
        target._awaited_by[envelope] = self
        target.is_awaited()

    def waited(self, envelope: Envelope[Any]) -> None:
        """Note that the wait for ``envelope`` is over."""
        target = self._waits.pop(envelope, None) if self._waits is not None else None
        if not self._waits:
            self._waits = None
        if target is not None and target._awaited_by is not None:
            target._awaited_by.pop(envelope, None)
            if not target._awaited_by:
                target._awaited_by = None

    def restarts_with(self, group: Group | None) -> None:
        """Learn that this actor, which is down, is started again together with ``group``.

        Those of the group end first. So whatever one of them waits for from here can't come, and
        is refused now; None says that the actor is about to be started.
        """
        self._group = group
        if group is None or self._awaited_by is None:
            return
        for envelope, waiter in list(self._awaited_by.items()):
            if envelope.pending and group.waits(waiter):
                envelope.withdraw(self.restarting())

    def restarting(self) -> ActorStopped:
        """The refusal for those on whose end the restart of this actor waits."""
        return ActorStopped(
            f"{self.path} is restarted together with its siblings, and it is the turn of the asker,"
            " or of one that waits for it; the message was not executed"
        )

    def is_awaited(self) -> None:
        """Hear that one more actor is about to wait for this one."""

    def awaited_by(self) -> Iterator[Waiter]:
        """Every actor that waits for this one, directly or not."""
        seen = {self}
        todo = [self]
        while todo:
            for envelope, waiter in (todo.pop()._awaited_by or {}).items():
                if envelope.pending and waiter not in seen:
                    seen.add(waiter)
                    todo.append(waiter)
                    yield waiter

    def _targets(self) -> list[Waiter]:
        if self._waits is None:
            return []
        return [target for envelope, target in self._waits.items() if envelope.pending]


def current_waiter() -> Waiter | None:
    """The actor in whose handler the running code is, if any.

    Code in a task that a handler started in a foreign nursery inherits the
    actor's context but does not hold it up, so only the actor's own task and
    its descendants count.
    """
    waiter = _current_waiter.get()
    if waiter is None or waiter._task is None:
        return None
    task: trio.lowlevel.Task | None = trio.lowlevel.current_task()
    while task is not None:
        if task is waiter._task:
            return waiter
        nursery = task.parent_nursery
        task = nursery.parent_task if nursery is not None else None
    return None


def _find_path(start: Waiter, goal: Waiter) -> list[Waiter] | None:
    """Waiters from ``start`` to ``goal`` along the edges, or None."""
    came_from: dict[Waiter, Waiter | None] = {start: None}
    todo = [start]
    while todo:
        waiter = todo.pop()
        if waiter is goal:
            path = []
            step: Waiter | None = waiter
            while step is not None:
                path.append(step)
                step = came_from[step]
            return path[::-1]
        for target in waiter._targets():
            if target not in came_from:
                came_from[target] = waiter
                todo.append(target)
    return None
