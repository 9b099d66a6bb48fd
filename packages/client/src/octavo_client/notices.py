"""Notifications of changes over one WebSocket, which is reopened when it breaks.

Its TCP connection is always closed: those that trio-websocket opens itself are left to the garbage
collector when the server refuses the handshake, or closes first.
"""

import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated

import httpx
import trio
from octavo_rules.identity import Position, RevisionId, WorkspaceId
from octavo_rules.schema_base import Schema
from pydantic import Field
from trio_websocket import (
    ConnectionClosed,
    ConnectionRejected,
    HandshakeError,
    WebSocketConnection,
    wrap_client_stream,
)

from octavo_client import errors
from octavo_client.connection import ApiConnection, parse_response

PATH = "/api/sync/notices"
SUBPROTOCOL = "octavo.notices.v1"
QUIET = 30.0
"""Seconds without a message after which the client sends a ping."""
PONG_TIMEOUT = 20.0
"""Seconds to wait for the pong."""
_POLICY = 1008
_REFUSING = frozenset((401, 403))


@dataclass(frozen=True, slots=True)
class WorkspaceChanged:
    """The workspace has another position, or mark of it: read the feed after your own."""

    workspace_id: WorkspaceId
    position: Position
    mark: RevisionId


@dataclass(frozen=True, slots=True)
class WorkspaceGone:
    """The workspace has no further notifications.

    Attributes:
        reason: ``deleted``, or ``not_found`` if the account can't see it.
    """

    workspace_id: WorkspaceId
    reason: str


class Notice(Schema):
    """A message of the notification stream; its members depend on its type."""

    type: str
    workspace_id: WorkspaceId | None = None
    position: Annotated[Position, Field(ge=0)] | None = None
    mark: RevisionId | None = None
    reason: str = ""


class Notices:
    """An async iterator over notifications."""

    def __init__(
        self,
        received: trio.abc.ReceiveChannel[WorkspaceChanged | WorkspaceGone | errors.ClientError],
    ) -> None:
        self._received = received

    def __aiter__(self) -> AsyncIterator[WorkspaceChanged | WorkspaceGone]:
        return self

    async def __anext__(self) -> WorkspaceChanged | WorkspaceGone:
        """Wait for the next notification; cancellation loses none."""
        try:
            received = await self._received.receive()
        except trio.EndOfChannel:
            raise StopAsyncIteration from None
        if isinstance(received, errors.ClientError):
            raise received
        return received


@asynccontextmanager
async def listen(
    connection: ApiConnection, workspace_ids: Collection[WorkspaceId], tls: ssl.SSLContext
) -> AsyncIterator[Notices]:
    """Receive notifications of ``workspace_ids``, reconnecting as needed.

    ::

        async with client.notices([workspace.id]) as notices:
            async for notice in notices:
                ...

    After each (re)connection, the position of every workspace is received first; a caller that
    reads the feed up to it has missed nothing. Positions that are superseded before they are
    consumed may be skipped; the newest is always delivered. A server that is unavailable, or
    refuses the stream temporarily, is retried with growing pauses; one without notifications is
    retried occasionally.

    The iterator ends when all workspaces are gone. It raises `ListeningEnded` or `ProblemError`
    when the account may no longer listen. Leaving the block closes the stream.
    """
    async with _received(connection, workspace_ids, tls) as received:
        yield Notices(received)


