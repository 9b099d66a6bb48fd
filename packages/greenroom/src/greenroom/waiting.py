"""The wait-for graph of actors: an ask that would close a cycle is refused.

While an actor's handler waits for another actor, it handles nothing. If that other actor waits for
the first, directly or through further actors, neither can continue. Every wait of an actor is
therefore recorded as an edge of a graph before it begins. The wait that would close a cycle is the
last one to be recorded, so following the edges from its target finds every cycle before it exists.

An edge exists while its envelope is pending, not while its task waits: a reply that was given but
not yet received does not block.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import Any

import trio

from greenroom.errors import ActorStopped, AskCycle
from greenroom.mailbox import Envelope

_current_waiter: ContextVar[Waiter | None] = ContextVar("greenroom_actor", default=None)
"""The actor that the running code belongs to; the values are stored in the tasks' contexts."""


class Group:
    """The paths of children that are being restarted together."""

    def __init__(self, paths: Iterable[str]) -> None:
        """Store the paths."""
        self._paths = tuple(paths)

    def waits(self, waiter: Waiter) -> bool:
        """Return whether ``waiter`` belongs to the group, or a member of it waits for it."""
        return self._holds(waiter) or any(self._holds(other) for other in waiter.awaited_by())

    def _holds(self, waiter: Waiter) -> bool:
        path = f"{waiter.path}/"
        return any(path.startswith(f"{mine}/") for mine in self._paths)


class Waiter:
    """One actor as a node of the wait-for graph."""

    __slots__ = ("_awaited_by", "_group", "_task", "_waits")

    def __init__(self) -> None:
        """Create a node without edges."""
        self._task: trio.lowlevel.Task | None = None
        self._waits: dict[Envelope[Any], Waiter] | None = None
        self._awaited_by: dict[Envelope[Any], Waiter] | None = None
        self._group: Group | None = None

    @property
    def path(self) -> str:
        """The name in error messages."""
        raise NotImplementedError

    @property
    def nursery(self) -> trio.Nursery:
        """The nursery in which this actor's task runs."""
        nursery = self._task.parent_nursery if self._task is not None else None
        if nursery is None:
            raise RuntimeError(f"{self.path} does not run in a nursery")
        return nursery

    def enter(self) -> None:
        """Declare that the current task is this actor's."""
        self._task = trio.lowlevel.current_task()
        _current_waiter.set(self)

    def leave(self) -> None:
        """Declare that this actor's task has ended."""
        self._task = None
        _current_waiter.set(None)

    def begin_wait(self, envelope: Envelope[Any], target: Waiter) -> None:
        """Record that this actor is about to wait for ``target``.

        Raises:
            AskCycle: ``target`` waits for this actor, directly or indirectly.
            ActorStopped: ``target`` is restarted only after this actor, or one that waits for it,
                has ended or become ready.
        """
        if target._group is not None and target._group.waits(self):
            envelope.abandon()
            raise target.restarting()
        circle = _find_path(target, self)
        if circle is not None:
            envelope.abandon()
            names = " -> ".join(waiter.path for waiter in (self, *circle))
            what = "an actor can't ask itself" if target is self else "actors can't ask in a cycle"
            raise AskCycle(f"{what}, since each would wait forever: {names}; nothing was sent")
        if self._waits is None:
            self._waits = {}
        self._waits[envelope] = target
        if target._awaited_by is None:
            target._awaited_by = {}
        target._awaited_by[envelope] = self
        target.on_awaited()

    def end_wait(self, envelope: Envelope[Any]) -> None:
        """Record that the wait for ``envelope`` is over."""
        target = self._waits.pop(envelope, None) if self._waits is not None else None
        if not self._waits:
            self._waits = None
        if target is not None and target._awaited_by is not None:
            target._awaited_by.pop(envelope, None)
            if not target._awaited_by:
                target._awaited_by = None

    def restarts_with(self, group: Group | None) -> None:
        """Record that this actor, which is down, is restarted together with ``group``.

        The members of the group end first, so replies from this actor that they wait for can't
        come; these asks are refused now. None records that the actor is about to be started.
        """
        self._group = group
        if group is None or self._awaited_by is None:
            return
        for envelope, waiter in list(self._awaited_by.items()):
            if envelope.pending and group.waits(waiter):
                envelope.withdraw(self.restarting())

    def restarting(self) -> ActorStopped:
        """Return the error for asks on whose end the restart of this actor depends."""
        return ActorStopped(
            f"{self.path} is restarted together with its siblings, after the asker or an actor that"
            " waits for the asker; the message was not executed"
        )

    def on_awaited(self) -> None:
        """Handle that one more actor is about to wait for this one."""

    def awaited_by(self) -> Iterator[Waiter]:
        """Yield every actor that waits for this one, directly or indirectly."""
        seen: set[Waiter] = {self}
        todo: list[Waiter] = [self]
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
    """Return the actor whose handler the running code belongs to, or None.

    A task that a handler started in a foreign nursery inherits the actor's context but does not
    block the actor, so only the actor's own task and its descendants count.
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


def leave_actor() -> None:
    """Declare that the current task, though a descendant of an actor's task, does not block it."""
    _current_waiter.set(None)


def _find_path(start: Waiter, goal: Waiter) -> list[Waiter] | None:
    """Return the waiters from ``start`` to ``goal`` along the edges, or None."""
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
