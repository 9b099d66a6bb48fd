"""Authenticate and open the notice stream over a WebSocket."""

from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

import trio
from antechamber.asgi import REQUEST_ID_RULE, Extension, Receive, Scope, Send, extension_of
from antechamber.network_prefix import network_prefix
from antechamber.websocket import Frame, ServerWebSocket, WebSockets
from antechamber.websocket.serving import SharedTimer
from attrs import define
from octavo_rules import problems
from octavo_rules.identity import READ, WorkspaceId

from octavo.access.caller import Caller
from octavo.actors.notice_hub import NoticeHub
from octavo.features.accounts.api.authentication import SessionOrKey, credential_headers
from octavo.http import contract
from octavo.http.refusals import failures_as_problems
from octavo.store import Store
from octavo.store.fair_turns import working_for
from octavo.store.queries.workspaces import WorkspaceAccess, access_to
from octavo.ws.notice_stream import MAX_MESSAGE, NoticeStream

CHECKED_EVERY = 10.0
"""Seconds between two checks of a stream's authorization, besides the immediate notifications."""

PATH = "/api/sync/notices"
# Up to this number of workspaces is looked up without a worker thread.
_MAX_INLINE = 10


class NoticesUnavailable(problems.Problem):
    """The stream cannot be opened here."""

    status, code = 503, "notices_unavailable"
    summary = "The stream of notices cannot be opened here: poll the feed instead."
    remedy = (
        "Continue without the stream: poll the feed of each workspace, and try the stream again "
        "after the seconds in the header retry-after. No change is lost."
    )

    def __init__(self) -> None:
        super().__init__(headers=[(b"retry-after", b"60")])


class StreamCaller(NamedTuple):
    """What the stream receives about its caller.

    Attributes:
        caller: the authenticated caller.
        workspace_access: returns the role and position of the caller in each existing workspace.
        still_valid: returns whether the session or key is still valid.
    """

    caller: Caller
    workspace_access: Callable[
        [Sequence[WorkspaceId]], Awaitable[dict[WorkspaceId, WorkspaceAccess]]
    ]
    still_valid: Callable[[], Awaitable[bool]]


class ServeStream(Protocol):
    """Serves a stream of notices to its end."""

    async def __call__(
        self,
        stream: trio.abc.HalfCloseableStream,
        caller_state: StreamCaller,
        *,
        stopping: trio.Event,
    ) -> None:
        """Serve ``stream``, which begins with the first frame; return when it is closed."""


class SyncNoticeProtocol(StrEnum):
    """The subprotocol of the stream."""

    V1 = "octavo.notices.v1"


class NoticeHeaders(contract.HeaderModel):
    """The subprotocol that the client requests."""

    sec_websocket_protocol: SyncNoticeProtocol


class NoticeOperations:
    """The declaration of the stream; `NoticeSocket` serves the WebSocket itself."""

    OPERATION = "openSyncNotices"

    @contract.operation(
        id=OPERATION,
        method="GET",
        path=PATH,
        tag="sync",
        summary="Receive notices of workspace changes over a WebSocket",
        description="Request the subprotocol `octavo.notices.v1`. The server sends `hello`, "
        "`subscribed`, `changed` and `gone`; the client sends `{type: subscribe, "
        "workspaceId}` and `{type: unsubscribe, workspaceId}`. With a session cookie, "
        "the header `origin` must be that of this installation.",
        scope=READ,
        confinable=True,
        locked=contract.Locked.ALLOWED,
        status=101,
        headers={
            "sec-websocket-accept": "The proof that the server has read the key of the handshake.",
            "sec-websocket-protocol": "The subprotocol of the stream.",
        },
        problems=(problems.WrongOrigin, NoticesUnavailable),
    )
    async def open_sync_notices(self, call: contract.Call, headers: NoticeHeaders) -> None:
        """Refuse requests that are not WebSocket handshakes."""
        raise problems.InvalidRequest("This is a WebSocket: send the headers of its handshake.")