@trio.as_safe_channel
async def _received(
    connection: ApiConnection, workspace_ids: Collection[WorkspaceId], tls: ssl.SSLContext
) -> AsyncGenerator[WorkspaceChanged | WorkspaceGone | errors.ClientError, None]:
    """Yield the notifications, and finally an error, if any.

    The error is a value: raised here, it would surface at the end of the block, not in the
    iterator.
    """
    wanted = dict.fromkeys(workspace_ids)
    failures = 0
    retrying, entropy = connection.retrying, connection.entropy
    url = connection.url.copy_with(path=connection.url.path.rstrip("/") + PATH)
    while wanted:
        rest: float | None = None
        expelled = False
        opened = trio.current_time()
        try:
            async with websocket(url, SUBPROTOCOL, connection.credential, tls) as socket:
                for workspace_id in tuple(wanted):
                    request = {"type": "subscribe", "workspaceId": workspace_id}
                    await socket.send_message(json.dumps(request))
                while wanted:
                    notice = await _next(socket)
                    changed = notice.workspace_id
                    if changed is None or changed not in wanted:
                        continue
                    if notice.type == "gone":
                        del wanted[changed]
                        expelled = notice.reason != "deleted"
                        yield WorkspaceGone(changed, notice.reason)
                    elif notice.position is not None and notice.mark is not None:
                        yield WorkspaceChanged(changed, notice.position, notice.mark)
        except ConnectionClosed as closed:
            # The end of a membership closes the stream, too; other workspaces go on.
            if closed.reason is not None and closed.reason.code == _POLICY and not expelled:
                yield errors.ListeningEnded(closed.reason.reason or "the server ended it")
                return
        except ConnectionRejected as rejected:
            problem = _problem(rejected)
            if problem.status in _REFUSING:
                yield problem
                return
            rest = problem.retry_after or retrying.stay_away(entropy)
        except (HandshakeError, OSError, trio.TooSlowError, errors.UnexpectedResponse):
            # The server is unreachable, or its messages are not understood.
            rest = None
        if wanted:
            lasted = trio.current_time() - opened > retrying.longest
            failures = 1 if lasted else failures + 1
            await trio.sleep(retrying.wait(failures, entropy, rest))


async def _next(socket: WebSocketConnection) -> Notice:
    while True:
        with trio.move_on_after(QUIET):
            return parse_response(Notice, await socket.get_message())
        with trio.move_on_after(PONG_TIMEOUT) as waiting:
            await socket.ping()
        if waiting.cancelled_caught:
            # The pong may be queued after messages that were not consumed yet.
            with trio.fail_after(1):
                return parse_response(Notice, await socket.get_message())


def _problem(rejected: ConnectionRejected) -> errors.ProblemError:
    headers = {name.decode().lower(): value.decode() for name, value in rejected.headers}
    return errors.problem_error(rejected.status_code, headers, rejected.body or b"", in_doubt=False)


OPENING, CLOSING = 20.0, 5.0
"""Seconds for the opening and for the closing handshake."""


@asynccontextmanager
async def websocket(
    url: httpx.URL, subprotocol: str, headers: dict[str, str], tls: ssl.SSLContext
) -> AsyncIterator[WebSocketConnection]:
    """Open a WebSocket at an ``http`` or ``https`` URL for the duration of the block.

    Raises `HandshakeError`, including `ConnectionRejected`, or OSError if that fails. An exception
    of the block propagates without an exception group.
    """
    stream = await _connected(url, tls)
    try:
        async with trio.open_nursery() as nursery:
            with trio.fail_after(OPENING):
                socket = await wrap_client_stream(
                    nursery,
                    stream,
                    url.netloc.decode(),
                    url.raw_path.decode(),
                    subprotocols=[subprotocol],
                    extra_headers=[(k.encode(), v.encode()) for k, v in headers.items()],
                )
            yield socket
            with trio.move_on_after(CLOSING):
                await socket.aclose()
            nursery.cancel_scope.cancel(reason="the stream was left")
    except trio.TooSlowError:
        raise HandshakeError from None
    except BaseExceptionGroup as group:
        [*causes] = _causes(group)
        if len(causes) != 1:
            raise
        raise causes[0] from None
    finally:
        await trio.aclose_forcefully(stream)


async def _connected(
    url: httpx.URL, tls: ssl.SSLContext
) -> "trio.SocketStream | trio.SSLStream[trio.SocketStream]":
    secure = url.scheme == "https"
    with trio.move_on_after(OPENING):
        tcp = await trio.open_tcp_stream(url.host, url.port or (443 if secure else 80))
        if not secure:
            return tcp
        return trio.SSLStream(tcp, tls, server_hostname=url.host, https_compatible=True)
    raise HandshakeError


def _causes(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    """Yield the exceptions of a group, except cancellations."""
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _causes(error)
        elif not isinstance(error, trio.Cancelled):
            yield error
