"""One request and its response, as ASGI events.

The application runs in the connection's task and uses its socket directly. Unread body bytes stay
with the client, and a slow client blocks the application's ``send``.
"""

from collections.abc import Iterable, Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING

import trio

from antechamber.asgi import Event, ServeUpgraded, choose_request_id
from antechamber.body import Body
from antechamber.head import Head
from antechamber.limits import WRITE_SIZE
from antechamber.rejection import ClientGone, RequestRejected
from antechamber.response import (
    CONTINUE,
    LAST_CHUNK,
    NO_HEADERS,
    FixedHeaders,
    Framing,
    InvalidResponse,
    chunk_frame,
    encode_head,
    slices,
)
from antechamber.upgrade import Upgrade, handshake_request, handshake_response

if TYPE_CHECKING:
    from antechamber.connection import HttpConnection

_STARTS = frozenset({"http.response.start", "websocket.http.response.start"})
_BODIES = frozenset({"http.response.body", "websocket.http.response.body"})


class _ExchangeState(Enum):
    REQUEST = auto()  # no response was started
    HEAD = auto()  # the response head is known and not sent
    SENDING = auto()  # a write is in progress: if interrupted, the response is truncated
    BODY = auto()  # the head was sent
    DONE = auto()  # the response was sent
    UPGRADED = auto()  # the response of an upgrade follows the return of the application


_UNSENT = (_ExchangeState.REQUEST, _ExchangeState.HEAD, _ExchangeState.UPGRADED)


