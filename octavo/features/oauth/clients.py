"""Register programs, keep their metadata documents, find them, and authenticate them."""

import hmac
import json
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import cast

import trio
from attrs import define
from octavo_rules.identity import AccountId

from octavo.access.audit import Audit
from octavo.access.ports import Clock, NewEntropy, NewId, milliseconds
from octavo.features.accounts.credentials import CredentialKind
from octavo.features.oauth.rules.client import (
    OAuthClient,
    is_document_address,
    read_document,
    read_metadata,
)
from octavo.features.oauth.rules.refusal import InvalidClient, InvalidClientMetadata, OAuthRefusal
from octavo.features.oauth.sql import oauth_clients
from octavo.model.access.account import ClientId, GrantId
from octavo.model.access.audit import AuditEntry
from octavo.model.access.token import digest_of, opaque_token
from octavo.store import Store

KEPT_SECONDS = 3_600.0
FAILED_SECONDS = 60.0
"""Seconds for which an address that failed is not requested again."""
MAX_KEPT = 1_000
AT_ONCE = 4
"""Maximum number of concurrent requests."""

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
        outcome = kept[0]
        if isinstance(outcome, OAuthRefusal):
            raise type(outcome)(outcome.detail)
        return outcome

    async def _ask(self, client_id: ClientId) -> OAuthClient | OAuthRefusal:
        try:
            document = _document(await self._fetch(client_id))
            return read_document(client_id, document)
        except OAuthRefusal as refusal:
            return refusal

    def _keep(
        self, client_id: str, outcome: OAuthClient | OAuthRefusal
    ) -> tuple[OAuthClient | OAuthRefusal, float]:
        seconds = FAILED_SECONDS if isinstance(outcome, OAuthRefusal) else KEPT_SECONDS
        kept = self._kept[client_id] = (outcome, trio.current_time() + seconds)
        self._kept.move_to_end(client_id)
        if len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        return kept


def _document(data: bytes) -> Mapping[str, object]:
    try:
        document: object = json.loads(data)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise InvalidClientMetadata("The metadata document is not a JSON object.")
    return cast("Mapping[str, object]", document)


_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_UNKNOWN = (
    "No program has this client_id: it was removed, or never registered. Connect the program anew, "
    "so that it registers again."
)


class ClientRegistration:
    """A registered client, with what only the response to its registration contains.

    Attributes:
        client: the client.
        secret: its secret; None for a client without one, or if it was not replaced.
        management_token: the token that manages the registration.
    """

    __slots__ = ("client", "management_token", "secret")

    def __init__(self, client: OAuthClient, secret: str | None, management_token: str) -> None:
        self.client = client
        self.secret = secret
        self.management_token = management_token


