"""The base class of actors, and the context through which an actor uses the core.

An actor handles one message (or one batch) at a time, owns its state exclusively, and is recreated
from durable state after every crash.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar, TypeVarTuple

import trio

from greenroom.cell import Cell
from greenroom.errors import is_crash, unwrap
from greenroom.mailbox import Envelope
from greenroom.message import UNANSWERED, Message, MessageTypes, Reply
from greenroom.monitor import Down, StopReason, Watchers
from greenroom.options import require_seconds
from greenroom.ref import ActorRef
from greenroom.timers import Timer, Timers
from greenroom.waiting import leave_actor


class OwnedTasks:
    """Starts tasks for one incarnation, reports the crash of one, and ends them all.

    They run in the nursery in which the actor's own task runs, each in a cancel scope. A nursery
    for each incarnation would cost every activation a third of its time, with or without tasks.

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


M = TypeVar("M")
Ts = TypeVarTuple("Ts")


class Actor(Generic[M]):
    """Base class of actors that handle messages of type ``M``.

    Define exactly one of `handle` and `handle_batch`. The attribute `context` is set before
    `started` is called, and not yet in ``__init__``.

    ``M`` is checked at run time too: sending a message of another class raises `MessageTypeError`.
    ``Actor[Any]`` turns the check off.
    """

    context: ActorContext
    _message_types: ClassVar[MessageTypes | None] = None

    @classmethod
    def message_types(cls) -> MessageTypes:
        """Return the messages that this class handles, read from its bases at the first call."""
        types = cls.__dict__.get("_message_types")
        if not isinstance(types, MessageTypes):
            types = cls._message_types = MessageTypes(cls, Actor)
        return types

    async def started(self) -> None:
        """Load state before the first message; raising is a crash.

        Cancelled when it takes longer than the child's ``start_timeout``.
        """

    async def handle(self, message: M) -> object:
        """Handle one message and return the reply (None for a tell).

        Raise a `Refusal` to refuse the message. Any other exception is a crash: the asker gets
        `ActorCrashed`, this object is dropped, and a new one takes the messages that still wait.
        An asker that gives up does not cancel the handler. It is cancelled only by a shutdown after
        the drain timeout, and by the crash of a task that the actor started.
        """
        raise NotImplementedError

    async def handle_batch(self, batch: Sequence[Envelope[M]]) -> None:
        """Handle all messages that waited, in order.

        Reply to each ask with ``envelope.reply(envelope.message.reply(value))`` or
        ``envelope.refuse(refusal)``, at any moment before returning. Any exception that escapes,
        a refusal included, is a crash, and fails every message of the batch that has no reply yet.
        """
        raise NotImplementedError

    def answer(self, message: M) -> Reply:
        """Return the answer to a message while the actor waits for messages, or `UNANSWERED`.

        Called in the task of the asker, which saves two task switches: it must not change the
        actor, nor do anything that takes time. As no message is being handled and none waits, the
        answer is the one that the handler would give. An exception propagates to the asker and is
        not a crash.
        """
        return UNANSWERED

    async def stopping(self, reason: StopReason) -> None:
        """Release what `started` acquired; called once if `started` returned.

        Runs after the last message, also after a crash, and after the actor's own tasks have
        ended. It is cancelled after the child's ``stopping_timeout``. Not called when the process
        dies, so nothing durable may depend on it.
        """


def handles_batches(actor_class: type[Actor[Any]]) -> bool:
    """Return whether ``actor_class`` defines `Actor.handle_batch`.

    Raises:
        TypeError: it defines both handlers, or neither.
    """
    single = actor_class.handle is not Actor.handle
    batch = actor_class.handle_batch is not Actor.handle_batch
    if single == batch:
        defined = "both handle and handle_batch" if single else "neither handle nor handle_batch"
        raise TypeError(f"{actor_class.__name__} defines {defined}; define exactly one of them")
    return batch


