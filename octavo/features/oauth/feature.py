"""The parts of the service that let programs use the MCP endpoint."""

from octavo.access.attempts import Attempts
from octavo.access.audit import Audit
from octavo.access.entropy import new_entropy, new_id, now
from octavo.features.accounts.credentials import Credentials
from octavo.features.oauth.authorization import Authorization, Issuer
from octavo.features.oauth.client_documents import ClientDocuments, Fetch
from octavo.features.oauth.clients import Clients
from octavo.features.oauth.tokens import AuthorizationServer, Tokens
from octavo.http.lazy import LazyValue
from octavo.settings import Settings
from octavo.store import Store


def authorization_server(
    settings: Settings,
    store: Store,
    credentials: Credentials,
    attempts: Attempts,
    audit: Audit,
) -> AuthorizationServer:
    """Return the authorization server of the MCP endpoint."""
    issuer = Issuer(settings.public_url, write=settings.mcp_write)
    fetching = LazyValue(_fetching)

    async def fetch(address: str) -> bytes:
        return await (await fetching.get())(address)

    documents = ClientDocuments(fetch)
    clients = Clients(
        store,
        documents,
        credentials,
        audit=audit,
        now=now,
        new_id=new_id,
        new_entropy=new_entropy,
    )
    authorization = Authorization(
        store,
        clients,
        credentials,
        issuer,
        attempts,
        audit=audit,
        now=now,
        new_id=new_id,
        new_entropy=new_entropy,
    )
    tokens = Tokens(
        store,
        credentials,
        issuer,
        audit=audit,
        now=now,
        new_entropy=new_entropy,
        access_seconds=settings.mcp_access_time,
        refresh_seconds=settings.mcp_refresh_days * 86_400,
    )
    return AuthorizationServer(issuer, clients, authorization, tokens)


def _fetching() -> Fetch:
    from octavo.features.oauth.public_fetch import PublicBackend, fetch_from_internet  # noqa: PLC0415 - loads an HTTP client

    return fetch_from_internet(PublicBackend())
