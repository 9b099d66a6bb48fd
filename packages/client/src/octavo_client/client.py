"""A client of one server, with the credential of one account."""

import re
import ssl
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Self

import httpx
import trio
from octavo_rules.identity import AccountId, Scope, WorkspaceId
from octavo_rules.schema_base import Schema
from octavo_rules.schemas import ApiKeyCreated, SearchResults, Workspace, WorkspaceList

from octavo_client.changes import present_members
from octavo_client.connection import ApiConnection, Request
from octavo_client.errors import ClientError, UnexpectedResponse
from octavo_client.notices import Notices, listen
from octavo_client.reading import Pages, search_query
from octavo_client.retrying import EntropySource, Retrying
from octavo_client.workspace import WorkspaceClient

_KEY = re.compile(r"[!-~]+")
_SESSION_COOKIE = "__Host-octavo"
_PAGE = 500
_SOCKETS = 100


class AccountInfo(Schema):
    """An account after its registration."""

    id: AccountId
    address: str
    display_name: str


class Client:
    """A client of one server; an async context manager that closes its connections.

    Methods raise `ClientError`, whose ``outcome_unknown`` says whether a change may have happened.
    Reads, and changes of files, are retried according to `Retrying`; use a cancel scope to limit
    their time. If cancelled, a change may have happened. Any number of tasks may share a client.

    Args:
        url: the URL of the server, such as ``https://notes.example.org``.
        entropy: the source of randomness for identifiers and jitter: ``random.SystemRandom()``, or
            a seeded generator in a test.
        key: an API key; without one, call `sign_in` or `register`.
        origin: the origin of the installation, required by sessions if it differs from that of
            ``url``.
        retrying: the retry policy.
        on_retry: called before a request is sent again, with the failure; must not raise.
        timeout: seconds that the server may be silent within one request.
        tls: the TLS context; None for the certificates that the system trusts.
        transport: replaces the network in tests.

    Raises `ValueError` if ``url`` is not an http or https URL with a host, or ``key`` can't be one.
    """

    def __init__(
        self,
        url: str,
        *,
        entropy: EntropySource,
        key: str | None = None,
        origin: str | None = None,
        retrying: Retrying | None = None,
        on_retry: Callable[[ClientError], object] = lambda _: None,
        timeout: float = 30.0,
        tls: ssl.SSLContext | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        address = _address(url)
        # Shared with the notification stream. The default of httpx would trust certifi's
        # certificates.
        self._tls = tls or ssl.create_default_context()
        self._http = httpx.AsyncClient(
            base_url=address,
            headers={"sync-protocol": "1", "user-agent": "octavo-client"},
            # Waiting for a free connection is bounded by the caller's cancel scope only.
            timeout=httpx.Timeout(timeout, pool=None),
            limits=httpx.Limits(max_connections=_SOCKETS, max_keepalive_connections=_SOCKETS),
            transport=transport,
            trust_env=False,
            verify=self._tls,
        )
        self._origin = origin or f"{address.scheme}://{address.netloc.decode()}"
        self._connection = ApiConnection(self._http, retrying or Retrying(), entropy, on_retry)
        if key is not None:
            if _KEY.fullmatch(key) is None:
                # httpx would repeat it in its error.
                raise ValueError("the key is empty, or has spaces, line breaks or other characters")
            self._connection.credential = {"authorization": f"Bearer {key}"}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: Any) -> None:  # noqa: ANN401  # unused
        # Closing the connections does not wait for the server.
        with trio.move_on_after(1, shield=True):
            await self._http.aclose()

    async def register(
        self, invitation: str, address: str, password: str, display_name: str
    ) -> AccountInfo:
        """Register an account with an invitation, and use its session (registerAccount).

        An address in use raises `ProblemError` with the code ``address_taken``.
        """
        body = present_members(
            invitation=invitation, address=address, password=password, displayName=display_name
        )
        request = Request("POST", "/api/registrations", body, headers=self._from, effect="single")
        self._keep_session(response := await self._connection.send(request))
        return self._connection.read(AccountInfo, response, request)

    async def sign_in(self, address: str, password: str) -> None:
        """Start a session and use it (signInWithPassword).

        Raises `NotSignedInError` for wrong credentials, and `RateLimitedError` after too many
        attempts.
        """
        body = {"email": address, "password": password}
        path = "/api/auth/sign-in/email"
        request = Request("POST", path, body, headers=self._from, effect="single")
        self._keep_session(await self._connection.send(request))

    async def sign_out(self) -> None:
        """End the session, if any, and drop its credential (signOut)."""
        path = "/api/auth/sign-out"
        await self._connection.send(
            Request("POST", path, {}, headers=self._from, effect="repeatable")
        )
        self._connection.credential = {}

    async def create_key(
        self,
        name: str,
        expires_at: datetime | None = None,
        *,
        scopes: Collection[Scope] | None = None,
        workspace_ids: Collection[WorkspaceId] | None = None,
        folder: str | None = None,
    ) -> ApiKeyCreated:
        """Create an API key of the account (createApiKey); it never expires by default.

        Without ``scopes``, it has full access to the account. With them, it is limited to these, to
        the workspaces of ``workspace_ids`` (all if None), and to the files below ``folder`` of the
        only one of them (all if None).
        """
        body = present_members(
            name=name,
            expiresAt=None if expires_at is None else expires_at.isoformat(),
            scopes=None if scopes is None else [*scopes],
            workspaceIds=None if workspace_ids is None else [*workspace_ids],
            folder=folder,
        )
        request = Request("POST", "/api/account/keys", body, effect="single")
        return await self._connection.ask(ApiKeyCreated, request)

    def workspaces(self) -> AsyncIterator[Workspace]:
        """Iterate over the workspaces of the account, the oldest first (listWorkspaces)."""

        async def page(after: str | None) -> WorkspaceList:
            query = present_members(limit=_PAGE, after=after)
            request = Request("GET", "/api/workspaces", query=query)
            return await self._connection.ask(WorkspaceList, request)

        return Pages(page)

    async def create_workspace(self, name: str) -> WorkspaceClient:
        """Create a workspace (createWorkspace)."""
        request = Request("POST", "/api/workspaces", {"name": name}, effect="single")
        made = await self._connection.ask(Workspace, request)
        return self.workspace(made.id)

    def workspace(self, workspace_id: WorkspaceId | str) -> WorkspaceClient:
        """Return a client of one workspace, without checking whether it exists."""
        return WorkspaceClient(self._connection, WorkspaceId(workspace_id), self.notices)

    async def search(
        self,
        query: str,
        *,
        folder: str = "",
        limit: int = 20,
        changed_since: datetime | None = None,
        changed_before: datetime | None = None,
        author: str | None = None,
    ) -> SearchResults:
        """Search all workspaces of the account (search); see `WorkspaceClient.search`."""
        asked = search_query(query, folder, limit, changed_since, changed_before, author)
        return await self._connection.ask(SearchResults, Request("GET", "/api/search", query=asked))

    def notices(
        self, workspace_ids: Collection[WorkspaceId]
    ) -> AbstractAsyncContextManager[Notices]:
        """Listen to workspaces as the account; see `octavo_client.notices.listen`."""
        return listen(self._connection, workspace_ids, self._tls)

    @property
    def _from(self) -> dict[str, str]:
        return {"origin": self._origin}

    def _keep_session(self, response: httpx.Response) -> None:
        # By hand: a cookie jar would not send the https-only cookie to a test server.
        cookies = response.headers.get_list("set-cookie")
        sessions = (cookie for cookie in cookies if cookie.startswith(f"{_SESSION_COOKIE}="))
        cookie = next(sessions, "").partition(";")[0]
        if not cookie:
            raise UnexpectedResponse("the response has no session cookie", outcome_unknown=True)
        self._connection.credential = {"cookie": cookie, **self._from}


def _address(url: str) -> httpx.URL:
    try:
        address = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise ValueError(f"the URL of the server is not one: {error}") from None
    if address.scheme not in ("http", "https") or not address.host or address.userinfo:
        # It is not repeated, because it may contain a password.
        raise ValueError(
            "the URL of the server has to be like https://notes.example.org: http or https, a host,"
            " no user and no password"
        )
    if address.raw_path != b"/":
        raise ValueError(
            "the URL of the server has to end after the host and the port, without a path"
        )
    return address
