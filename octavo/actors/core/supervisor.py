"""The root of a tree: what a program runs.

Nothing outlives it: all children are tasks below it, and when it has ended,
every mailbox of the tree has refused what still waited.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

import trio

from octavo.actors.core.branch import Branch
from octavo.actors.core.errors import ActorStopped
from octavo.actors.core.restart import Intensity, Strategy
from octavo.actors.core.runtime import Runtime
from octavo.actors.core.specs import SupervisorSpec
from octavo.actors.core.supervision import Supervision
from octavo.actors.core.tree import TreeNode


class Supervisor(Branch):
    """The root supervisor.

    Args:
        name: the first part of every path.
        strategy: which children a restart takes along.
        intensity: how many restarts are borne before it gives up.
        runtime: randomness, observer and fault points for the whole tree.

    Raises:
        ValueError: an unknown strategy, an unfit name.

    Example::

        root = Supervisor("service")
        counter = root.add(ActorSpec("counter", Counter))
        async with root.running():
            total = await counter.ask(Add(1))
    """

    def __init__(
        self,
        name: str,
        *,
        strategy: Strategy = "one_for_one",
        intensity: Intensity | None = None,
        runtime: Runtime | None = None,
    ) -> None:
        """Make a root without children; nothing runs yet."""
        spec = SupervisorSpec(name, strategy=strategy, intensity=intensity or Intensity())
        super().__init__(Supervision(spec, None, runtime or Runtime()))
        self._ran = False
        self._run_scope = trio.CancelScope()
        self._ended = trio.Event()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Start the children in order and supervise them until `stop`.

        Reports ``task_status`` when all are ready. A supervisor runs once.
        However it ends, no message of the tree is left waiting. Cancellation
        stops all children by force; to have them drained, call `stop`.

        Raises:
            RestartIntensityExceeded: the tree could not be kept alive; its
                ``__cause__`` is the last crash.
            ActorStopped: it was stopped before it was ready; only where
                somebody waits for its readiness.
            RuntimeError: it runs or ran already.
        """
        if self._ran:
            raise RuntimeError(f"{self.path} runs or ran already; make a new Supervisor")
        self._ran = True
        told = False

        def ready() -> None:
            nonlocal told
            if not told:
                told = True
                task_status.started()

        try:
            with self._run_scope:
                await self._supervision.run_once(ready)
            if not told and task_status is not trio.TASK_STATUS_IGNORED:
                raise ActorStopped(f"{self.path} was stopped before it was ready")
        finally:
            self._supervision.close()
            self._ended.set()

    @asynccontextmanager
    async def running(self, *, drain_timeout: float = math.inf) -> AsyncIterator[Self]:
        """Run the tree for the length of a block, which begins when all are ready.

        Leaving the block normally is `stop` with ``drain_timeout``. If the
        block raises or is cancelled, the children are stopped by force.

        Raises:
            RestartIntensityExceeded: the tree could not be kept alive; the
                block was cancelled.
            BaseException: what the block raised, as it was; in a group with
                the former, if both happened.
        """
        try:
            async with trio.open_nursery() as nursery:
                await nursery.start(self.run)
                yield self
                await self.stop(timeout=drain_timeout)
        except BaseExceptionGroup as group:
            # The group is of the nursery in here; what the block raised is left as it was.
            if len(group.exceptions) > 1:
                raise
            raise group.exceptions[0] from group.exceptions[0].__cause__

    async def stop(self, *, timeout: float = math.inf) -> None:
        """Stop the tree: children in reverse order, each drained, then all is cancelled.

        Args:
            timeout: seconds after which what is left is cancelled. Each child's
                own ``drain_timeout`` holds as well.

        Returns when everything has ended; does nothing if it never ran. If
        cancelled, the stop goes on.
        """
        if not self._ran:
            return
        self._supervision.drain()
        with trio.move_on_after(timeout):
            await self._ended.wait()
            return
        self._run_scope.cancel(reason=f"{self.path} was not drained within {timeout:g} s")
        await self._ended.wait()

    def tree(self) -> TreeNode:
        """The tree at this moment; see `render_tree`. Call it from inside trio."""
        if not self._ran:
            state = "not started"
        elif self._ended.is_set():
            state = "stopped"
        else:
            state = "stopping" if self._supervision.is_stopping else "running"
        return self._supervision.node(state)
