"""The tasks that an incarnation of an actor owns.

They run in the nursery in which the actor's own task runs, each in a cancel scope, and the
incarnation waits for them before it ends. A nursery for each incarnation would do the same, but
would cost every activation of every actor, with or without tasks, a third of its time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVarTuple

import trio

from greenroom.errors import is_crash, unwrap
from greenroom.waiting import leave_actor

Ts = TypeVarTuple("Ts")


class OwnedTasks:
    """Starts tasks for one incarnation, reports the crash of one, and ends them all.

    Attributes:
        error: what the first task that crashed raised; the incarnation is then being cancelled.
    """

    __slots__ = ("_changed", "_incarnation", "_nursery", "_path", "_scopes", "error")

    def __init__(self, nursery: trio.Nursery, incarnation: trio.CancelScope, path: str) -> None:
        """Start tasks in ``nursery``; a crash of one cancels ``incarnation``."""
        self._nursery = nursery
        self._incarnation = incarnation
        self._path = path
        self._scopes: dict[trio.CancelScope, None] = {}
        self._changed = trio.Event()
        self.error: BaseException | None = None

    def start(
        self, function: Callable[[*Ts], Awaitable[object]], *arguments: *Ts, name: object
    ) -> trio.CancelScope:
        """Start a task; see `ActorContext.start_task`."""
        scope = trio.CancelScope()
        label = getattr(function, "__name__", "task") if name is None else name
        self._nursery.start_soon(
            self._run, scope, function, arguments, name=f"{self._path} {label}"
        )
        self._scopes[scope] = None
        return scope

    async def _run(
        self,
        scope: trio.CancelScope,
        function: Callable[[*Ts], Awaitable[object]],
        arguments: tuple[*Ts],
    ) -> None:
        leave_actor()
        try:
            with scope:
                await function(*arguments)
        except BaseException as error:
            if not is_crash(error):
                raise
            if self.error is None:
                self.error = unwrap(error)
            self._incarnation.cancel(reason=f"a task of {self._path} crashed")
        finally:
            del self._scopes[scope]
            self._changed.set()

    async def end(self, reason: str) -> None:
        """Cancel all tasks and wait until they have ended."""
        for scope in self._scopes:
            scope.cancel(reason=reason)
        # As at the end of a nursery, there is no deadline: a cancelled task decides when it ends.
        with trio.CancelScope(shield=True):
            while self._scopes:
                self._changed = trio.Event()
                await self._changed.wait()
