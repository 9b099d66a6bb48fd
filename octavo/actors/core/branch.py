"""Supervisors as callers hold them: add children, start and stop them, watch them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, TypeVar, overload

from octavo.actors.core.actor import Actor
from octavo.actors.core.child import ActorChild, Child, WorkerChild
from octavo.actors.core.directory import Directory
from octavo.actors.core.directory_child import DirectoryChild
from octavo.actors.core.monitor import Monitor
from octavo.actors.core.ref import ActorRef
from octavo.actors.core.specs import ActorSpec, DirectorySpec, SupervisorSpec, WorkerSpec
from octavo.actors.core.supervision import Supervision

A = TypeVar("A", bound=Actor[Any])
K = TypeVar("K", bound=Hashable)

_Spec = ActorSpec[Any] | DirectorySpec[Any, Any] | SupervisorSpec | WorkerSpec


class Branch:
    """A supervisor below a supervisor; made by ``supervisor.add(SupervisorSpec(...))``."""

    def __init__(self, supervision: Supervision) -> None:
        """Refer to the supervisor under supervision; `add` makes it."""
        self._supervision = supervision

    def __str__(self) -> str:
        """The path."""
        return self.path

    @property
    def path(self) -> str:
        """Where it stands in the tree."""
        return self._supervision.path

    @overload
    def add(self, spec: ActorSpec[A]) -> ActorRef[A]: ...
    @overload
    def add(self, spec: DirectorySpec[K, A]) -> Directory[K, A]: ...
    @overload
    def add(self, spec: SupervisorSpec) -> Branch: ...
    @overload
    def add(self, spec: WorkerSpec) -> None: ...
    def add(self, spec: _Spec) -> object:
        """Add a child, to be started after those added before.

        Returns what one talks to: a reference to the actor, the directory, or
        the supervisor; None for a worker. The reference refuses messages until
        the child is started, and stays valid over restarts.

        Raises:
            ValueError: another child has this name.
            RuntimeError: already running: use `start_child`.
        """
        if self._supervision.is_running:
            raise RuntimeError(f"{self.path} is running: use start_child() to add {spec.name!r}")
        return self._adopt(spec)[1]

    @overload
    async def start_child(self, spec: ActorSpec[A]) -> ActorRef[A]: ...
    @overload
    async def start_child(self, spec: DirectorySpec[K, A]) -> Directory[K, A]: ...
    @overload
    async def start_child(self, spec: SupervisorSpec) -> Branch: ...
    @overload
    async def start_child(self, spec: WorkerSpec) -> None: ...
    async def start_child(self, spec: _Spec) -> object:
        """Add a child while running, and wait until it is ready.

        If its first start fails it is not kept. If cancelled, it is: it goes
        on starting under supervision.

        Raises:
            ValueError: another child has this name.
            ActorStopped: the supervisor is not running, or is stopping; or the
                child ended before it was ready.
            Exception: what made the child's first start fail.
        """
        self._supervision.require_running(spec.name)
        child, handle = self._adopt(spec)
        await self._supervision.start(child)
        return handle

    async def stop_child(self, name: str) -> None:
        """Drain the child, cancel it after its ``drain_timeout``, and forget it.

        If cancelled, the child is cancelled at once.

        Raises:
            KeyError: no child has this name.
        """
        await self._supervision.stop_one(self._supervision.child(name))

    def monitor(self, name: str) -> Monitor:
        """Watch the ends of a child of any kind; use the result as a context manager.

        Raises:
            KeyError: no child has this name.
        """
        return Monitor(self._supervision.child(name).watchers)

    def _adopt(self, spec: _Spec) -> tuple[Child, object]:
        child, handle = _make(spec, self._supervision)
        self._supervision.adopt(child)
        return child, handle


def _make(spec: _Spec, parent: Supervision) -> tuple[Child, object]:
    """The child for ``spec``, and what callers hold of it."""
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
            raise TypeError(f"{path} can't supervise {spec!r}: no child specification")
