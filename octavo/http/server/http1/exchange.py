"""One request and its answer: the ASGI conversation with the application.

The application runs in the connection's own task, and receives and sends straight on its
socket: what it does not read stays with the client, what the client does not take holds it up.
"""

from collections.abc import Iterable
from enum import Enum, auto

import trio

from octavo.http.server.asgi import Event
from octavo.http.server.connection_port import ConnectionPort
from octavo.http.server.http1.body import Body
from octavo.http.server.http1.head import Head, Headers
from octavo.http.server.limits import WRITE_SIZE
from octavo.http.server.rejection import ClientGone, RequestRejected
from octavo.http.server.request_id import choose_request_id
from octavo.http.server.response import (
    CONTINUE,
    LAST_CHUNK,
    NO_HEADERS,
    AnswerHead,
    BadAnswer,
    FixedHeaders,
    Framing,
    around_chunk,
    encode_head,
    slices,
)

_STARTS = frozenset({"http.response.start", "websocket.http.response.start"})
_BODIES = frozenset({"http.response.body", "websocket.http.response.body"})


class _ExchangeState(Enum):
    REQUEST = auto()  # nothing was answered
    HEAD = auto()  # the head of the answer is known and not sent
    SENDING = auto()  # bytes are on their way: left here, the answer is torn
    BODY = auto()  # the head is sent
    DONE = auto()  # the answer is sent
    TAKEN = auto()  # the connection is no longer the wire's


