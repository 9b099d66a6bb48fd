"""References: how other code sends messages to an actor.

A reference stays valid across restarts. Whatever happens to the actor, an ask ends: with the
reply, with an error of the handler, with `NotExecuted`, or with `OutcomeUnknown`.
"""

from __future__ import annotations

import math
from collections.abc import Coroutine
from typing import Any, Generic, TypeVar

import trio

from greenroom.cell import Cell
from greenroom.errors import MailboxFull, NotExecuted, OutcomeUnknown
from greenroom.mailbox import Envelope, EnvelopeState
from greenroom.message import UNANSWERED, MessageFor
from greenroom.monitor import Monitor, Watchers
from greenroom.waiting import current_waiter

M = TypeVar("M")
M_contra = TypeVar("M_contra", contravariant=True)
R = TypeVar("R")


class ActorRef(Generic[M_contra]):
    """Sends messages of the classes ``M`` to one actor."""

    __slots__ = ("_cell",)

    def __init__(self, cell: Cell) -> None:
        """Refer to ``cell``; supervisors and directories create references."""
        self._cell = cell

    def __repr__(self) -> str:
        """Return the path, marked as a reference."""
        return f"<ref {self.path}>"

    @property
    def path(self) -> str:
        """The actor's path in the tree."""
        return self._cell.path

    def resolve(self, message: object) -> Cell:
        """Return the cell to send ``message`` to; the caller must not await before it does.

        Raises:
            MessageTypeError: the actor does not handle this type of message.
        """
        cell = self._cell
        types = cell.message_types
        if types is not None and type(message) not in types.known:
            types.require(message, cell.path)
        return cell

    def watchers(self) -> Watchers:
        """Return the watchers of this actor's ends."""
        return self._cell.watchers

    # Not an async function: that saves every ask one coroutine.
    def ask(
        self: ActorRef[M],
        message: MessageFor[M, R],
        *,
        timeout: float = math.inf,
        admission: float | None = None,
    ) -> Coroutine[Any, Any, R]:
        """Send ``message`` and return the handler's reply, when it is awaited.

        Args:
            message: the message.
            timeout: seconds for the whole exchange. A surrounding cancel scope works as well, but
                then the only error raised here is trio's ``Cancelled``.
            admission: seconds to wait for a slot in a full mailbox; by default the actor's
                ``admission_timeout``.

        Raises:
            Refusal: the handler refused the message.
            NotExecuted: the message had no effect, repeating is safe (`MailboxFull`,
                `ActorStopped`, `ActorQuarantined`, `AskCycle`, `InvalidActor`, or the timeout
                passed before the actor took the message).
            OutcomeUnknown: the actor took the message, which may have had an effect
                (`ActorCrashed`, or the timeout passed, or the actor was cancelled).
            MessageTypeError: the actor does not handle this type of message; nothing was sent.

        If cancelled, a message that was not taken yet has no effect; one that was taken is
        finished by the actor. Not a checkpoint when the actor has an answer at once
        (`greenroom.Actor.answer`).
        """
        if timeout == math.inf:
            return _exchange(self, message, None, admission)
        return _exchange_within(timeout, self, message, admission)

    async def tell(
        self: ActorRef[M], message: MessageFor[M, None], *, admission: float | None = None
    ) -> None:
        """Send ``message`` and return as soon as it is in the mailbox.

        A checkpoint. If cancelled while waiting for a slot, the message was not sent; once it is
        in the mailbox, it stays there.

        Raises:
            NotExecuted: it was not admitted (`MailboxFull`, `ActorStopped`, …).
            MessageTypeError: the actor does not handle this type of message; nothing was sent.
        """
        await _tell(self, message, admission)

    def tell_nowait(self: ActorRef[M], message: MessageFor[M, None]) -> None:
        """Do the same as `tell` without waiting: a full mailbox raises `MailboxFull`."""
        self.resolve(message).mailbox.put_nowait(Envelope(message, is_ask=False))

    def monitor(self) -> Monitor:
        """Return a monitor of this actor's ends, to be used as a context manager."""
        return Monitor(self.watchers())


@trio.lowlevel.enable_ki_protection
async def _exchange_within(
    timeout: float, ref: ActorRef[Any], message: object, admission: float | None
) -> Any:  # noqa: ANN401 - ask() gives it its type
    envelope = Envelope(message, is_ask=True)
    with trio.move_on_after(timeout):
        return await _exchange(ref, message, envelope, admission)
    # The reply may have been given in the same tick in which the timeout passed.
    if envelope.state is EnvelopeState.DONE:
        return envelope.result()
    kind = type(envelope.message).__name__
    if envelope.state is EnvelopeState.TAKEN:
        raise OutcomeUnknown(f"{ref.path} took {kind} but did not reply within {timeout:g} s")
    envelope.abandon()
    raise NotExecuted(f"{ref.path} did not take {kind} within {timeout:g} s; it was withdrawn")


@trio.lowlevel.enable_ki_protection
async def _exchange(
    ref: ActorRef[Any],
    message: object,
    envelope: Envelope[Any] | None,
    admission: float | None,
) -> Any:  # noqa: ANN401 - ask() gives it its type
    cell = ref.resolve(message)
    faults = cell.runtime.faults
    if faults is not None:
        await faults.reach("ask.sending", ref.path)
        cell = ref.resolve(message)
    reply = cell.answer_at_once(message)
    if reply is not UNANSWERED:
        if faults is not None:
            await faults.reach("ask.replied", ref.path)
        return reply
    if envelope is None:
        envelope = Envelope(message, is_ask=True)
    # There is no await between resolve() and the arrival in the mailbox, unless it is full.
    waiter = current_waiter()
    if waiter is not None:
        waiter.begin_wait(envelope, cell)
    try:
        try:
            cell.mailbox.put_nowait(envelope)
        except MailboxFull:
            await cell.mailbox.put(envelope, _patience(cell, admission))
        await envelope.settled()
    finally:
        if waiter is not None:
            waiter.end_wait(envelope)
    if faults is not None:
        await faults.reach("ask.replied", ref.path)
    return envelope.result()


def _patience(cell: Cell, admission: float | None) -> float:
    return cell.options.admission_timeout if admission is None else admission


@trio.lowlevel.enable_ki_protection
async def _tell(ref: ActorRef[Any], message: object, admission: float | None) -> None:
    await trio.lowlevel.checkpoint_if_cancelled()
    cell = ref.resolve(message)
    envelope = Envelope(message, is_ask=False)
    try:
        cell.mailbox.put_nowait(envelope)
    except MailboxFull:
        waiter = current_waiter()
        if waiter is not None:
            waiter.begin_wait(envelope, cell)
        try:
            await cell.mailbox.put(envelope, _patience(cell, admission))
        finally:
            if waiter is not None:
                waiter.end_wait(envelope)
    await trio.lowlevel.cancel_shielded_checkpoint()
