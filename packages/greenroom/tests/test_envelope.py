"""A reply slot is filled once, and filling it never fails."""

from __future__ import annotations

import pytest
from greenroom import BadReply, Envelope, EnvelopeState, MailboxFull

pytestmark = pytest.mark.explore(schedules=20, early_time=False)


async def test_a_reply_is_given_once_and_never_fails() -> None:
    envelope = Envelope("question", is_ask=True)
    assert envelope.take()
    assert not envelope.take()
    envelope.reply_with(1)
    envelope.reply_with(2)
    envelope.fail(ValueError())
    assert envelope.result() == 1
    withdrawn = Envelope("question", is_ask=True)
    assert withdrawn.abandon()
    withdrawn.reply_with(1)
    assert withdrawn.state is EnvelopeState.ABANDONED


async def test_only_a_refusal_can_refuse() -> None:
    envelope = Envelope("question", is_ask=True)
    with pytest.raises(BadReply, match="only a Refusal can refuse a message"):
        envelope.refuse(MailboxFull("a lie"))  # type: ignore[arg-type]
    assert envelope.pending
