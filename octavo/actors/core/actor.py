"""What a developer writes: an actor class.

An actor handles one message (or one batch) at a time, owns its state alone,
and is made anew from durable state after every crash.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from octavo.actors.core.envelope import Envelope
from octavo.actors.core.message import Message
from octavo.actors.core.monitor import Down, StopReason, Watchers
from octavo.actors.core.options import require_seconds
from octavo.actors.core.timers import Timer, Timers

if TYPE_CHECKING:
    from octavo.actors.core.cell import Cell
    from octavo.actors.core.ref import ActorRef

M = TypeVar("M")
A = TypeVar("A", bound="Actor[Any]")


class Actor(Generic[M]):
    """Base of actors that handle messages of type ``M``.

    Define exactly one of `handle` and `handle_batch`. The actor's `context`
    is there from `started` on, not yet in ``__init__``.
    """

    context: ActorContext

    async def started(self) -> None:
        """Load state before the first message; raising is a crash.

        Cancelled when it takes longer than the child's ``start_timeout``.
        """

    async def handle(self, message: M) -> object:
        """Handle one message and return the answer (None for a tell).

        Raise a `Refusal` to answer "no". Any other exception is a crash: the
        asker gets `ActorCrashed`, this object is dropped, and a new one takes
        the messages that still wait. The asker leaving never cancels it; only
        a shutdown whose drain deadline passed does.
        """
        raise NotImplementedError

    async def handle_batch(self, batch: Sequence[Envelope[M]]) -> None:
        """Handle all messages that waited, in order.

        Answer each ask with ``envelope.reply(envelope.message.reply(value))`` or
        ``envelope.refuse(refusal)``, at any moment before returning. Any
        exception that escapes, a refusal too, is a crash, and fails every
        message of the batch that has no answer yet.
        """
        raise NotImplementedError

    async def stopping(self, reason: StopReason) -> None:
        """Release what `started` took; called once if `started` returned.

        Runs after the last message, also after a crash, within the child's
        ``stopping_timeout``; then it is cancelled. Not called when the process
        dies, so nothing durable may depend on it.
        """


def handles_batches(actor: Actor[Any]) -> bool:
    """Whether ``actor`` defines `Actor.handle_batch`.

    Raises:
        TypeError: it defines both of the handlers, or neither.
    """
    single = type(actor).handle is not Actor.handle
    batch = type(actor).handle_batch is not Actor.handle_batch
    if single == batch:
        found = "both handle and handle_batch" if single else "neither handle nor handle_batch"
        raise TypeError(f"{type(actor).__name__} defines {found}; define exactly one of them")
    return batch


class ActorContext:
    """What an actor may ask of the core; one for each incarnation."""

    __slots__ = ("_cell", "_ended", "_watched", "timers")

    def __init__(self, cell: Cell) -> None:
        """Belong to ``cell``."""
        self._cell = cell
        self._ended = False
        self._watched: list[tuple[Watchers, Callable[[Down], None]]] | None = None
        self.timers: Timers | None = None

    @property
    def path(self) -> str:
        """Where the actor stands in the tree, such as ``"root/storage"``."""
        return self._cell.path

    def ref(self, actor: A) -> ActorRef[A]:
        """A reference to this actor: ``self.context.ref(self)``, to give to others."""
        from octavo.actors.core.ref import ActorRef  # noqa: PLC0415 - a reference needs this module

        return ActorRef(self._cell)

    def schedule_once(self, delay: float, message: Message[Any, None]) -> Timer:
        """Tell this actor ``message`` in ``delay`` seconds.

        It arrives behind what waits then. It is cancelled with this
        incarnation; it does not keep a virtual actor awake.

        Raises:
            ValueError: ``delay`` is negative.
            RuntimeError: the incarnation of this context has ended.
        """
        return self._schedule(message, delay, None)

    def schedule_every(
        self, period: float, message: Message[Any, None], *, delay: float | None = None
    ) -> Timer:
        """Tell this actor ``message`` every ``period`` seconds, first after ``delay``.

        ``delay`` is one period by default. Periods in which the actor was busy
        are not made up for.

        Raises:
            ValueError: ``period`` is not positive, or ``delay`` is negative.
        """
        require_seconds("a timer's period", period)
        return self._schedule(message, period if delay is None else delay, period)

    def _schedule(self, message: Message[Any, None], delay: float, period: float | None) -> Timer:
        self._require_alive()
        if self.timers is None:
            self.timers = Timers()
        timer = self.timers.add(message, delay, period)
        self._cell.mailbox.nudge()  # a task beside the actor may have called while it waits
        return timer

    def _require_alive(self) -> None:
        if self._ended:
            raise RuntimeError(
                f"this incarnation of {self.path} has ended; its context is of no use"
            )

    def monitor(self, ref: ActorRef[Any], notice: Callable[[Down], Message[Any, None]]) -> None:
        """Tell this actor ``notice(down)`` whenever the actor behind ``ref`` goes down.

        Ends with this incarnation, or after the final notice. Notices pass the
        bound of the mailbox.
        """
        self._require_alive()
        mailbox = self._cell.mailbox

        def put(down: Down) -> None:
            mailbox.put_beyond_capacity(Envelope(notice(down), is_ask=False))

        # The supervisor of the watched actor calls this: what `notice` raises is no crash of its.
        tell = partial(self._cell.runtime.notify, put)

        if self._watched is None:
            self._watched = []
        watchers = ref.watchers()
        self._watched.append((watchers, tell))
        watchers.add(tell)

    def stop(self) -> None:
        """End this actor after the present message and those that wait.

        New messages are refused from now on. Whether it is started again is
        for its restart policy to say. A virtual actor ends after the present
        message; those that wait, or come, wake its key's next one.
        """
        self._require_alive()
        self._cell.finish()

    def close(self) -> None:
        """Drop timers and watches; the core calls it when the incarnation ends."""
        self._ended = True
        self.timers = None
        for watchers, callback in self._watched or ():
            watchers.remove(callback)
        self._watched = None

    async def fault_point(self, name: str) -> None:
        """Pass a named point at which a test may inject a fault.

        Outside tests it does nothing, and is no checkpoint.
        """
        faults = self._cell.runtime.faults
        if faults is not None:
            await faults.reach(name, self._cell.path)
