"""An actor that waits holds nothing of the messages that it has handled: they may be megabytes."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
import trio
from greenroom import Actor, ActorRef, ActorSpec, Envelope, Message, Refusal, Supervisor
from trio.testing import wait_all_tasks_blocked


class Payload:
    """What a message carries, or a reply."""


class Refused(Refusal):
    """Raised for each message."""


@dataclass(frozen=True, slots=True)
class Carry(Message[Payload]):
    """Carries something in both directions."""

    payload: Payload


class Carrier(Actor[Carry]):
    """Replies to messages, or refuses them."""

    def __init__(self, *, refuses: bool) -> None:
        self.refuses = refuses
        self.replied: weakref.ref[Payload] | None = None

    def reply(self) -> Payload:
        reply = Payload()
        self.replied = weakref.ref(reply)
        return reply


class Single(Carrier):
    """Handles one message after the other."""

    async def handle(self, message: Carry) -> Payload:
        if self.refuses:
            raise Refused
        return self.reply()


class Several(Carrier):
    """Handles all that wait together."""

    async def handle_batch(self, batch: Sequence[Envelope[Carry]]) -> None:
        for envelope in batch:
            if self.refuses:
                envelope.refuse(Refused())
            else:
                envelope.reply(envelope.message.reply(self.reply()))


async def carried_by(ref: ActorRef[Carry]) -> weakref.ref[Payload]:
    """Send a message that carries something, and return a reference that does not keep it."""
    payload = Payload()
    try:
        await ref.ask(Carry(payload))
    except Refused:
        await trio.lowlevel.checkpoint()
    return weakref.ref(payload)


@pytest.mark.parametrize("refuses", [False, True])
@pytest.mark.parametrize("kind", [Single, Several])
async def test_actor_that_waits_holds_no_message_and_no_reply(
    kind: type[Carrier], refuses: bool
) -> None:
    made: list[Carrier] = []

    def make() -> Carrier:
        made.append(kind(refuses=refuses))
        return made[-1]

    root = Supervisor("root")
    ref = root.add(ActorSpec("carrier", make))
    async with root.running():
        carried = await carried_by(ref)
        await wait_all_tasks_blocked()
        assert carried() is None
        if not refuses:
            replied = made[0].replied
            assert replied is not None
            assert replied() is None