@define(eq=False)
class NoticeSocket:
    """The ASGI application that opens the stream for authenticated callers.

    Args:
        authenticator: authenticates the caller.
        store: the store of workspaces.
        subprotocol: the subprotocol of the stream.
        serve: serves the stream.
        new_id: generates request ids.
        log_request: receives a record of each stream when it has ended.
        public_url: the address that problem types begin with.
    """

    _authenticator: SessionOrKey
    _store: Store
    _subprotocol: str
    _serve: ServeStream
    _new_id: Callable[[], str]
    _log_request: contract.RequestLog
    _public_url: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one WebSocket request."""
        context = contract.RequestContext(
            scope, receive, send, self._new_id, contract.MemoryBudget(), contract.WEBSOCKET_EVENTS
        )
        opened = False
        try:
            extension, caller_state = await self._admit(context)
            self._open(extension, caller_state, context)
            opened = True
        except problems.Problem as problem:
            context.refused(problem.code)
            refusal = contract.prepared_problem(problem, context.request_id, self._public_url)
            await context.writer.send(refusal)
        except Exception:
            context.refused(problems.InternalError.code)
            raise
        finally:
            if not opened:
                self._log_request(_record(context))

    async def _admit(self, context: contract.RequestContext) -> tuple[Extension, StreamCaller]:
        if not context.accepted:
            raise problems.InvalidRequest(REQUEST_ID_RULE)
        contract.require_no_query(context.scope["query_string"])
        extension = extension_of(context.scope)
        if extension is None:
            raise NoticesUnavailable
        # Only these headers are kept while the stream lasts.
        headers = credential_headers(context.scope["headers"])
        # Authentication may wait, too: in the turn of this client, not in that of the one before.
        working_for.set(network_prefix(contract.remote_address_of(context.scope)))
        with failures_as_problems():
            caller = await self._authenticator.identify(headers, changes=True)
        working_for.set(caller.name)
        if caller.scopes is not None and READ not in caller.scopes:
            raise problems.InsufficientScope(READ)
        if self._subprotocol not in context.scope["subprotocols"]:
            message = f"Request the subprotocol {self._subprotocol}."
            raise problems.InvalidRequest(errors=[("/headers/sec-websocket-protocol", message)])

        async def workspace_access(
            workspace_ids: Sequence[WorkspaceId],
        ) -> dict[WorkspaceId, WorkspaceAccess]:
            few = len(workspace_ids) <= _MAX_INLINE
            read = self._store.read if few else self._store.read_much
            limits = caller.limits
            if limits is not None:
                workspace_ids = [
                    workspace_id for workspace_id in workspace_ids if limits.sees(workspace_id)
                ]
            return await read(access_to(workspace_ids, caller.account_id))

        async def still_valid() -> bool:
            try:
                again = await self._authenticator.identify(headers, changes=True)
            except problems.Problem:
                return False
            return again.account_id == caller.account_id

        return extension, StreamCaller(caller, workspace_access, still_valid)

    def _open(
        self, extension: Extension, caller_state: StreamCaller, context: contract.RequestContext
    ) -> None:
        began = trio.current_time()
        record = _record(context)._replace(status=101, principal=caller_state.caller.name)

        async def serve(stream: trio.abc.HalfCloseableStream) -> None:
            failure = None
            try:
                await self._serve(stream, caller_state, stopping=stopping)
            except Exception:
                failure = problems.InternalError.code
                raise
            finally:
                lasted = record.duration + trio.current_time() - began
                self._log_request(record._replace(duration=lasted, failure=failure))

        stopping = extension.stopping
        headers = [(b"x-request-id", context.request_id.encode())]
        extension.upgrade(serve, self._subprotocol, headers)


def _record(context: contract.RequestContext) -> contract.RequestRecord:
    return context.record()._replace(operation=NoticeOperations.OPERATION)


class NoticeStreams:
    """The notice streams of all callers.

    Args:
        hub: announces the positions of workspaces.
        check_every: seconds between two checks of a stream's authorization, besides the immediate
            notifications.
        close_time: seconds for the closing handshake.
        ping_interval: seconds between pings; None sends none.
    """

    def __init__(
        self,
        hub: NoticeHub[Frame],
        *,
        check_every: float = CHECKED_EVERY,
        close_time: float = 5.0,
        ping_interval: float | None = 30.0,
    ) -> None:
        self._hub = hub
        self._checks = SharedTimer(check_every, NoticeStream.recheck_access)
        self._sockets = WebSockets(
            max_message_size=MAX_MESSAGE, close_time=close_time, ping_interval=ping_interval
        )

    async def run(self) -> None:
        """Deliver notices, keep the streams alive and check them, until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._hub.run)
            nursery.start_soon(self._sockets.run)
            nursery.start_soon(self._checks.run)

    async def serve(
        self,
        stream: trio.abc.HalfCloseableStream,
        caller_state: StreamCaller,
        *,
        stopping: trio.Event,
    ) -> None:
        """Serve one stream until the client leaves, loses its access, or the server stops.

        Args:
            stream: begins with the first frame; it is closed in any case.
            caller_state: the caller, and the checks of what the caller may still receive.
            stopping: closes the stream with 1001; the same for all streams.

        When cancelled, the socket is closed immediately, without a close frame.
        """

        async def listen(connection: ServerWebSocket) -> None:
            await NoticeStream(
                connection,
                self._hub,
                account_id=caller_state.caller.account_id,
                workspace_access=caller_state.workspace_access,
                still_valid=caller_state.still_valid,
                checks=self._checks,
            ).run()

        await self._sockets.serve(stream, listen, stopping=stopping)
