"""The signing keys of the installation: of reading tickets, and of the addresses of reports."""

import hmac
from base64 import urlsafe_b64encode

import trio

from octavo.access.ports import Clock, NewEntropy, milliseconds
from octavo.features.publishing.rules.link import TOKEN_BYTES, PublishedLink
from octavo.features.publishing.rules.report import ReportId
from octavo.features.publishing.rules.ticket import (
    TICKET_SECONDS,
    read_ticket,
    sign_ticket,
    verify_ticket,
)
from octavo.store import Store
from octavo.store.queries.signing_keys import SigningKey, keys_of, newest_key, only_secret

ROTATION_SECONDS = 86_400.0
"""Seconds after which tickets are signed with a new key."""
UNKNOWN_SECONDS = 1.0
"""Seconds between two looks for a key that another process may have made."""


class Tickets:
    """Signs and verifies reading tickets. A key is replaced daily, and verifies until its end.

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
        """Read the keys of other processes, and of an earlier start.

        Inventions cause at most one look a second. Everybody waits for the look in progress: it may
        find the key, and it may fail.
        """
        async with self._looking:
            now = trio.current_time()
            if now - self._looked_at < UNKNOWN_SECONDS:
                return
            found = await self._store.read(keys_of("ticket"))
            self._looked_at = now
            if found:
                self._remember(found)

    def _remember(self, found: list[SigningKey]) -> SigningKey:
        self._keys = {each.number: each for each in found}
        return found[0]


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
