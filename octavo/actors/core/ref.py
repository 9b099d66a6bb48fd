"""References: how everybody else talks to an actor.

A reference stays valid over restarts. Whatever becomes of the actor, an ask
ends: with the answer, with the failure, or with the word that nothing happened.
"""

from __future__ import annotations

import math
from typing import Any, Generic, TypeVar

import trio

from octavo.actors.core.cell import Cell
from octavo.actors.core.envelope import Envelope, EnvelopeState
from octavo.actors.core.errors import MailboxFull, NotExecuted, OutcomeUnknown
from octavo.actors.core.message import Message
from octavo.actors.core.monitor import Monitor, Watchers
from octavo.actors.core.waiting import current_waiter

A = TypeVar("A")
R = TypeVar("R")


class ActorRef(Generic[A]):
    """Sends messages to the actor of class ``A`` in one cell."""

    __slots__ = ("_cell",)

    def __init__(self, cell: Cell) -> None:
        """Refer to ``cell``; supervisors and directories make references."""
        self._cell = cell

    def __repr__(self) -> str:
        """The path."""
        return f"<ref {self.path}>"

    @property
    def path(self) -> str:
        """Where the actor stands in the tree."""
        return self._cell.path

    def resolve(self) -> Cell:
        """The cell to put a message into; no await may come in between."""
        return self._cell

    def watchers(self) -> Watchers:
        """Those who want to hear of this actor's ends."""
        return self._cell.watchers

    async def ask(
        self, message: Message[A, R], *, timeout: float = math.inf, admission: float | None = None
    ) -> R:
        """Send ``message`` and return the handler's answer.

        Args:
            message: what to ask.
            timeout: seconds for all of it. A surrounding cancel scope works as
                well, but then only trio's ``Cancelled`` is raised here.
            admission: seconds to wait for a place in a full mailbox; by
                default the actor's ``admission_timeout``.

        Raises:
            Refusal: the handler said no.
            NotExecuted: nothing happened, repeating is safe (`MailboxFull`,
                `ActorStopped`, `ActorQuarantined`, `AskCycle`, or the timeout
                passed before the actor took the message).
            OutcomeUnknown: the actor took the message, so it may have happened
                (`ActorCrashed`, or the timeout passed, or it was cancelled).

        If cancelled, a message that was not taken yet does nothing any more;
        one that was taken is finished by the actor.
        """
        envelope = Envelope(message, is_ask=True)
        if timeout == math.inf:
            answer: R = await _exchange(self, envelope, admission)
        else:
            answer = await _exchange_within(timeout, self, envelope, admission)
        return answer

    async def tell(self, message: Message[A, None], *, admission: float | None = None) -> None:
        """Send ``message`` and return as soon as it is in the mailbox.

        Raises:
            NotExecuted: it was not admitted (`MailboxFull`, `ActorStopped`, …).

        A checkpoint. If cancelled while it waits for a place, the message was
        not sent; afterwards it stays sent.
        """
        await _tell(self, message, admission)

    def tell_nowait(self, message: Message[A, None]) -> None:
        """As `tell`, without waiting for a place: a full mailbox raises `MailboxFull`."""
        self.resolve().mailbox.put_nowait(Envelope(message, is_ask=False))

    def monitor(self) -> Monitor:
        """Watch this actor's ends; use the result as a context manager."""
        return Monitor(self.watchers())


@trio.lowlevel.enable_ki_protection
async def _exchange_within(
    timeout: float, ref: ActorRef[Any], envelope: Envelope[Any], admission: float | None
) -> Any:  # noqa: ANN401 - ask() gives it its type
    with trio.move_on_after(timeout):
        return await _exchange(ref, envelope, admission)
    # The answer may have been given in the very tick in which the time ran out.
    if envelope.state is EnvelopeState.DONE:
        return envelope.result()
    kind = type(envelope.message).__name__
    if envelope.state is EnvelopeState.TAKEN:
        raise OutcomeUnknown(f"{ref.path} took {kind} but gave no answer within {timeout:g} s")
    envelope.abandon()
    raise NotExecuted(f"{ref.path} did not take {kind} within {timeout:g} s; it was withdrawn")


@trio.lowlevel.enable_ki_protection
async def _exchange(ref: ActorRef[Any], envelope: Envelope[Any], admission: float | None) -> Any:  # noqa: ANN401 - ask() gives it its type
    cell = ref.resolve()
    faults = cell.runtime.faults
    if faults is not None:
        await faults.reach("ask.sending", ref.path)
        cell = ref.resolve()
    # From resolve() to the arrival in the mailbox nothing awaits, unless it is full.
    waiter = current_waiter()
    if waiter is not None:
        waiter.will_wait(envelope, cell)
    try:
        try:
            cell.mailbox.put_nowait(envelope)
        except MailboxFull:
            await cell.mailbox.put(envelope, _patience(cell, admission))
        await envelope.settled()
    finally:
        if waiter is not None:
            waiter.waited(envelope)
    if faults is not None:
        await faults.reach("ask.answered", ref.path)
    return envelope.result()


def _patience(cell: Cell, admission: float | None) -> float:
    return cell.options.admission_timeout if admission is None else admission


@trio.lowlevel.enable_ki_protection
async def _tell(ref: ActorRef[Any], message: Message[Any, None], admission: float | None) -> None:
    await trio.lowlevel.checkpoint_if_cancelled()
    cell = ref.resolve()
    envelope = Envelope(message, is_ask=False)
    try:
        cell.mailbox.put_nowait(envelope)
    except MailboxFull:
        waiter = current_waiter()
        if waiter is not None:
            waiter.will_wait(envelope, cell)
        try:
            await cell.mailbox.put(envelope, _patience(cell, admission))
        finally:
            if waiter is not None:
                waiter.waited(envelope)
    await trio.lowlevel.cancel_shielded_checkpoint()
