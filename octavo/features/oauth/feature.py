"""The parts of the service that let programs use the MCP endpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo_rules.identity import AccountId

from octavo.access.entropy import new_entropy, new_id, now
from octavo.actors.jobs.housekeeping import removal
from octavo.features.accounts.credentials import CredentialKind
from octavo.features.oauth.api.connections import ConnectionOperations
from octavo.features.oauth.api.oauth import OAuthOperations
from octavo.features.oauth.settings import OFF, OAuthSettings
from octavo.features.oauth.sql import oauth_clients, oauth_grants, oauth_programs
from octavo.http.lazy import LazyValue
from octavo.http.pages.menus import MenuEntry, where_provided
from octavo.kernel import Feature, Kernel, Parts
from octavo.store.transaction import Listeners, Transaction

if TYPE_CHECKING:
    from octavo.features.accounts.feature import Accounts
    from octavo.features.oauth.authorization import AuthorizationServer
    from octavo.features.oauth.clients import Fetch
    from octavo.http.pages.page_registry import PageRegistry

UNUSED_CLIENT_DAYS = 1
"""Days that a registered client is kept while nobody has allowed it anything."""

ENDED_CLIENT_DAYS = 30
"""Days that a client is kept, with its registration, after its last access has ended."""


async def _revoke_grants(transaction: Transaction, account_id: AccountId) -> None:
    await oauth_grants.revoke_all(account_id)(transaction)


FEATURE = Feature(
    "oauth",
    operations=[OAuthOperations, ConnectionOperations],
    listeners=Listeners(access_ended=[_revoke_grants]),
    menu=[
        MenuEntry(
            "account",
            "Programs",
            "/account/connections",
            50,
            where_provided("connects_programs"),
        )
    ],
    retention=lambda _: [
        removal(oauth_grants.expire),
        removal(oauth_clients.expire, UNUSED_CLIENT_DAYS),
        removal(oauth_programs.mark_ended),
        removal(oauth_programs.expire, ENDED_CLIENT_DAYS),
    ],
)


@dataclass(frozen=True)
class OAuth:
    """What other features use of the authorization server.

    Attributes:
        access_tokens: the access tokens of programs; None where the MCP endpoint is off.
    """

    parts: Parts
    access_tokens: CredentialKind | None = None


def oauth_feature(kernel: Kernel, settings: OAuthSettings, accounts: Accounts) -> OAuth:
    """Return the feature, which is off without the MCP endpoint."""
    if not settings.mcp:
        return OAuth(Parts(absent=dict.fromkeys([OAuthOperations, ConnectionOperations], OFF)))
    access_tokens = _access_tokens(kernel, accounts)
    server = _authorization_server(kernel, settings, access_tokens)

    def add_pages(site: PageRegistry) -> None:
        from octavo.features.oauth.pages import add_connection_pages

        add_connection_pages(site)

    parts = Parts(
        operations=[
            OAuthOperations(server, public_url=settings.public_url),
            ConnectionOperations(server, kernel.store),
        ],
        pages=add_pages,
    )
    return OAuth(parts, access_tokens)


def _access_tokens(kernel: Kernel, accounts: Accounts) -> CredentialKind:
    from octavo.features.oauth.access_tokens import add_access_tokens

    return add_access_tokens(accounts.credentials, kernel.store)


def _authorization_server(
    kernel: Kernel, settings: OAuthSettings, access_tokens: CredentialKind
) -> AuthorizationServer:
    from octavo.features.oauth.authorization import (
        Authorization,
        AuthorizationServer,
        Issuer,
        Tokens,
    )
    from octavo.features.oauth.clients import ClientDocuments, Clients

    store, audit = kernel.store, kernel.audit
    issuer = Issuer(settings.public_url, write=settings.mcp_write)
    fetching = LazyValue(_fetching)

    async def fetch(address: str) -> bytes:
        return await (await fetching.get())(address)

    documents = ClientDocuments(fetch)
    clients = Clients(
        store,
        documents,
        access_tokens,
        audit=audit,
        now=now,
        new_id=new_id,
        new_entropy=new_entropy,
    )
    authorization = Authorization(
        clients,
        issuer,
        kernel.attempts,
        audit=audit,
        now=now,
        new_id=new_id,
        new_entropy=new_entropy,
    )
    tokens = Tokens(
        store,
        issuer,
        audit=audit,
        now=now,
        new_entropy=new_entropy,
        access_seconds=settings.mcp_access_time,
        refresh_seconds=settings.mcp_refresh_days * 86_400,
    )
    return AuthorizationServer(issuer, clients, authorization, tokens)


def _fetching() -> Fetch:
    from octavo.features.oauth.public_fetch import PublicBackend, fetch_from_internet

    return fetch_from_internet(PublicBackend())
