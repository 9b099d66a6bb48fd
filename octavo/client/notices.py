"""Being told when workspaces change, over one WebSocket that is opened again when it breaks."""

import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass

import trio
from trio_websocket import (
    ConnectionClosed,
    ConnectionRejected,
    HandshakeError,
    WebSocketConnection,
)

from octavo.client.answering import read_answer
from octavo.client.answers import Notice
from octavo.client.calling import Calling
from octavo.client.errors import (
    ClientError,
    ListeningEnded,
    ProblemError,
    UnexpectedAnswer,
    problem_error,
)
from octavo.client.websocket import websocket
from octavo.model.identity import Position, WorkspaceId

PATH = "/api/sync/notices"
SUBPROTOCOL = "octavo.notices.v1"
QUIET = 30.0
"""Seconds without a message behind which the server is asked whether it is there."""
ANSWER = 20.0
"""Seconds that it has to say so."""
_POLICY = 1008
_REFUSING = frozenset((401, 403))


@dataclass(frozen=True, slots=True)
class Changed:
    """The workspace has come to this position: read the feed behind your own."""

    workspace_id: WorkspaceId
    position: Position


@dataclass(frozen=True, slots=True)
class Gone:
    """Nothing more is told of the workspace.

    Attributes:
        reason: ``deleted``, or ``not_found``: the account can't see it.
    """

    workspace_id: WorkspaceId
    reason: str


class Notices:
    """What is told, as an asynchronous iterator."""

    def __init__(self, told: trio.abc.ReceiveChannel[Changed | Gone | ClientError]) -> None:
        self._told = told

    def __aiter__(self) -> AsyncIterator[Changed | Gone]:
        return self

    async def __anext__(self) -> Changed | Gone:
        """Wait for the next notice; cancelled, none is lost."""
        try:
            told = await self._told.receive()
        except trio.EndOfChannel:
            raise StopAsyncIteration from None
        if isinstance(told, ClientError):
            raise told
        return told


@asynccontextmanager
async def listen(
    calling: Calling, workspace_ids: Collection[WorkspaceId], tls: ssl.SSLContext
) -> AsyncIterator[Notices]:
    """Be told of changes of ``workspace_ids``, however often the connection breaks.

    ::

        async with client.notices([workspace.id]) as notices:
            async for notice in notices:
                ...

    Whenever the stream was opened, the position of each workspace is told first: so whoever reads
    the feed up to it has missed nothing. Positions that are overtaken while nobody takes them may
    be left out; the newest always comes. A server that is away or refuses the stream for a time is
    asked again, with growing pauses; where there is no such stream, from time to time.

    The iterator ends when all workspaces are gone. It raises `ListeningEnded` or `ProblemError`
    when the account may listen no longer. Leaving the block closes the stream.
    """
    async with _told(calling, workspace_ids, tls) as told:
        yield Notices(told)


@trio.as_safe_channel
async def _told(
    calling: Calling, workspace_ids: Collection[WorkspaceId], tls: ssl.SSLContext
) -> AsyncGenerator[Changed | Gone | ClientError, None]:
    """Give the notices, and the error behind which there are no more.

    As a value: raised in here, it would come out at the end of the block, not where it is awaited.
    """
    wanted = dict.fromkeys(workspace_ids)
    failures = 0
    retrying, chance = calling.retrying, calling.chance
    url = calling.url.copy_with(path=calling.url.path.rstrip("/") + PATH)
    while wanted:
        rest: float | None = None
        expelled = False
        opened = trio.current_time()
        try:
            async with websocket(url, SUBPROTOCOL, calling.credential, tls) as socket:
                for workspace_id in tuple(wanted):
                    told = {"type": "subscribe", "workspaceId": workspace_id}
                    await socket.send_message(json.dumps(told))
                while wanted:
                    notice = await _next(socket)
                    if notice.type == "hello" or notice.workspace_id not in wanted:
                        continue
                    if notice.type == "gone":
                        del wanted[notice.workspace_id]
                        expelled = notice.reason != "deleted"
                        yield Gone(notice.workspace_id, notice.reason)
                    elif notice.position is not None:
                        yield Changed(notice.workspace_id, notice.position)
        except ConnectionClosed as closed:
            # A membership that ends closes the stream, too; the others are still told.
            if closed.reason is not None and closed.reason.code == _POLICY and not expelled:
                yield ListeningEnded(closed.reason.reason or "the server ended it")
                return
        except ConnectionRejected as rejected:
            problem = _problem(rejected)
            if problem.status in _REFUSING:
                yield problem
                return
            rest = problem.retry_after or retrying.stay_away(chance)
        except (HandshakeError, OSError, trio.TooSlowError, UnexpectedAnswer):
            # Nobody is there now, or somebody who says nothing that is understood.
            rest = None
        if wanted:
            lasted = trio.current_time() - opened > retrying.longest
            failures = 1 if lasted else failures + 1
            await trio.sleep(retrying.wait(failures, chance, rest))


async def _next(socket: WebSocketConnection) -> Notice:
    while True:
        with trio.move_on_after(QUIET):
            return read_answer(Notice, await socket.get_message())
        with trio.move_on_after(ANSWER) as answering:
            await socket.ping()
        if answering.cancelled_caught:
            # It may have answered behind messages that nobody took meanwhile.
            with trio.fail_after(1):
                return read_answer(Notice, await socket.get_message())


def _problem(rejected: ConnectionRejected) -> ProblemError:
    headers = {name.decode().lower(): value.decode() for name, value in rejected.headers}
    return problem_error(rejected.status_code, headers, rejected.body or b"", in_doubt=False)
