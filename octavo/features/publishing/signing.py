"""The signing keys of the installation: of reading tickets, and of the addresses of reports."""

import hmac
from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import NamedTuple

import trio

from octavo.access.ports import Clock, NewEntropy, milliseconds
from octavo.features.publishing.rules import TOKEN_BYTES, PublishedLink, ReportId
from octavo.model.access.token import decoded_token
from octavo.store import Store
from octavo.store.queries.signing_keys import SigningKey, keys_of, newest_key, only_secret

# A ticket is bound to the link and its password, and ends after two hours. It has no secret and
# identifies nobody: readers who open the same link in the same second get the same ticket.
TICKET_SECONDS = 2 * 3600
"""Seconds for which a ticket is valid."""
_NUMBER, _TIME, _MAC = 4, 5, 24
_LENGTH = 4 * (_NUMBER + _TIME + _MAC) // 3
_MAX_TIME = (1 << 8 * _TIME) - 1


class TicketClaims(NamedTuple):
    """The claims of a ticket, not verified: the number of its key, and when it ends (s)."""

    key: int
    ends_at: int


def sign_ticket(link: PublishedLink, key: int, secret: bytes, ends_at: int) -> str:
    """Return the ticket of a link, of letters, digits, ``-`` and ``_``.

    Args:
        link: the link that was opened.
        key: the number of the signing key, below 2 to the 32.
        secret: of that key.
        ends_at: when it ends, in seconds of Unix time.
    """
    head = key.to_bytes(_NUMBER) + min(ends_at, _MAX_TIME).to_bytes(_TIME)
    return urlsafe_b64encode(head + _mac(link, head, secret)).decode()


def read_ticket(ticket: str) -> TicketClaims | None:
    """Return the claims of a ticket, not verified; None for anything that is no ticket."""
    data = decoded_token(ticket, _LENGTH)
    if data is None:
        return None
    end = _NUMBER + _TIME
    return TicketClaims(int.from_bytes(data[:_NUMBER]), int.from_bytes(data[_NUMBER:end]))


def verify_ticket(ticket: str, link: PublishedLink, secret: bytes, now: float) -> bool:
    """Return whether ``secret`` signed a ticket of this link that is valid at ``now`` (s)."""
    data, claims = decoded_token(ticket, _LENGTH), read_ticket(ticket)
    if data is None or claims is None or now >= claims.ends_at:
        return False
    head = data[: _NUMBER + _TIME]
    return hmac.compare_digest(data[_NUMBER + _TIME :], _mac(link, head, secret))


def _mac(link: PublishedLink, head: bytes, secret: bytes) -> bytes:
    password = sha256((link.password or "").encode()).digest()
    message = b"octavo ticket\0" + link.publication_id.encode() + b"\0" + head + password
    return hmac.digest(secret, message, "sha256")[:_MAC]


ROTATION_SECONDS = 86_400.0
"""Seconds after which tickets are signed with a new key."""
UNKNOWN_SECONDS = 1.0
"""Seconds between two look-ups of a key that another process may have made."""


class Tickets:
    """Signs and verifies reading tickets.

    A key signs for a day, and verifies until the last of its tickets ends.

    Every method raises `StoreUnavailable`.

    Args:
        store: the database.
        now: the clock.
        new_secret: returns the entropy of a key.
    """

    def __init__(self, store: Store, *, now: Clock, new_secret: NewEntropy) -> None:
        self._store = store
        self._now = now
        self._new_secret = new_secret
        self._keys: dict[int, SigningKey] = {}
        self._looked_at = -UNKNOWN_SECONDS
        self._looking = trio.Lock()

    async def issue(self, link: PublishedLink) -> str:
        """Return a ticket of a link that was opened now."""
        now = self._now()
        newest = max(self._keys.values(), default=None)
        renewed_before = milliseconds(now - ROTATION_SECONDS)
        if newest is None or newest.created_at < renewed_before:
            kept_since = milliseconds(now - 2 * ROTATION_SECONDS - TICKET_SECONDS)
            script = newest_key(
                "ticket", self._new_secret(), milliseconds(now), renewed_before, kept_since
            )
            newest = self._remember(await self._store.write(script))
        return sign_ticket(link, newest.number, newest.secret, int(now) + TICKET_SECONDS)

    async def verify(self, ticket: str, link: PublishedLink) -> bool:
        """Return whether a ticket proves that the link was opened."""
        claims = read_ticket(ticket)
        if claims is None:
            return False
        key = self._keys.get(claims.key)
        if key is None:
            await self._look()
            key = self._keys.get(claims.key)
        return key is not None and verify_ticket(ticket, link, key.secret, self._now())

    async def _look(self) -> None:
        """Read the keys that other processes have made, or this one before a restart.

        Invented key numbers cause at most one look-up a second. Callers wait for the look-up in
        progress, which may find the key, or fail.
        """
        async with self._looking:
            now = trio.current_time()
            if now - self._looked_at < UNKNOWN_SECONDS:
                return
            keys = await self._store.read(keys_of("ticket"))
            self._looked_at = now
            if keys:
                self._remember(keys)

    def _remember(self, keys: list[SigningKey]) -> SigningKey:
        self._keys = {key.number: key for key in keys}
        return keys[0]


class ReportAddresses:
    """Derives the tokens by which reported links are read, from the ids of their reports.

    Args:
        store: the database.
        now: the clock.
        new_secret: returns the entropy of the key.
    """

    def __init__(self, store: Store, *, now: Clock, new_secret: NewEntropy) -> None:
        self._store = store
        self._now = now
        self._new_secret = new_secret
        self._secret: bytes | None = None

    async def token(self, report_id: ReportId) -> str:
        """Return the token of a report, as long as that of a link. Raises `StoreUnavailable`."""
        if self._secret is None:
            script = only_secret("report", self._new_secret(), milliseconds(self._now()))
            self._secret = await self._store.write(script)
        mac = hmac.digest(self._secret, b"octavo report\0" + report_id.encode(), "sha256")
        return urlsafe_b64encode(mac[:TOKEN_BYTES]).decode()
