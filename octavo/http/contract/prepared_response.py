"""Represent responses as values with their security headers, render problems, and send both.

The security headers do not depend on the connection: ``strict-transport-security`` is up to the
TLS terminator.
"""

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

from antechamber.asgi import Event, Extension, Send
from antechamber.rejection import MEDIA_TYPE, problem_document
from antechamber.response import FixedHeaders
from octavo_rules.problems import Header, Problem
from pydantic_core import to_json

from octavo.http.contract.call import HtmlPage
from octavo.http.contract.error_format import ErrorFormat
from octavo.http.contract.memory_budget import COUNTED, STEP, Hold, MemoryBudget, Reservation

Headers = tuple[tuple[bytes, bytes], ...]

# The declared media type applies, whatever the bytes look like (Fetch, section 3.6).
_NO_SNIFFING = (b"x-content-type-options", b"nosniff")
# No other site may embed the response, which also protects it from speculative side channels
# (Fetch, section 3.7).
_NO_EMBEDDING = (b"cross-origin-resource-policy", b"same-origin")

API_HEADERS: Headers = (
    _NO_SNIFFING,
    _NO_EMBEDDING,
    # Data is not a document: opened in a tab, it loads nothing and cannot be framed (Content
    # Security Policy 3, sections 6.1.1 and 6.4.2).
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    # API addresses contain identifiers (Referrer Policy, section 3.1).
    (b"referrer-policy", b"no-referrer"),
)
"""The headers of every API response: JSON, problems, streams."""

PAGE_HEADERS: Headers = (
    _NO_SNIFFING,
    _NO_EMBEDDING,
    # No scripts at all, so injected markup cannot execute. Style sheets and images come from this
    # installation only, forms submit only to it, and neither <base> nor frames are allowed (Content
    # Security Policy 3, section 6).
    (
        b"content-security-policy",
        (
            b"default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
            b"base-uri 'none'; frame-ancestors 'none'"
        ),
    ),
    # Not no-referrer, under which browsers submit forms with "origin: null" (Fetch, append a
    # request Origin header), which fails every origin check. Other sites receive nothing under
    # either policy.
    (b"referrer-policy", b"same-origin"),
    # Windows of other sites get no handle on this one (HTML, cross-origin opener policies).
    (b"cross-origin-opener-policy", b"same-origin"),
)
"""The headers of every HTML page and of its resources."""

READING_HEADERS: Headers = (
    *(header for header in PAGE_HEADERS if header[0] != b"referrer-policy"),
    # The address is the secret that opens the page. Its forms are accepted from any origin.
    (b"referrer-policy", b"no-referrer"),
    (b"x-robots-tag", b"noindex"),
)
"""The headers of the pages that readers of published links get."""


CLIENT_LEFT = 499
"""The status in the log of a request that got no response."""
NOT_STORED: Header = (b"cache-control", b"no-store")
_PROBLEM_HEADERS = FixedHeaders([(b"content-type", MEDIA_TYPE.encode()), NOT_STORED, *API_HEADERS])
_ERROR_HEADERS = FixedHeaders([(b"content-type", b"application/json"), NOT_STORED, *API_HEADERS])
_OPTIONS_HEADERS = FixedHeaders([NOT_STORED, *API_HEADERS])


class PreparedResponse(NamedTuple):
    """A response, complete except for its request id.

    Its headers are ``headers`` and ``fixed``. ``content`` is bytes, a stream of bytes (whose
    length ``headers`` may give), or None where HTTP allows no body.
    """

    status: int
    headers: list[Header]
    fixed: FixedHeaders
    content: bytes | AsyncIterator[bytes] | None


def prepared_problem(problem: Problem, request_id: str, base: str) -> PreparedResponse:
    """Render ``problem`` as problem details; ``base`` as in `problem_document`."""
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


def formatted_problem(problem: Problem, errors: ErrorFormat) -> PreparedResponse:
    """Render ``problem`` in the format of a protocol."""
    body = errors.body(problem.status, problem.code, problem.detail, problem.members)
    document = to_json(body)
    headers = [(b"content-length", b"%d" % len(document)), *problem.headers]
    return PreparedResponse(problem.status, headers, _ERROR_HEADERS, document)


def problem_page(
    problem: Problem, html: bytes, headers: Sequence[Header] = PAGE_HEADERS
) -> PreparedResponse:
    """Return a page that tells a person about ``problem``, with the headers of the problem."""
    own = [
        (b"content-type", HtmlPage.MEDIA_TYPE.encode()),
        (b"content-length", b"%d" % len(html)),
        *problem.headers,
    ]
    return PreparedResponse(problem.status, own, FixedHeaders([NOT_STORED, *headers]), html)


def options_response(allow: bytes) -> PreparedResponse:
    """Return the response to OPTIONS, with the allowed methods (RFC 9110 section 9.3.7)."""
    return PreparedResponse(204, [(b"allow", allow)], _OPTIONS_HEADERS, None)


class ResponseEvents(NamedTuple):
    """The types of the ASGI events that send a response."""

    start: str
    body: str


HTTP_EVENTS = ResponseEvents("http.response.start", "http.response.body")
WEBSOCKET_EVENTS = ResponseEvents("websocket.http.response.start", "websocket.http.response.body")
"""The rejection of a handshake."""


class BrokenContent(Exception):
    """Streamed content failed; the cause has the reason."""