class Http1Exchange:
    """One request on one connection.

    The application finds it as ``scope["extensions"]["octavo"]``, and asks it for what ASGI has
    no word for. ``leaves`` is set when the client leaves; ``close`` says, once the answer is
    sent, whether the connection ends with it.
    """

    __slots__ = (
        "_at",
        "_continued",
        "_fixed",
        "_framing",
        "_given",
        "_headers",
        "_id",
        "_id_accepted",
        "_left",
        "_line",
        "_status",
        "body",
        "close",
        "finishes",
        "gone",
        "head",
        "leaves",
        "refusal",
    )

    def __init__(self, line: ConnectionPort, head: Head, body: Body) -> None:
        self._line = line
        self.head = head
        self.body = body
        self.close = False
        self.finishes = False
        self.gone = False
        self.refusal: RequestRejected | None = None
        self.leaves: trio.Event | None = None
        self._at = _ExchangeState.REQUEST
        self._status = 0
        self._headers: Iterable[tuple[bytes, bytes]] = ()
        self._fixed = NO_HEADERS
        self._framing = Framing.NONE
        self._left = 0
        self._continued = not head.expects
        self._given = False
        self._id: str | None = None
        self._id_accepted = True

    # What the application may ask for.

    @property
    def request_id(self) -> str:
        """The id of this request: the client's own when it is a good one, else one made here."""
        if self._id is None:
            self._id, self._id_accepted = choose_request_id(self.head.headers, self._line.new_id)
        return self._id

    @property
    def request_id_accepted(self) -> bool:
        """False when the request brought an id of its own that is none."""
        return self.request_id != "" and self._id_accepted

    def allow(self, seconds: float) -> None:
        """Let the whole request take ``seconds`` from now, in place of the wire's own limit."""
        if not self.taken:
            self._line.allow(seconds)

    def ignore_disconnect(self) -> None:
        """Let the application run to its end, also when the client leaves before that."""
        self.finishes = True

    @property
    def stopping(self) -> trio.Event:
        """Set when the service stops: what lasts has to end then, within the grace time."""
        return self._line.stopping

    def take_stream(self) -> trio.abc.HalfCloseableStream:
        """Take the connection of a request for a WebSocket over, from its first byte on.

        The stream gives the head of the request again, and what followed it. The wire answers
        nothing any more and closes the connection when the application returns. Raises
        `BadAnswer` for any other request, and when something was answered already.
        """
        if not self.head.websocket or self._at is not _ExchangeState.REQUEST:
            raise BadAnswer("only a request for a WebSocket, not yet answered, can be taken over")
        self._at = _ExchangeState.TAKEN
        self.close = True
        return self._line.take_over()

    @property
    def refused(self) -> tuple[int, str] | None:
        """Status and code of what the wire answers in place of the application, if it does."""
        refusal = self.refusal
        return None if refusal is None else (refusal.status, refusal.code)

    # How far it is.

    @property
    def begun(self) -> bool:
        """True once a byte of the answer was sent, or somebody else sends it."""
        return self._at not in (_ExchangeState.REQUEST, _ExchangeState.HEAD)

    @property
    def taken(self) -> bool:
        """True once somebody took the connection over."""
        return self._at is _ExchangeState.TAKEN

    @property
    def done(self) -> bool:
        """True once the answer was sent as a whole, or somebody else sends it."""
        return self._at is _ExchangeState.DONE or self._at is _ExchangeState.TAKEN

    # ASGI.

    async def receive(self) -> Event:
        """Return the next event of ASGI: bytes of the body as they come, then the disconnect.

        Cancelling loses nothing of the body.
        """
        if self._given or self.gone:
            return await self._wait_for_leave()
        if self.head.websocket:
            self._given = True
            return {"type": "websocket.connect"}
        body, content = self.body, b""
        while not content and not body.complete:
            if not self._continued:
                self._continued = True
                await self._line.send(CONTINUE)
            data = await self._line.receive_body()
            if not data:
                self.gone = True
                return {"type": "http.disconnect"}
            try:
                content, rest = body.feed(data)
            except RequestRejected as refusal:
                self.refusal = refusal
                self.gone = True
                return {"type": "http.disconnect"}
            if rest:
                self._line.put_back(rest)
        self._given = body.complete
        return {"type": "http.request", "body": content, "more_body": not body.complete}

    async def _wait_for_leave(self) -> Event:
        if not self.gone and not self.done:
            if self.leaves is None:
                self.leaves = trio.Event()
            await self.leaves.wait()
        if self.head.websocket:
            return {"type": "websocket.disconnect", "code": 1006}
        return {"type": "http.disconnect"}

    async def send(self, event: Event) -> None:
        """Take an event of ASGI: the head of the answer, or bytes of its body.

        Returns once the socket took the bytes. Raises `ClientGone` when there is nobody to send
        them to, and `BadAnswer` for what is no answer. Cancelling may cut the answer anywhere.
        """
        kind = event["type"]
        if kind in _BODIES:
            content = event.get("body", b"")
            if self._at is _ExchangeState.HEAD and not event.get("more_body"):
                await self._send_whole(content)
            else:
                await self._send_part(content, more=event.get("more_body", False))
        elif kind in _STARTS:
            if self._at is not _ExchangeState.REQUEST:
                raise BadAnswer("the answer has begun already")
            self._status = event["status"]
            self._headers = event.get("headers", ())
            self._at = _ExchangeState.HEAD
        elif kind == "websocket.close":
            raise BadAnswer("a WebSocket is refused with websocket.http.response.start")
        else:
            raise BadAnswer(f"{kind} is no event that the wire takes")

    async def answer(self, status: int, headers: Headers, fixed: FixedHeaders, body: bytes) -> None:
        """Send an answer as a whole; what `send` says holds here, too."""
        if self._at is not _ExchangeState.REQUEST:
            raise BadAnswer("the answer has begun already")
        self._status, self._headers, self._fixed = status, headers, fixed
        self._at = _ExchangeState.HEAD
        await self._send_whole(body)

    async def _send_whole(self, content: bytes) -> None:
        """Send an answer of which nothing was sent, head and body in one when that is small."""
        head = self._encode_head(len(content))
        if head.framing is not Framing.LENGTH:
            content = b""
        elif head.length != len(content):
            raise BadAnswer("the body is not as long as its content-length says")
        self._at = _ExchangeState.SENDING
        await self._put(head.data, content)
        self._at = _ExchangeState.DONE

    async def _send_part(self, content: bytes, *, more: bool) -> None:
        data = b""
        if self._at is _ExchangeState.HEAD:
            head = self._encode_head(None)
            self._framing, self._left = head.framing, head.length or 0
            data = head.data
        elif self._at is not _ExchangeState.BODY:
            raise BadAnswer("the body comes after the head of the answer, and ends once")
        framing = self._framing
        if framing is Framing.LENGTH:
            self._left -= len(content)
            if self._left < 0 or (self._left and not more):
                raise BadAnswer("the body is not as long as its content-length says")
        after = b""
        if framing is Framing.CHUNKED:
            before, after = around_chunk(len(content))
            data += before
            after = after if more else after + LAST_CHUNK
        elif framing is Framing.NONE:
            content = b""
        self._at = _ExchangeState.SENDING
        await self._put(data, content, after)
        self._at = _ExchangeState.BODY if more else _ExchangeState.DONE

    def _encode_head(self, whole: int | None) -> AnswerHead:
        if self.gone:
            raise ClientGone
        head, line = self.head, self._line
        encoded = encode_head(
            self._status,
            self._headers,
            line.date,
            fixed=self._fixed,
            head_only=head.method == "HEAD",
            modern=head.version == "1.1",
            whole=whole,
            close=(
                not head.keep_alive
                # What followed a request for a WebSocket need not be HTTP.
                or head.websocket
                or not (self.body.complete or self._drains())
                or line.closes
            ),
        )
        self.close = encoded.close
        return encoded

    async def _put(self, before: bytes, content: bytes, after: bytes = b"") -> None:
        if self.gone:
            raise ClientGone
        try:
            if len(before) + len(content) + len(after) <= WRITE_SIZE:
                await self._line.send(before + content + after)
            else:
                for data in slices(before, content, after, WRITE_SIZE):
                    await self._line.send(data)
        except ClientGone:
            self.gone = True
            raise

    def _drains(self) -> bool:
        # A client that waits for a 100 may send its body or not: nobody knows what comes next.
        left = self.body.left
        return self._continued and left is not None and left <= self._line.limits.drain_size
