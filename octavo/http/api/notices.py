"""The way of a WebSocket to the notice stream: who opens it, and from which pages."""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, Protocol

import trio

from octavo.accounts.caller import Caller
from octavo.http.api.authentication import SessionOrKey
from octavo.http.api.store_problems import store_problem
from octavo.http.contract.call import Call
from octavo.http.contract.memory_budget import MemoryBudget
from octavo.http.contract.operation import Locked, Security, operation
from octavo.http.contract.prepared_response import OF_WEBSOCKET, prepared_problem
from octavo.http.contract.problems import InternalError, InvalidRequest, Problem, WrongOrigin
from octavo.http.contract.request_context import RequestContext
from octavo.http.contract.request_log import RequestLog
from octavo.http.server.asgi import Receive, Scope, Send, extension_of
from octavo.http.server.request_id import RULE
from octavo.model.identity import WorkspaceId
from octavo.store import Store, StoreUnavailable
from octavo.store.scripts.workspaces import WorkspaceAccess, access_to

PATH = "/api/sync/notices"
# Workspaces that are looked up without a thread of their own.
_FEW = 10


class NoticesUnavailable(Problem):
    """The stream can't be opened here."""

    status, code = 503, "notices_unavailable"
    summary = "The stream of notices can't be opened here: read the feed from time to time."
    remedy = (
        "Go on without the stream: read the feed of each workspace from time to time, and try the "
        "stream again later. Nothing is lost meanwhile."
    )


class Listening(NamedTuple):
    """What the stream is told of whoever opened it.

    Attributes:
        caller: who it is.
        standings: answers how those of the workspaces that there are stand to the caller.
        still_valid: answers whether session or key still open the account.
    """

    caller: Caller
    standings: Callable[[Sequence[WorkspaceId]], Awaitable[dict[WorkspaceId, WorkspaceAccess]]]
    still_valid: Callable[[], Awaitable[bool]]


class ServeStream(Protocol):
    """Serves a stream of notices to its end."""

    async def __call__(
        self,
        stream: trio.abc.HalfCloseableStream,
        listening: Listening,
        *,
        stopping: trio.Event,
        request_id: str,
    ) -> None:
        """Accept the request that ``stream`` begins with; return when it is closed."""


class NoticeOperations:
    """The stream as the contract tells it; the request for it is served by `NoticeSocket`."""

    @operation(
        id="openSyncNotices",
        method="GET",
        path=PATH,
        tag="sync",
        summary="Be told when workspaces change, over a WebSocket",
        description="Ask for the subprotocol `octavo.notices.v1`. The server sends `hello`, "
        "`subscribed`, `changed` and `gone`; the client sends `{type: subscribe, workspaceId}` and "
        "`{type: unsubscribe, workspaceId}`. With the cookie of a session, the header `origin` has "
        "to name this installation.",
        security=Security.SESSION_OR_KEY,
        locked=Locked.ALLOWED,
        status=101,
        problems=(WrongOrigin, NoticesUnavailable),
    )
    async def open_sync_notices(self, call: Call) -> None:
        """Refuse whoever does not ask for a WebSocket."""
        raise InvalidRequest("This is a WebSocket: send the headers of its handshake.")


class NoticeSocket:
    """Opens the stream for those who may have it; an application of ASGI.

    Args:
        authenticator: finds out who calls.
        store: where workspaces are kept.
        subprotocol: the one that is spoken.
        serve: serves the stream.
        new_id: makes the id of a request.
        log_request: gets a record of each stream, when it has ended.
        public_url: what the addresses of problems begin with.
    """

    def __init__(
        self,
        authenticator: SessionOrKey,
        store: Store,
        *,
        subprotocol: str,
        serve: ServeStream,
        new_id: Callable[[], str],
        log_request: RequestLog,
        public_url: str,
    ) -> None:
        self._authenticator = authenticator
        self._store = store
        self._subprotocol = subprotocol
        self._serve = serve
        self._new_id = new_id
        self._log_request = log_request
        self._public_url = public_url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request for a WebSocket."""
        passage = RequestContext(scope, receive, send, self._new_id, MemoryBudget(), OF_WEBSOCKET)
        opened = False
        try:
            try:
                listening = await self._admit(passage)
            except Problem as problem:
                passage.refused(problem.code)
                refusal = prepared_problem(problem, passage.request_id, self._public_url)
                await passage.transmission.send(refusal)
                return
            opened = True
            await self._open(passage, listening)
        except Exception:
            passage.refused(InternalError.code)
            raise
        finally:
            record = passage.record()
            self._log_request(record._replace(status=101) if opened else record)

    async def _admit(self, passage: RequestContext) -> Listening:
        if not passage.accepted:
            raise InvalidRequest(RULE)
        if extension_of(passage.scope) is None:
            raise NoticesUnavailable
        headers = passage.scope["headers"]
        try:
            caller = await self._authenticator.identify(headers, changes=True)
        except StoreUnavailable as error:
            raise store_problem(error) from None
        if self._subprotocol not in passage.scope["subprotocols"]:
            told = f"Ask for the subprotocol {self._subprotocol}."
            raise InvalidRequest(errors=[("/headers/sec-websocket-protocol", told)])

        async def stand(workspace_ids: Sequence[WorkspaceId]) -> dict[WorkspaceId, WorkspaceAccess]:
            few = len(workspace_ids) <= _FEW
            read = self._store.read if few else self._store.read_much
            return await read(access_to(workspace_ids, caller.account_id))

        async def still_valid() -> bool:
            try:
                again = await self._authenticator.identify(headers, changes=True)
            except Problem:
                return False
            return again.account_id == caller.account_id

        return Listening(caller, stand, still_valid)

    async def _open(self, passage: RequestContext, listening: Listening) -> None:
        extension = extension_of(passage.scope)
        if extension is None:
            raise NoticesUnavailable
        await self._serve(
            extension.take_stream(),
            listening,
            stopping=extension.stopping,
            request_id=passage.request_id,
        )