@define(eq=False)
class Clients:
    """Registers and finds programs.

    Args:
        store: the store of registered programs.
        documents: finds those that have a metadata document.
        access_tokens: those that are cached end with their program.
        audit: records grants that end with a program.
        now: the clock.
        new_id: returns an id.
        new_entropy: returns entropy for a secret.
    """

    _store: Store
    _documents: ClientDocuments
    _access_tokens: CredentialKind
    _audit: Audit
    _now: Clock
    _new_id: NewId
    _new_entropy: NewEntropy

    async def register(self, document: Mapping[str, object]) -> ClientRegistration:
        """Register the program that ``document`` describes (RFC 7591).

        Raises `OAuthRefusal` and `StoreUnavailable`. If cancelled, it may be registered; nobody
        knows its id then, and it is removed after some time.
        """
        metadata = read_metadata(document)
        secret = None if metadata.auth_method == "none" else self._token()
        client = OAuthClient(
            ClientId(self._new_id()),
            metadata,
            None if secret is None else digest_of(secret.encode()),
            milliseconds(self._now()),
        )
        management_token = self._token()
        await self._store.write(
            oauth_clients.register(client, digest_of(management_token.encode()))
        )
        return ClientRegistration(client, secret, management_token)

    async def managed(self, client_id: ClientId, management_token: str) -> OAuthClient:
        """Return the registration that a token manages (RFC 7592 section 2.1).

        Raises `OAuthRefusal` and `StoreUnavailable`.
        """
        digest = digest_of(management_token.encode())
        client = None
        if _is_uuid(client_id):
            client = await self._store.read(oauth_clients.managed_by(client_id, digest))
        if client is None:
            raise InvalidClient("This token does not manage this registration.")
        return client

    async def change(
        self, client_id: ClientId, management_token: str, document: Mapping[str, object]
    ) -> ClientRegistration:
        """Replace the metadata of a registration (RFC 7592 section 2.2).

        A program that begins or ceases to have a secret gets a new one, or none. Raises
        `OAuthRefusal` and `StoreUnavailable`. If cancelled, it may have been changed.
        """
        before = await self.managed(client_id, management_token)
        if document.get("client_id") != client_id:
            raise InvalidClientMetadata("Give the client_id of the registration.")
        metadata = read_metadata(document)
        secret, digest = None, before.secret_digest
        if metadata.auth_method == "none":
            digest = None
        elif digest is None:
            secret = self._token()
            digest = digest_of(secret.encode())
        client = OAuthClient(client_id, metadata, digest, before.created_at)
        if not await self._store.write(oauth_clients.change(client)):
            raise InvalidClient(_UNKNOWN)
        return ClientRegistration(client, secret, management_token)

    async def remove(
        self, client_id: ClientId, management_token: str, *, remote_address: str | None = None
    ) -> None:
        """Remove a registration with all that people allowed it (RFC 7592 section 2.3).

        ``remote_address`` is the network address of the caller. Raises `OAuthRefusal` and
        `StoreUnavailable`. If cancelled, it may have been removed.
        """
        await self.managed(client_id, management_token)

        def entries(ended: Mapping[GrantId, AccountId]) -> list[AuditEntry]:
            return [
                self._audit.entry(
                    "grant_revoked",
                    actor=None,
                    subject=grant_id,
                    remote_address=remote_address,
                    detail={"account": account_id, "reason": "program_removed"},
                )
                for grant_id, account_id in ended.items()
            ]

        try:
            await self._audit.write(oauth_clients.remove(client_id), entries)
        finally:
            # A write that failed or was cancelled may have been committed.
            self._access_tokens.cache.forget_all()

    async def find(self, client_id: str) -> OAuthClient:
        """Return the program with this id.

        Raises `OAuthRefusal` and `StoreUnavailable`.
        """
        if is_document_address(client_id):
            return await self._documents.client(ClientId(client_id))
        client = await self._registered(client_id)
        if client is None:
            raise InvalidClient(_UNKNOWN)
        return client

    async def authenticate(self, client_id: str, secret: str | None) -> ClientId:
        """Return the id of the program that sent its ``secret``, or has none.

        A program with a metadata document proves itself by PKCE alone, so that nothing is fetched
        here. Raises `OAuthRefusal` and `StoreUnavailable`.
        """
        if is_document_address(client_id):
            if secret:
                raise InvalidClient("This program has no secret.")
            return ClientId(client_id)
        client = await self._registered(client_id)
        if client is None:
            raise InvalidClient(_UNKNOWN)
        if client.secret_digest is None:
            if secret:
                raise InvalidClient("This program has no secret.")
        elif secret is None or not hmac.compare_digest(
            digest_of(secret.encode()), client.secret_digest
        ):
            raise InvalidClient("The secret of the program is wrong or missing.")
        return client.client_id

    async def _registered(self, client_id: str) -> OAuthClient | None:
        if not _is_uuid(client_id):
            return None
        return await self._store.read(oauth_clients.by_id(ClientId(client_id)))

    def _token(self) -> str:
        return opaque_token(self._new_entropy())


def _is_uuid(text: str) -> bool:
    return _UUID.fullmatch(text) is not None
