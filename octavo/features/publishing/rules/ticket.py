"""Reading tickets: what a reader who has opened a link shows with every address of it.

A ticket is bound to the link and to its password, and ends two hours later. It holds no secret and
names nobody: whoever opened the same link in the same second has an equal one.
"""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from typing import NamedTuple

from octavo.features.publishing.rules.link import PublishedLink

TICKET_SECONDS = 2 * 3600
"""Seconds for which a ticket is valid."""
_NUMBER, _TIME, _MAC = 4, 5, 24
_LENGTH = 4 * (_NUMBER + _TIME + _MAC) // 3
_MAX_TIME = (1 << 8 * _TIME) - 1


class TicketClaims(NamedTuple):
    """What a ticket says, which `verify_ticket` proves: the number of the key, and its end (s)."""

    key: int
    ends_at: int


def sign_ticket(link: PublishedLink, key: int, secret: bytes, ends_at: int) -> str:
    """Return the ticket of a link, of letters, digits, ``-`` and ``_``.

    Args:
        link: which was opened.
        key: the number of the signing key, below 2 to the 32.
        secret: of that key.
        ends_at: when it ends, in seconds of Unix time.
    """
    head = key.to_bytes(_NUMBER) + min(ends_at, _MAX_TIME).to_bytes(_TIME)
    return urlsafe_b64encode(head + _mac(link, head, secret)).decode()


def read_ticket(ticket: str) -> TicketClaims | None:
    """Return what a ticket says, unproven; None for anything that is no ticket."""
    data = _decoded(ticket)
    if data is None:
        return None
    end = _NUMBER + _TIME
    return TicketClaims(int.from_bytes(data[:_NUMBER]), int.from_bytes(data[_NUMBER:end]))


def verify_ticket(ticket: str, link: PublishedLink, secret: bytes, now: float) -> bool:
    """Return whether ``secret`` signed a ticket of this link that is valid at ``now`` (s)."""
    data, claims = _decoded(ticket), read_ticket(ticket)
    if data is None or claims is None or now >= claims.ends_at:
        return False
    head = data[: _NUMBER + _TIME]
    return hmac.compare_digest(data[_NUMBER + _TIME :], _mac(link, head, secret))


def _decoded(ticket: str) -> bytes | None:
    if len(ticket) != _LENGTH or not ticket.isascii():
        return None
    try:
        data = urlsafe_b64decode(ticket)
    except ValueError:
        return None
    # The decoder ignores foreign characters; a ticket has one spelling.
    return data if urlsafe_b64encode(data).decode() == ticket else None


def _mac(link: PublishedLink, head: bytes, secret: bytes) -> bytes:
    password = sha256((link.password or "").encode()).digest()
    message = b"octavo ticket\0" + link.publication_id.encode() + b"\0" + head + password
    return hmac.digest(secret, message, "sha256")[:_MAC]