class HttpExchange:
    """One request on one connection.

    The application finds it as ``scope["extensions"]["antechamber"]``. ``disconnected`` is set when
    the client disconnects; ``close`` is whether the connection ends after the response; ``done``
    is whether the response was sent completely; ``upgraded`` is what follows instead.
    """

    __slots__ = (
        "_body_delivered",
        "_connection",
        "_continued",
        "_fixed",
        "_framing",
        "_headers",
        "_left",
        "_progress",
        "_status",
        "body",
        "close",
        "disconnected",
        "done",
        "finishes",
        "gone",
        "head",
        "rejection",
        "request_id",
        "request_id_accepted",
        "upgraded",
    )

    def __init__(self, connection: "HttpConnection", head: Head, body: Body) -> None:
        self._connection = connection
        self.head = head
        self.body = body
        self.close = False
        self.done = False
        self.finishes = False
        self.gone = False
        self.rejection: RequestRejected | None = None
        self.disconnected: trio.Event | None = None
        self.upgraded: Upgrade | None = None
        self._progress = _ExchangeState.REQUEST
        self._status = 0
        self._headers: Iterable[tuple[bytes, bytes]] = ()
        self._fixed = NO_HEADERS
        self._framing = Framing.NONE
        self._left = 0
        self._continued = not head.expects
        self._body_delivered = False
        chosen = choose_request_id(head.headers, connection.handler.new_id)
        self.request_id, self.request_id_accepted = chosen

    # The extension of ASGI.

    def allow(self, seconds: float) -> None:
        """Set the deadline of the whole request to ``seconds`` from now."""
        self._connection.allow(seconds)

    def progressed_at(self) -> float:
        """Return when the present write began, of at most 64 KiB; the present time without one."""
        return self._connection.progressed_at()

    def abort(self) -> None:
        """Cut the response off, as for a client that does not read it."""
        self._connection.abort()

    def ignore_disconnect(self) -> None:
        """Let the application run to completion even if the client disconnects."""
        self.finishes = True

    @property
    def stopping(self) -> trio.Event:
        """Set when the service stops; long-lived requests must end within the shutdown timeout."""
        return self._connection.handler.stopping

    def upgrade(
        self,
        serve: ServeUpgraded,
        subprotocol: str | None = None,
        headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> None:
        """Accept a WebSocket request; see `Extension.upgrade`."""
        self._require_unanswered_handshake()
        response = handshake_response(self.head, subprotocol, headers)
        self.upgraded = Upgrade(response, serve, self.request_id)
        self._progress = _ExchangeState.UPGRADED

    def hand_over(self, serve: ServeUpgraded) -> None:
        """Leave a WebSocket request to ``serve``; see `Extension.hand_over`."""
        self._require_unanswered_handshake()
        self.upgraded = Upgrade(b"", serve, self.request_id, handshake_request(self.head))
        self._progress = _ExchangeState.UPGRADED

    def _require_unanswered_handshake(self) -> None:
        if not self.head.websocket or self._progress is not _ExchangeState.REQUEST:
            raise InvalidResponse("only a WebSocket request without a response can be upgraded")

    @property
    def rejected(self) -> tuple[int, str] | None:
        """Status and code of the response that the server sends instead of the application's."""
        rejection = self.rejection
        return None if rejection is None else (rejection.status, rejection.code)

    # Progress.

    @property
    def started(self) -> bool:
        """True once a byte of the response was sent."""
        return self._progress not in _UNSENT

    # ASGI.

    async def receive(self) -> Event:
        """Return the next ASGI event: bytes of the body as they arrive, then the disconnect.

        Cancellation loses no bytes of the body.
        """
        if self._body_delivered or self.gone:
            return await self._wait_for_disconnect()
        if self.head.websocket:
            self._body_delivered = True
            return {"type": "websocket.connect"}
        body, content = self.body, b""
        while not content and not body.complete:
            if not self._continued:
                self._continued = True
                await self._connection.send(CONTINUE)
            data = await self._connection.receive_body()
            if not data:
                self.gone = True
                return {"type": "http.disconnect"}
            try:
                content, rest = body.feed(data)
            except RequestRejected as rejection:
                self.rejection = rejection
                self.gone = True
                return {"type": "http.disconnect"}
            if rest:
                self._connection.put_back(rest)
        self._body_delivered = body.complete
        return {"type": "http.request", "body": content, "more_body": not body.complete}

    async def _wait_for_disconnect(self) -> Event:
        if not self.gone and not self.done:
            if self.disconnected is None:
                self.disconnected = trio.Event()
            await self.disconnected.wait()
        if self.head.websocket:
            return {"type": "websocket.disconnect", "code": 1006}
        return {"type": "http.disconnect"}

    async def send(self, event: Event) -> None:
        """Send an ASGI event: the response head, or bytes of the body.

        Returns once the socket accepted the bytes. Raises `ClientGone` when the client
        disconnected, and `InvalidResponse` for invalid events. Cancellation may truncate the
        response.
        """
        kind = event["type"]
        if kind in _BODIES:
            content = event.get("body", b"")
            if self._progress is _ExchangeState.HEAD and not event.get("more_body"):
                self._progress = _ExchangeState.REQUEST
                await self.respond(self._status, self._headers, self._fixed, content)
            else:
                await self._send_part(content, more=event.get("more_body", False))
        elif kind in _STARTS:
            if self._progress is not _ExchangeState.REQUEST:
                raise InvalidResponse("the response has already started")
            self._status = event["status"]
            self._headers = event.get("headers", ())
            self._progress = _ExchangeState.HEAD
        elif kind == "websocket.close":
            raise InvalidResponse("a WebSocket is rejected with websocket.http.response.start")
        else:
            raise InvalidResponse(f"{kind} is not an event that the server supports")

    async def respond(
        self,
        status: int,
        headers: Iterable[tuple[bytes, bytes]],
        fixed: FixedHeaders,
        body: bytes,
    ) -> None:
        """Send a complete response, head and body in one write when it is small.

        Errors and cancellation are those of `send`.
        """
        if self._progress is not _ExchangeState.REQUEST:
            raise InvalidResponse("the response has already started")
        self._status, self._headers, self._fixed = status, headers, fixed
        self._progress = _ExchangeState.HEAD
        data, framing, length = self._encode_head(len(body))
        if framing is not Framing.LENGTH:
            body = b""
        elif length != len(body):
            raise InvalidResponse("the body does not have the length of its content-length")
        self._progress = _ExchangeState.SENDING
        if len(data) + len(body) <= WRITE_SIZE:
            try:
                await self._connection.send(data + body)
            except ClientGone:
                self.gone = True
                raise
        else:
            await self._put(data, body)
        self._progress = _ExchangeState.DONE
        self.done = True

    async def _send_part(self, content: bytes, *, more: bool) -> None:
        data = b""
        if self._progress is _ExchangeState.HEAD:
            data, self._framing, length = self._encode_head(None)
            self._left = length or 0
        elif self._progress is not _ExchangeState.BODY:
            raise InvalidResponse("the body must follow the response head, and end once")
        framing = self._framing
        if framing is Framing.LENGTH:
            self._left -= len(content)
            if self._left < 0 or (self._left and not more):
                raise InvalidResponse("the body does not have the length of its content-length")
        after = b""
        if framing is Framing.CHUNKED:
            before, after = chunk_frame(len(content))
            data += before
            after = after if more else after + LAST_CHUNK
        elif framing is Framing.NONE:
            content = b""
        self._progress = _ExchangeState.SENDING
        await self._put(data, content, after)
        self._progress = _ExchangeState.BODY if more else _ExchangeState.DONE
        self.done = not more

    def _encode_head(self, whole: int | None) -> tuple[bytes, Framing, int | None]:
        """Return the head, the framing of the body, and its length if that is known."""
        if self.gone:
            raise ClientGone
        head, connection = self.head, self._connection
        data, framing, length, self.close = encode_head(
            self._status,
            self._headers,
            connection.handler.date,
            fixed=self._fixed,
            head_only=head.method == "HEAD",
            is_http_1_1=head.version == "1.1",
            whole=whole,
            close=(
                not head.keep_alive
                # The bytes after a WebSocket request need not be HTTP.
                or head.websocket
                or not (self.body.complete or self._drains())
                or connection.last_request
                or connection.handler.is_stopping
            ),
        )
        return data, framing, length

    async def _put(self, before: bytes, content: bytes, after: bytes = b"") -> None:
        if self.gone:
            raise ClientGone
        try:
            if len(before) + len(content) + len(after) <= WRITE_SIZE:
                await self._connection.send(before + content + after)
            else:
                for data in slices(before, content, after, WRITE_SIZE):
                    await self._connection.send(data)
        except ClientGone:
            self.gone = True
            raise

    def _drains(self) -> bool:
        # A client that expects a 100 may omit its body, so what follows is ambiguous.
        left = self.body.left
        return self._continued and left is not None and left <= self._connection.limits.drain_size
