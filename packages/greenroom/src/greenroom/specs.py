"""Child specifications: what a supervisor runs, and by which rules."""

from __future__ import annotations

import inspect
import math
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

import trio

from greenroom.actor import Actor, handles_batches
from greenroom.message import MessageTypes
from greenroom.options import (
    ActorOptions,
    require_callable,
    require_instance,
    require_name,
    require_positive_count,
    require_seconds,
)
from greenroom.restart import (
    Backoff,
    Intensity,
    QuarantineRule,
    Restart,
    Strategy,
    require_restart,
    require_strategy,
)

M = TypeVar("M")
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class ActorSpec(ActorOptions, Generic[M]):
    """An actor under supervision.

    Args:
        name: unique below the supervisor; no ``/``.
        factory: creates a new actor object for each incarnation: the actor's class, or any other
            callable that takes no argument and returns the actor.
        restart: when it is restarted.
        backoff: how long to wait before a restart.

    The limits of `ActorOptions` can be given too.

    Raises:
        ValueError: an argument is out of its range; the text says which.
        TypeError: an argument has the wrong type, the factory can't be called without arguments,
            or its instances would not be usable actors.
    """

    name: str
    factory: Callable[[], Actor[M]]
    restart: Restart = field(default="permanent", kw_only=True)
    backoff: Backoff = field(default_factory=Backoff, kw_only=True)

    def __post_init__(self) -> None:
        """Validate the arguments."""
        super().__post_init__()
        require_name(self.name)
        require_factory("ActorSpec.factory", self.factory)
        require_restart(self.restart)
        require_instance("ActorSpec.backoff", self.backoff, Backoff)


class WorkerContext:
    """The argument of a worker: it reports readiness and receives the request to stop.

    It can be passed as the ``task_status`` of a function written for ``nursery.start``.

    Attributes:
        path: the worker's path in the tree.
        stopping: set when the worker should finish its current work. It is cancelled
            ``drain_timeout`` seconds later.
    """

    def __init__(self, path: str, ready: Callable[[], None]) -> None:
        """Serve one incarnation."""
        self.path = path
        self.stopping = trio.Event()
        self._ready = ready

    def started(self, value: object = None) -> None:
        """Report readiness: the supervisor starts the next child."""
        self._ready()


