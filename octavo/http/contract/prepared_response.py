"""A whole answer as a value, how a problem becomes one, and how it is sent."""

from collections.abc import AsyncIterator
from typing import NamedTuple

from octavo.http.contract.call import client_of
from octavo.http.contract.memory_budget import COUNTED, STEP, MemoryBudget
from octavo.http.contract.problems import Header, Problem
from octavo.http.contract.security_headers import API_HEADERS
from octavo.http.server.asgi import Event, Extension, Scope, Send
from octavo.http.server.problem_details import MEDIA_TYPE, problem_document
from octavo.http.server.response import FixedHeaders

CLIENT_LEFT = 499
"""The status, in the log alone, of a request that got no answer."""
NOT_STORED: Header = (b"cache-control", b"no-store")
_PROBLEM_HEADERS = FixedHeaders([(b"content-type", MEDIA_TYPE.encode()), NOT_STORED, *API_HEADERS])
_OPTIONS_HEADERS = FixedHeaders([NOT_STORED, *API_HEADERS])


class PreparedResponse(NamedTuple):
    """An answer, ready to be sent but for its request id.

    Its headers are ``headers`` and ``fixed``. ``content`` is its bytes, bytes that come (of the
    length that the headers say, if they do), or None where HTTP has none.
    """

    status: int
    headers: list[Header]
    fixed: FixedHeaders
    content: bytes | AsyncIterator[bytes] | None


def prepared_problem(problem: Problem, request_id: str, base: str) -> PreparedResponse:
    """Render ``problem``: `octavo.http.server.problem_details` says how, and what ``base`` is."""
    document = problem_document(
        problem.status,
        problem.code,
        problem.detail,
        request_id,
        members=problem.members,
        base=base,
    )
    headers = [(b"content-length", b"%d" % len(document)), *problem.headers]
    return PreparedResponse(problem.status, headers, _PROBLEM_HEADERS, document)


def options_answer(allow: bytes) -> PreparedResponse:
    """Return what OPTIONS is answered: the methods that there are (RFC 9110 section 9.3.7)."""
    return PreparedResponse(204, [(b"allow", allow)], _OPTIONS_HEADERS, None)


class ResponseEvents(NamedTuple):
    """The types of the events of ASGI that an answer is sent by."""

    start: str
    body: str


OF_HTTP = ResponseEvents("http.response.start", "http.response.body")
OF_WEBSOCKET = ResponseEvents("websocket.http.response.start", "websocket.http.response.body")
"""The refusal of a handshake."""


class BrokenContent(Exception):
    """Content that comes failed, for the reason that is the cause, behind the head."""


async def _next(content: AsyncIterator[bytes]) -> bytes | None:
    try:
        return await anext(content, None)
    except Exception as error:
        raise BrokenContent from error


class ResponseWriter:
    """The way of one answer to the client, and how far it got.

    Args:
        send: of ASGI.
        request_id: that the answer carries.
        memory: counts what is sent piece by piece, while it is sent.
        scope: of ASGI.
        events: by which it is sent.
        exchange: of the wire, which takes whole answers; None on another server.
        head_only: the answer is sent without its body, as that to a HEAD (RFC 9110 section
            9.3.2).

    Attributes:
        status: of the answer; `CLIENT_LEFT` as long as nothing of it was sent.
        sent: bytes of its body that were sent.
    """

    __slots__ = (
        "_events",
        "_exchange",
        "_head_only",
        "_memory",
        "_request_id",
        "_scope",
        "_send",
        "sent",
        "status",
    )

    def __init__(
        self,
        send: Send,
        request_id: str,
        memory: MemoryBudget,
        scope: Scope,
        events: ResponseEvents = OF_HTTP,
        exchange: Extension | None = None,
        *,
        head_only: bool = False,
    ) -> None:
        self._send = send
        self._exchange = exchange
        self._memory = memory
        self._scope = scope
        self._head_only = head_only
        self._request_id: Header = (b"x-request-id", request_id.encode())
        self._events = events
        self.status = CLIENT_LEFT
        self.sent = 0

    @property
    def begun(self) -> bool:
        """True once the head of the answer was sent, so that there can be no other."""
        return self.status != CLIENT_LEFT

    async def send(self, answer: PreparedResponse) -> None:
        """Send ``answer``.

        Whatever the server or the content raises comes out, with the answer sent in part or not
        at all; so it is when cancelled. Content that comes is closed in any case.
        """
        status, headers, fixed, content = answer
        headers.append(self._request_id)
        if content is None or isinstance(content, bytes):
            body = b"" if self._head_only or content is None else content
            if self._exchange is not None:
                await self._exchange.answer(status, headers, fixed, body)
            else:
                await self._send(self._start(answer))
                await self._send({"type": self._events.body, "body": body, "more_body": False})
            self.status = status
            self.sent = len(body)
        else:
            await self._send_stream(self._start(answer), content)

    def _start(self, answer: PreparedResponse) -> Event:
        headers = [*answer.headers, *answer.fixed.each]
        return {"type": self._events.start, "status": answer.status, "headers": headers}

    async def _send_stream(self, start: Event, content: AsyncIterator[bytes]) -> None:
        try:
            await self._send(start)
            self.status = start["status"]
            if not self._head_only:
                while await self._send_next(content):
                    continue
        finally:
            # A generator that is left half-way would be closed some time, in no task.
            close = getattr(content, "aclose", None)
            if close is not None:
                await close()
        await self._send_body(b"", more=False)

    async def _send_next(self, content: AsyncIterator[bytes]) -> bool:
        # Only once there is room: content that was made takes memory, counted or not.
        with await self._memory.wait(client_of(self._scope), STEP) as hold:
            chunk = await _next(content)
            if chunk is None:
                return False
            hold.resize(len(chunk) if len(chunk) >= COUNTED else 0)
            await self._send_body(chunk, more=True)
        return True

    async def _send_body(self, body: bytes, *, more: bool) -> None:
        await self._send({"type": self._events.body, "body": body, "more_body": more})
        self.sent += len(body)

    async def forward(self, event: Event) -> None:
        """Pass on an event of an answer that another application makes, with the request id."""
        if event["type"] == "http.response.start":
            headers = [each for each in event.get("headers", ()) if each[0] != b"x-request-id"]
            await self._send({**event, "headers": [*headers, self._request_id]})
            self.status = event["status"]
        else:
            if self._head_only:
                event = {**event, "body": b""}
            size = len(event.get("body", b""))
            if size < COUNTED:
                await self._send(event)
            else:
                with await self._memory.wait(client_of(self._scope), size):
                    await self._send(event)
            self.sent += size