async def _next(content: AsyncIterator[bytes]) -> bytes | None:
    try:
        return await anext(content, None)
    except Exception as error:
        raise BrokenContent from error


class ResponseWriter:
    """Sends one response to the client and records its progress.

    Args:
        send: the ASGI callable.
        request_id: added to the response.
        memory: the budget of streamed pieces, unless the response is reserved as a whole.
        remote_address: the client's address; None without one.
        events: the event types to send.
        exchange: the server's extension, which sends complete responses; None under other servers.
        head_only: send no body, as for HEAD (RFC 9110 section 9.3.2).

    Attributes:
        holder: whose memory the response uses: the client's address, or an account.
        status: of the response; `CLIENT_LEFT` while nothing was sent.
        sent: number of body bytes sent.
        complete: whether the whole response was sent.
        reserved: whether memory is reserved for the whole response. Then its pieces don't wait for
            more: requests that hold memory could wait for each other.
    """

    __slots__ = (
        "_events",
        "_exchange",
        "_head_only",
        "_memory",
        "_request_id",
        "_send",
        "complete",
        "holder",
        "reserved",
        "sent",
        "status",
    )

    def __init__(
        self,
        send: Send,
        request_id: str,
        memory: MemoryBudget,
        remote_address: str | None,
        events: ResponseEvents = HTTP_EVENTS,
        exchange: Extension | None = None,
        *,
        head_only: bool = False,
    ) -> None:
        self._send = send
        self._exchange = exchange
        self._memory = memory
        self.holder = remote_address
        self.reserved = False
        self._head_only = head_only
        self._request_id: Header = (b"x-request-id", request_id.encode())
        self._events = events
        self.status = CLIENT_LEFT
        self.sent = 0
        self.complete = False

    @property
    def begun(self) -> bool:
        """True once the response head was sent, after which no other response is possible."""
        return self.status != CLIENT_LEFT

    def permit_eviction(self, hold: Hold) -> None:
        """Let the budget cut the response off while it is sent, to take ``hold`` back."""
        if self._exchange is not None and hold.size:
            hold.permit_eviction(self._exchange.abort, self._exchange.progressed_at)

    async def send(self, response: PreparedResponse) -> None:
        """Send ``response``.

        Exceptions of the server propagate, and those of the content as `BrokenContent`; the
        response may then have been sent in part, unless `begun` is False. The same holds for
        cancellation. Streamed content is closed in any case.
        """
        status, headers, fixed, content = response
        headers.append(self._request_id)
        if content is None or isinstance(content, bytes):
            body = b"" if self._head_only or content is None else content
            if self._exchange is not None:
                await self._exchange.respond(status, headers, fixed, body)
            else:
                await self._send(self._start(response))
                await self._send({"type": self._events.body, "body": body, "more_body": False})
            self.status = status
            self.sent = len(body)
            self.complete = True
        else:
            await self._send_stream(self._start(response), content)

    def _start(self, response: PreparedResponse) -> Event:
        headers = [*response.headers, *response.fixed.headers]
        return {"type": self._events.start, "status": response.status, "headers": headers}

    async def _send_stream(self, start: Event, content: AsyncIterator[bytes]) -> None:
        try:
            if self._head_only:
                await self._begin(start)
                # A whole body without bytes would have a length, which is wrong for what GET
                # returns (RFC 9110 section 8.6).
                await self._send_body(b"", more=True)
            else:
                # Content that fails before its first chunk can still have another response.
                while await self._send_next(content, start):
                    continue
        finally:
            # Otherwise the garbage collector would close an unfinished generator outside any task.
            close = getattr(content, "aclose", None)
            if close is not None:
                await close()
        await self._send_body(b"", more=False)
        self.complete = True

    async def _begin(self, start: Event) -> None:
        await self._send(start)
        self.status = start["status"]

    async def _send_next(self, content: AsyncIterator[bytes], start: Event) -> bool:
        if self.reserved:
            chunk = await _next(content)
            if not self.begun:
                await self._begin(start)
            if chunk is not None:
                await self._send_body(chunk, more=True)
            return chunk is not None
        # Room is reserved first, since produced content uses memory in any case.
        with await self._memory.wait(self.holder, STEP) as hold:
            chunk = await _next(content)
            if not self.begun:
                await self._begin(start)
            if chunk is None:
                return False
            hold.resize(len(chunk) if len(chunk) >= COUNTED else 0)
            self.permit_eviction(hold)
            await self._send_body(chunk, more=True)
        return True

    async def _send_body(self, body: bytes, *, more: bool) -> None:
        await self._send({"type": self._events.body, "body": body, "more_body": more})
        self.sent += len(body)

    async def forward(self, reservation: Reservation, event: Event) -> None:
        """Forward an event of another application's response, with the request id added.

        ``reservation`` has the memory of the response.
        """
        if event["type"] == "http.response.start":
            reservation.send()
            headers = [
                header for header in event.get("headers", ()) if header[0] != b"x-request-id"
            ]
            await self._send({**event, "headers": [*headers, self._request_id]})
            self.status = event["status"]
        else:
            if self._head_only:
                event = {**event, "body": b""}
            size = len(event.get("body", b""))
            if size < COUNTED or reservation.size:
                await self._send(event)
            else:
                with await self._memory.wait(self.holder, size) as hold:
                    self.permit_eviction(hold)
                    await self._send(event)
            self.sent += size
            self.complete = not event.get("more_body", False)
