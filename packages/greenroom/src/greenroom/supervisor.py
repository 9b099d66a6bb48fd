"""Supervisors as callers hold them: add, start, stop, watch and find children.

A program runs the root, a `Supervisor`. Nothing outlives it: all children are tasks below it, and
when it has ended, every mailbox of the tree has refused the messages that still waited.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import Any, Self, TypeVar, overload

import trio

from greenroom.actor import Actor
from greenroom.cell import Cell
from greenroom.child import ActorChild, Child, WorkerChild
from greenroom.directory import Directory, DirectoryChild, KeyRef
from greenroom.errors import ActorNotFound, ActorStopped
from greenroom.monitor import Monitor
from greenroom.ref import ActorRef
from greenroom.restart import Intensity, Strategy
from greenroom.runtime import Runtime
from greenroom.specs import ActorSpec, DirectorySpec, SupervisorSpec, WorkerSpec
from greenroom.supervision import Supervision
from greenroom.tree import TreeNode

M = TypeVar("M")
K = TypeVar("K", bound=Hashable)

_Spec = ActorSpec[Any] | DirectorySpec[Any, Any] | SupervisorSpec | WorkerSpec


class Branch:
    """A supervisor below a supervisor; created by ``supervisor.add(SupervisorSpec(...))``."""

    def __init__(self, supervision: Supervision) -> None:
        """Refer to the supervisor under supervision; `add` creates it."""
        self._supervision = supervision

    def __str__(self) -> str:
        """Return the path."""
        return self.path

    @property
    def path(self) -> str:
        """Its path in the tree."""
        return self._supervision.path

    @overload
    def add(self, spec: ActorSpec[M]) -> ActorRef[M]: ...
    @overload
    def add(self, spec: DirectorySpec[K, M]) -> Directory[K, M]: ...
    @overload
    def add(self, spec: SupervisorSpec) -> Branch: ...
    @overload
    def add(self, spec: WorkerSpec) -> None: ...
    def add(self, spec: _Spec) -> object:
        """Add a child, which starts after those added before.

        Returns:
            A reference to the actor, the directory, or the supervisor; None for a worker. The
            reference refuses messages until the child is started, and stays valid across restarts.

        Raises:
            ValueError: another child has this name.
            TypeError: ``spec`` is not a child specification.
            RuntimeError: the supervisor is running; use `start_child`.
        """
        if self._supervision.is_running:
            raise RuntimeError(f"{self.path} is running: use start_child() to add {spec.name!r}")
        return self._adopt(spec)[1]

    @overload
    async def start_child(self, spec: ActorSpec[M]) -> ActorRef[M]: ...
    @overload
    async def start_child(self, spec: DirectorySpec[K, M]) -> Directory[K, M]: ...
    @overload
    async def start_child(self, spec: SupervisorSpec) -> Branch: ...
    @overload
    async def start_child(self, spec: WorkerSpec) -> None: ...
    async def start_child(self, spec: _Spec) -> object:
        """Add a child while running, and wait until it is ready.

        If its first start fails, the child is removed. If cancelled, the child stays and continues
        to start under supervision.

        Raises:
            ValueError: another child has this name.
            TypeError: ``spec`` is not a child specification.
            ActorStopped: the supervisor is not running, or is stopping; or the child ended before
                it was ready.
            Exception: the error that made the child's first start fail.
        """
        self._supervision.require_running(spec.name)
        child, handle = self._adopt(spec)
        await self._supervision.start(child)
        return handle

    async def stop_child(self, name: str) -> None:
        """Drain the child, cancel it after its ``drain_timeout``, and remove it.

        If cancelled, the child is cancelled immediately.

        Raises:
            KeyError: no child has this name.
        """
        await self._supervision.stop_one(self._supervision.child(name))

    def monitor(self, name: str) -> Monitor:
        """Return a monitor of a child of any kind, to be used as a context manager.

        Raises:
            KeyError: no child has this name.
        """
        return Monitor(self._supervision.child(name).watchers)

    def find(self, path: str, actor_class: type[Actor[M]]) -> ActorRef[M]:
        """Return a reference to the actor at ``path``, such as ``"root/a/b"``.

        The path is written as `ActorRef.path` gives it: absolute, and with the text of the key for
        a virtual actor. Only keys that the directory tracks are found, that is those that are
        active or have waiting messages, recent crashes or watchers; a directory's ``ref`` gives a
        reference to any key.

        Args:
            path: the path of an actor below this supervisor.
            actor_class: the class of the actor, or a base class of it.

        Raises:
            ActorNotFound: there is no actor at this path; the text lists what is there.
            TypeError: the actor is of another class, or its class is not known yet because its
                factory is not a class and has not been called.
        """
        child, rest = self._supervision, path.removeprefix(f"{self.path}/")
        if rest == path:
            raise ActorNotFound(f"there is no {path!r} below {self}; its paths begin with {self}/")
        cell, ref = _find(child, rest)
        types = cell.message_types
        known = types.actor_class if types is not None else None
        if known is None or not issubclass(known, actor_class):
            kind = "not known before it is started" if known is None else known.__name__
            raise TypeError(f"the class of {path} is {kind}, not {actor_class.__name__}")
        return ref

    def _adopt(self, spec: _Spec) -> tuple[Child, object]:
        child, handle = _make(spec, self._supervision)
        self._supervision.adopt(child)
        return child, handle


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


def _make(spec: _Spec, parent: Supervision) -> tuple[Child, object]:
    """Return the child for ``spec``, and what callers hold of it."""
    path, runtime = parent.path, parent.runtime
    match spec:
        case ActorSpec():
            actor = ActorChild(spec, path, runtime)
            return actor, ActorRef[Any](actor.cell)
        case DirectorySpec():
            directory = DirectoryChild(spec, path, runtime)
            return directory, Directory[Any, Any](directory)
        case SupervisorSpec():
            supervision = Supervision(spec, path, runtime)
            return supervision, Branch(supervision)
        case WorkerSpec():
            return WorkerChild(spec, path), None
        case _:
            raise TypeError(f"{path} can't supervise {spec!r}: it is not a child specification")


def _find(supervision: Supervision, path: str) -> tuple[Cell, ActorRef[Any]]:
    """Return the cell at ``path``, relative to ``supervision``, and a reference to it."""
    name, slash, rest = path.partition("/")
    try:
        child = supervision.child(name)
    except KeyError as error:
        raise ActorNotFound(error.args[0]) from None
    match child:
        case ActorChild() if not slash:
            return child.cell, ActorRef(child.cell)
        case Supervision() if slash:
            return _find(child, rest)
        case DirectoryChild() if slash:
            cell = child.tracked(rest)
            return cell, KeyRef(child, cell.key)
        case ActorChild() | WorkerChild() if slash:
            raise ActorNotFound(f"{child.path} has no children, so there is no {rest!r} below it")
        case _:
            raise ActorNotFound(f"{child.path} is not an actor")