@dataclass(frozen=True)
class WorkerSpec:
    """A restartable task that is not an actor.

    Args:
        name: unique below the supervisor; no ``/``.
        run: the task's async function; takes a `WorkerContext`.
        reports_ready: whether ``run`` calls ``context.started()``; otherwise the worker counts as
            ready immediately.
        restart: when it is restarted after returning or raising.
        backoff: how long to wait before a restart.
        start_timeout: seconds within which it must report readiness.
        drain_timeout: seconds between ``context.stopping`` and cancellation; 0 (the default)
            cancels immediately, for tasks that don't watch it.

    Raises:
        ValueError: an argument is out of its range; the text says which.
        TypeError: an argument has the wrong type, or ``run`` can't be called with one argument.
    """

    name: str
    run: Callable[[WorkerContext], Awaitable[None]]
    reports_ready: bool = field(default=False, kw_only=True)
    restart: Restart = field(default="permanent", kw_only=True)
    backoff: Backoff = field(default_factory=Backoff, kw_only=True)
    start_timeout: float = field(default=30.0, kw_only=True)
    drain_timeout: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        """Validate the arguments."""
        require_name(self.name)
        require_signature("WorkerSpec.run", self.run, "context")
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
        intensity: how many restarts are allowed before it escalates.
        restart: when the whole subtree is restarted.
        backoff: how long to wait before a restart.
        start_timeout: seconds within which all its children must be ready; by default only each
            child's own limit applies.
        drain_timeout: seconds that its stop may take before it is cancelled; by default only each
            child's own limit applies.

    Raises:
        ValueError: an argument is out of its range; the text says which.
        TypeError: an argument has the wrong type.
    """

    name: str
    strategy: Strategy = field(default="one_for_one", kw_only=True)
    intensity: Intensity = field(default_factory=Intensity, kw_only=True)
    restart: Restart = field(default="permanent", kw_only=True)
    backoff: Backoff = field(default_factory=Backoff, kw_only=True)
    start_timeout: float = field(default=math.inf, kw_only=True)
    drain_timeout: float = field(default=math.inf, kw_only=True)

    def __post_init__(self) -> None:
        """Validate the arguments."""
        require_name(self.name)
        require_strategy(self.strategy)
        require_restart(self.restart)
        require_instance("intensity", self.intensity, Intensity)
        require_instance("backoff", self.backoff, Backoff)
        require_seconds("start_timeout", self.start_timeout)
        require_seconds("drain_timeout", self.drain_timeout, zero=True)


@dataclass(frozen=True)
class DirectorySpec(ActorOptions, Generic[K, M]):
    """A directory of virtual actors: one actor for each key, active only while it is needed.

    Args:
        name: unique below the supervisor; no ``/``.
        factory: creates the actor object for a key, at each activation: the actor's class, or any
            other callable that takes the key and returns the actor.
        idle_timeout: seconds without a message after which an actor is passivated.
        max_awake: how many actors may be active at the same time; to activate another one, the
            actor that has been idle longest is passivated. While none is idle, activations wait.
        backoff: how long to wait before a crashed actor with waiting messages is activated again.
        quarantine: when a key that keeps crashing is quarantined.

    The limits of `ActorOptions` can be given too; ``drain_timeout`` is that of the whole
    directory.

    Raises:
        ValueError: an argument is out of its range; the text says which.
        TypeError: an argument has the wrong type, the factory can't be called with a key, or its
            instances would not be usable actors.
    """

    name: str
    factory: Callable[[K], Actor[M]]
    idle_timeout: float = field(default=60.0, kw_only=True)
    max_awake: int = field(default=10_000, kw_only=True)
    backoff: Backoff = field(default_factory=Backoff, kw_only=True)
    quarantine: QuarantineRule = field(default_factory=QuarantineRule, kw_only=True)

    def __post_init__(self) -> None:
        """Validate the arguments."""
        super().__post_init__()
        require_name(self.name)
        require_factory("DirectorySpec.factory", self.factory, "key")
        require_seconds("idle_timeout", self.idle_timeout)
        require_positive_count("max_awake", self.max_awake)
        require_instance("DirectorySpec.backoff", self.backoff, Backoff)
        require_instance("DirectorySpec.quarantine", self.quarantine, QuarantineRule)


def actor_class_of(factory: Callable[..., object]) -> type[Actor[Any]] | None:
    """Return the class that ``factory`` is, if need be under `functools.partial`; or None."""
    while isinstance(factory, partial):
        factory = factory.func
    return factory if isinstance(factory, type) and issubclass(factory, Actor) else None


def message_types_of(factory: Callable[..., object]) -> MessageTypes | None:
    """Return the messages of the actors that ``factory`` creates, if it is a class; or None."""
    actor_class = actor_class_of(factory)
    return None if actor_class is None else actor_class.message_types()


def require_factory(what: str, factory: Callable[..., object], *arguments: str) -> None:
    """Raise unless ``factory`` can be called with ``arguments`` and may return an actor.

    Args:
        what: names the factory in errors.
        factory: the factory.
        *arguments: what it will be called with, by name.

    Raises:
        TypeError: it can't be called, its signature does not fit, it is an async function, or a
            class whose instances are not usable actors.
    """
    require_signature(what, factory, *arguments)
    inner: object = factory
    while isinstance(inner, partial):
        inner = inner.func
    if inspect.iscoroutinefunction(inner) or inspect.isasyncgenfunction(inner):
        raise TypeError(
            f"{what} must return an actor, but {_name(inner)} is an async function; load state in"
            " the actor's started() instead"
        )
    if not isinstance(inner, type):
        return
    if not issubclass(inner, Actor):
        raise TypeError(f"{what} must make an Actor, but {inner.__name__} does not derive from it")
    if inspect.isabstract(inner):
        raise TypeError(f"{what} must make an actor, but the class {inner.__name__} is abstract")
    handles_batches(inner)


def require_signature(what: str, function: Callable[..., object], *arguments: str) -> None:
    """Raise TypeError unless ``function`` can be called with ``arguments``, given by name."""
    require_callable(what, function)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        if isinstance(function, partial) and "incorrect arguments" in str(error):
            raise TypeError(f"{what} can't be called: {error}: {function!r}") from None
        return  # some callables written in C have no signature
    try:
        signature.bind(*arguments)
    except TypeError as error:
        passed = f"the argument {arguments[0]}" if arguments else "no argument"
        raise TypeError(
            f"{what} is called with {passed}, but {_name(function)}{signature} does not accept"
            f" that: {error}"
        ) from None


def _name(value: object) -> str:
    name = getattr(value, "__qualname__", None)
    return name if isinstance(name, str) else repr(value)
