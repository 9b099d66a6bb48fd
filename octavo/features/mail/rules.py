"""Messages that wait to be sent, and for how long."""

from dataclasses import dataclass
from typing import Literal, NewType

from octavo.model.access.account import Address

MailId = NewType("MailId", str)

NoticeKind = Literal["link_reported", "link_taken_down", "password_changed"]
"""What a notice says: that a published link was reported, to administrators; that one was taken
down, to the owners of its workspace; or that the password was changed."""
MailKind = Literal[NoticeKind, "password_reset"]
"""A notice, or a link to choose a new password."""

LIFETIME_SECONDS: dict[MailKind, float] = {
    "link_reported": 86_400.0,
    "link_taken_down": 86_400.0,
    "password_changed": 86_400.0,
    "password_reset": 3600.0,
}
"""Seconds after which a message that could not be sent is given up."""

REQUEST_DELAY_SECONDS = (0.5, 3.0)
"""The shortest and the longest delay of a message that anybody can request. Composing and sending
happen for addresses with an account only, so their load must not follow the request."""

BUDGET_SECONDS = 3600.0
"""Seconds over which the messages to one address are counted."""


@dataclass(frozen=True, slots=True)
class QueuedMail:
    """A message in the outbox; times are in milliseconds of Unix time.

    It has no text, which is composed when the message is sent, for the account that has the address
    at that time. Without such an account, nothing is sent.

    Attributes:
        attempts: how many times it was claimed for sending, including a present attempt.
    """

    mail_id: MailId
    kind: MailKind
    address: Address
    created_at: int
    expires_at: int
    attempts: int = 0

    def expired_at(self, now: int) -> bool:
        """Return whether it is too late to send it."""
        return now >= self.expires_at


def request_delay(random: float) -> float:
    """Return the seconds by which to delay a requested message, for a number within [0, 1)."""
    shortest, longest = REQUEST_DELAY_SECONDS
    return shortest + (longest - shortest) * random


def queued(mail_id: str, kind: MailKind, address: Address, now: int) -> QueuedMail:
    """Return a new message, created at ``now``."""
    lifetime = int(LIFETIME_SECONDS[kind] * 1000)
    return QueuedMail(MailId(mail_id), kind, address, now, now + lifetime)