class ActorContext:
    """The services of the core for one incarnation of an actor.

    Attributes:
        faults: what `fault_point` passes to; None outside tests.
    """

    __slots__ = (
        "_cell",
        "_ended",
        "_scope",
        "_stopping",
        "_tasks",
        "_timers",
        "_watched",
        "faults",
    )

    def __init__(self, cell: Cell) -> None:
        """Serve the present incarnation of ``cell``."""
        self._cell = cell
        self.faults = cell.runtime.faults
        self._stopping = False
        self._ended = False
        self._watched: list[tuple[Watchers, Callable[[Down], None]]] | None = None
        self._timers: Timers | None = None
        self._scope = trio.CancelScope()
        self._tasks: OwnedTasks | None = None

    @property
    def path(self) -> str:
        """The actor's path in the tree, such as ``"root/storage"``."""
        return self._cell.path

    def ref(self, actor: Actor[M]) -> ActorRef[M]:
        """Return a reference to this actor, to pass to others: ``self.context.ref(self)``."""
        return ActorRef(self._cell)

    def start_task(
        self,
        function: Callable[[*Ts], Awaitable[object]],
        *arguments: *Ts,
        name: object = None,
    ) -> trio.CancelScope:
        """Run ``function(*arguments)`` as a task that this incarnation of the actor owns.

        If the task raises, the actor crashes: a handler in progress is cancelled, the message it
        handles fails with `ActorCrashed`, and the restart policy applies. A task that returns is
        finished. When the incarnation ends, for whatever reason, its tasks are cancelled after the
        last message and have ended before `Actor.stopping` is called.

        A task runs concurrently with the handlers; the two see each other's changes at every
        checkpoint. A task may ask its own actor. Like a timer, a task does not keep a virtual
        actor awake.

        Args:
            function: an async function.
            *arguments: its arguments.
            name: the task's name for debuggers; by default that of the function.

        Returns:
            A scope around the task; cancel it to end this task alone.

        Raises:
            RuntimeError: the incarnation of this context is stopping or has ended.
        """
        self._require_alive()
        if self._stopping:
            raise RuntimeError(f"this incarnation of {self.path} is stopping; it starts no task")
        if self._tasks is None:
            self._tasks = OwnedTasks(self._cell.nursery, self._scope, self.path)
        return self._tasks.start(function, *arguments, name=name)

    def schedule_once(self, delay: float, message: Message[None]) -> Timer:
        """Send ``message`` to this actor in ``delay`` seconds.

        It is added at the end of the mailbox. The timer is cancelled when this incarnation ends;
        it does not keep a virtual actor awake.

        Raises:
            MessageTypeError: the actor does not handle this type of message.
            ValueError: ``delay`` is negative.
            RuntimeError: the incarnation of this context has ended.
        """
        return self._schedule(message, delay, None)

    def schedule_every(
        self, period: float, message: Message[None], *, delay: float | None = None
    ) -> Timer:
        """Send ``message`` to this actor every ``period`` seconds, first after ``delay``.

        ``delay`` is one period by default. Periods during which the actor was busy are skipped.

        Raises:
            MessageTypeError: the actor does not handle this type of message.
            ValueError: ``period`` is not positive, or ``delay`` is negative.
            RuntimeError: the incarnation of this context has ended.
        """
        require_seconds("a timer's period", period)
        return self._schedule(message, period if delay is None else delay, period)

    def _schedule(self, message: Message[None], delay: float, period: float | None) -> Timer:
        self._require_alive()
        self._cell.require_accepted(message)
        if self._timers is None:
            self._timers = Timers()
        timer = self._timers.add(message, delay, period)
        self._cell.mailbox.nudge()  # the caller may be another task, while the actor waits
        return timer

    def _require_alive(self) -> None:
        if self._ended:
            raise RuntimeError(
                f"this incarnation of {self.path} has ended; its context can't be used any more"
            )

    def monitor(self, ref: ActorRef[Any], notice: Callable[[Down], Message[None]]) -> None:
        """Send ``notice(down)`` to this actor whenever the actor of ``ref`` goes down.

        Ends with this incarnation, or after the final notice. Notices may exceed the capacity of
        the mailbox. An exception of ``notice`` is logged and the notice dropped.
        """
        self._require_alive()
        cell = self._cell

        def put(down: Down) -> None:
            message = notice(down)
            cell.require_accepted(message)
            cell.mailbox.put_over_capacity(Envelope(message, is_ask=False))

        # The watched actor's supervisor calls this; an error of `notice` must not crash it.
        send = partial(cell.runtime.notify, put)

        if self._watched is None:
            self._watched = []
        watchers = ref.watchers()
        self._watched.append((watchers, send))
        watchers.add(send)

    def stop(self) -> None:
        """End this actor after the present message and those that wait.

        New messages are refused from now on. The restart policy decides whether the actor is
        started again. A virtual actor ends after the present message; messages that wait or arrive
        later activate it again.
        """
        self._require_alive()
        self._cell.finish()

    async def fault_point(self, name: str) -> None:
        """Pass a named point at which a test may inject a fault.

        Outside tests it does nothing, and is not a checkpoint.
        """
        faults = self._cell.runtime.faults
        if faults is not None:
            await faults.reach(name, self._cell.path)
