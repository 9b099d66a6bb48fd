"""Child specifications: what a supervisor is asked to run, and by which rules."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from octavo.actors.core.actor import Actor
from octavo.actors.core.backoff import Backoff
from octavo.actors.core.options import (
    ActorOptions,
    require_callable,
    require_instance,
    require_name,
    require_positive_count,
    require_seconds,
)
from octavo.actors.core.quarantine import QuarantineRule
from octavo.actors.core.restart import (
    Intensity,
    Restart,
    Strategy,
    require_restart,
    require_strategy,
)

if TYPE_CHECKING:
    from octavo.actors.core.child import WorkerContext

A = TypeVar("A", bound=Actor[Any])
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class ActorSpec(ActorOptions, Generic[A]):
    """An actor under supervision.

    Args:
        name: unique below the supervisor; no ``/``.
        factory: makes a new actor object for each incarnation.
        restart: when it is started again.
        backoff: how long to wait before that.

    The bounds of `ActorOptions` can be given too.

    Raises:
        ValueError, TypeError: an argument is wrong; the text says which and how.
    """

    name: str
    factory: Callable[[], A]
    restart: Restart = field(default="permanent", kw_only=True)
    backoff: Backoff = field(default_factory=Backoff, kw_only=True)

    def __post_init__(self) -> None:
        """Check the arguments."""
        super().__post_init__()
        require_name(self.name)
        require_callable("ActorSpec.factory", self.factory)
        require_restart(self.restart)
        require_instance("ActorSpec.backoff", self.backoff, Backoff)


@dataclass(frozen=True)
class WorkerSpec:
    """A restartable task that is no actor.

    Args:
        name: unique below the supervisor; no ``/``.
        run: the task's function; gets a `WorkerContext`.
        reports_ready: whether ``run`` calls ``context.started()``; otherwise
            the worker counts as ready at once.
        restart: when it is started again after returning or raising.
        backoff: how long to wait before that.
        start_timeout: seconds until it must have reported readiness.
        drain_timeout: seconds between ``context.stopping`` and cancellation; 0
            (the default) cancels at once, for tasks that don't watch it.

    Raises:
        ValueError, TypeError: an argument is wrong; the text says which and how.
    """

    name: str
    run: Callable[[WorkerContext], Awaitable[None]]
    reports_ready: bool = field(default=False, kw_only=True)
    restart: Restart = field(default="permanent", kw_only=True)
    backoff: Backoff = field(default_factory=Backoff, kw_only=True)
    start_timeout: float = field(default=30.0, kw_only=True)
    drain_timeout: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        """Check the arguments."""
        require_name(self.name)
        require_callable("WorkerSpec.run", self.run)
        require_restart(self.restart)
        require_instance("WorkerSpec.backoff", self.backoff, Backoff)
        require_seconds("start_timeout", self.start_timeout)
        require_seconds("drain_timeout", self.drain_timeout, zero=True)


@dataclass(frozen=True)
class SupervisorSpec:
    """A supervisor below a supervisor; its children are added to the result.

    Args:
        name: unique below the supervisor; no ``/``.
        strategy: which children a restart takes along.
        intensity: how many restarts are borne before it escalates.
        restart: when the whole subtree is started again.
        backoff: how long to wait before that.
        start_timeout: seconds until all its children must be ready; by default
            only each child's own bound counts.
        drain_timeout: seconds that its stop may take before it is cancelled;
            by default only each child's own bound counts.

    Raises:
        ValueError: an argument is wrong; the text says which and how.
    """

    name: str
    strategy: Strategy = field(default="one_for_one", kw_only=True)
    intensity: Intensity = field(default_factory=Intensity, kw_only=True)
    restart: Restart = field(default="permanent", kw_only=True)
    backoff: Backoff = field(default_factory=Backoff, kw_only=True)
    start_timeout: float = field(default=math.inf, kw_only=True)
    drain_timeout: float = field(default=math.inf, kw_only=True)

    def __post_init__(self) -> None:
        """Check the arguments."""
        require_name(self.name)
        require_strategy(self.strategy)
        require_restart(self.restart)
        require_instance("intensity", self.intensity, Intensity)
        require_instance("backoff", self.backoff, Backoff)
        require_seconds("start_timeout", self.start_timeout)
        require_seconds("drain_timeout", self.drain_timeout, zero=True)


@dataclass(frozen=True)
class DirectorySpec(ActorOptions, Generic[K, A]):
    """A directory of virtual actors: one actor a key, awake only while it is of use.

    Args:
        name: unique below the supervisor; no ``/``.
        factory: makes the actor object for a key, at each activation.
        idle_timeout: seconds without a message after which an actor is put to sleep.
        max_awake: how many actors may be awake at once; then the one that has
            been idle longest goes first, and without an idle one, activations
            wait their turn.
        backoff: how long to wait before a crashed actor with waiting messages
            is activated again.
        quarantine: when a key that keeps crashing is set aside.

    The bounds of `ActorOptions` can be given too; ``drain_timeout`` is that of
    the whole directory.

    Raises:
        ValueError, TypeError: an argument is wrong; the text says which and how.
    """

    name: str
    factory: Callable[[K], A]
    idle_timeout: float = field(default=60.0, kw_only=True)
    max_awake: int = field(default=10_000, kw_only=True)
    backoff: Backoff = field(default_factory=Backoff, kw_only=True)
    quarantine: QuarantineRule = field(default_factory=QuarantineRule, kw_only=True)

    def __post_init__(self) -> None:
        """Check the arguments."""
        super().__post_init__()
        require_name(self.name)
        require_callable("DirectorySpec.factory", self.factory)
        require_seconds("idle_timeout", self.idle_timeout)
        require_positive_count("max_awake", self.max_awake)
        require_instance("DirectorySpec.backoff", self.backoff, Backoff)
        require_instance("DirectorySpec.quarantine", self.quarantine, QuarantineRule)
