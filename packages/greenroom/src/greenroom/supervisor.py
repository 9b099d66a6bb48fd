"""The root supervisor, which a program runs.

Nothing outlives it: all children are tasks below it, and when it has ended, every mailbox of the
tree has refused the messages that still waited.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

import trio

from greenroom.branch import Branch
from greenroom.errors import ActorStopped
from greenroom.restart import Intensity, Strategy
from greenroom.runtime import Runtime
from greenroom.specs import SupervisorSpec
from greenroom.supervision import Supervision
from greenroom.tree import TreeNode


class Supervisor(Branch):
    """The root supervisor.

    Args:
        name: the first part of every path.
        strategy: which children a restart takes along.
        intensity: how many restarts are allowed before it gives up.
        runtime: randomness, observer and fault points for the whole tree.

    Raises:
        ValueError: the strategy is unknown, or the name unusable.

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
        """Create a root without children; nothing runs yet."""
        spec = SupervisorSpec(name, strategy=strategy, intensity=intensity or Intensity())
        super().__init__(Supervision(spec, None, runtime or Runtime()))
        self._ran = False
        self._run_scope = trio.CancelScope()
        self._ended = trio.Event()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Start the children in order and supervise them until `stop`.

        Calls ``task_status.started()`` when all are ready. A supervisor runs once. However it
        ends, no message of the tree is left waiting. Cancellation cancels all children; call
        `stop` to drain them.

        Raises:
            RestartIntensityExceeded: there were too many restarts; the ``__cause__`` is the last
                crash.
            InvalidActor: the factory of an actor returned no usable actor.
            ActorStopped: it was stopped before it was ready; only if the caller waits for its
                readiness.
            RuntimeError: it runs or has run already.
        """
        if self._ran:
            raise RuntimeError(f"{self.path} runs or has run already; create a new Supervisor")
        self._ran = True
        reported = False

        def ready() -> None:
            nonlocal reported
            if not reported:
                reported = True
                task_status.started()

        try:
            with self._run_scope:
                await self._supervision.run_once(ready)
            if not reported and task_status is not trio.TASK_STATUS_IGNORED:
                raise ActorStopped(f"{self.path} was stopped before it was ready")
        finally:
            self._supervision.close()
            self._ended.set()

    @asynccontextmanager
    async def running(self, *, drain_timeout: float = math.inf) -> AsyncIterator[Self]:
        """Run the tree for the duration of a block, which begins when all children are ready.

        Leaving the block normally calls `stop` with ``drain_timeout``. If the block raises or is
        cancelled, the children are cancelled.

        Raises:
            RestartIntensityExceeded: there were too many restarts; the block was cancelled.
            InvalidActor: the factory of an actor returned no usable actor; likewise.
            BaseException: what the block raised, unchanged; in a group with the former, if both
                happened.
        """
        try:
            async with trio.open_nursery() as nursery:
                await nursery.start(self.run, name=f"{self.path} supervisor")
                yield self
                await self.stop(timeout=drain_timeout)
        except BaseExceptionGroup as group:
            # This group is the nursery's; what the block raised is not changed.
            if len(group.exceptions) > 1:
                raise
            raise group.exceptions[0] from group.exceptions[0].__cause__

    async def stop(self, *, timeout: float = math.inf) -> None:
        """Stop the tree: drain the children in reverse order, then cancel what is left.

        Returns when everything has ended; does nothing if it never ran. If cancelled, the stop
        continues.

        Args:
            timeout: seconds after which what is left is cancelled. Each child's own
                ``drain_timeout`` applies as well.
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
        """Return a snapshot of the tree; see `render_tree`. Must be called inside a trio run."""
        if not self._ran:
            state = "not started"
        elif self._ended.is_set():
            state = "stopped"
        else:
            state = "stopping" if self._supervision.is_stopping else "running"
        return self._supervision.node(state)
