"""The metadata documents of programs, kept for some time."""

import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import cast

import trio

from octavo.features.oauth.rules.client import OAuthClient, read_document
from octavo.features.oauth.rules.refusal import InvalidClientMetadata, OAuthRefusal
from octavo.model.access.account import ClientId

KEPT_SECONDS = 3_600.0
FAILED_SECONDS = 60.0
"""Seconds for which an address that failed is not asked again."""
MAX_KEPT = 1_000
AT_ONCE = 4
"""Requests at the same time."""

Fetch = Callable[[str], Awaitable[bytes]]
"""Returns the JSON document at an https address. Raises `OAuthRefusal`."""


class ClientDocuments:
    """Fetches metadata documents, and keeps what they say for some time.

    Args:
        fetch: fetches a document.
    """

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._limiter = trio.CapacityLimiter(AT_ONCE)
        self._kept: OrderedDict[str, tuple[OAuthClient | OAuthRefusal, float]] = OrderedDict()

    async def client(self, client_id: ClientId) -> OAuthClient:
        """Return the client whose document is at the address ``client_id``.

        Raises `OAuthRefusal` if it has no valid document. Cancellation changes nothing.
        """
        kept = self._kept.get(client_id)
        if kept is None or kept[1] <= trio.current_time():
            async with self._limiter:
                kept = self._keep(client_id, await self._ask(client_id))
        found = kept[0]
        if isinstance(found, OAuthRefusal):
            raise type(found)(found.detail)
        return found

    async def _ask(self, client_id: ClientId) -> OAuthClient | OAuthRefusal:
        try:
            document = _document(await self._fetch(client_id))
            return read_document(client_id, document)
        except OAuthRefusal as refusal:
            return refusal

    def _keep(
        self, client_id: str, found: OAuthClient | OAuthRefusal
    ) -> tuple[OAuthClient | OAuthRefusal, float]:
        seconds = FAILED_SECONDS if isinstance(found, OAuthRefusal) else KEPT_SECONDS
        kept = self._kept[client_id] = (found, trio.current_time() + seconds)
        self._kept.move_to_end(client_id)
        if len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        return kept


def _document(data: bytes) -> Mapping[str, object]:
    try:
        found: object = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidClientMetadata("The metadata document is not a JSON object.")
    return cast("Mapping[str, object]", found)
