"""One HTTP/2 request and its response, as ASGI events."""

import logging
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

import trio

from octavo.http.server.asgi import Event, Scope, ServeUpgraded
from octavo.http.server.error_boundary import contained, only
from octavo.http.server.http1.head import Headers, PartialHead
from octavo.http.server.http2.frames import FRAME_SIZE
from octavo.http.server.http2.stream import Http2Stream
from octavo.http.server.limits import WRITE_SIZE
from octavo.http.server.rejection import ClientGone, RequestRejected, body_stopped, request_too_slow
from octavo.http.server.request_id import choose_request_id
from octavo.http.server.response import NO_HEADERS, FixedHeaders, InvalidResponse

if TYPE_CHECKING:
    from octavo.http.server.http2.connection import Http2Connection

_log = logging.getLogger(__name__)


class Http2Exchange:
    """One request on one ``stream``; the application finds it in its scope, as with HTTP/1.1.

    ``head`` is what was requested; ``rejection`` is what the server must respond instead of the
    application. The watchdog compares ``deadline`` with trio's clock.
    """

    __slots__ = (
        "_cancel",
        "_connection",
        "_done",
        "_expects",
        "_finishes",
        "_fixed",
        "_gone",
        "_head",
        "_headers",
        "_left",
        "_putting_since",
        "_rejection",
        "_seen",
        "_started",
        "_status",
        "_timed_out",
        "_waiting_for_body",
        "_write_scope",
        "deadline",
        "request_id",
        "request_id_accepted",
        "stream",
    )

    def __init__(
        self,
        connection: "Http2Connection",
        stream: Http2Stream,
        head: PartialHead,
        rejection: RequestRejected | None,
        *,
        expects: bool,
    ) -> None:
        self._connection = connection
        self.stream = stream
        # Not the scope, which refers to this.
        self._head = head
        self._expects = expects
        self._rejection = rejection
        self.deadline = math.inf
        self._cancel = trio.CancelScope()
        self._finishes = self._gone = self._started = self._done = False
        chosen = choose_request_id(head.headers, connection.handler.new_id)
        self.request_id, self.request_id_accepted = chosen
        self._status = 0
        self._headers: Headers | None = None
        self._fixed = NO_HEADERS
        self._left: int | None = None
        self._seen = True
        self._timed_out = self._waiting_for_body = False
        self._putting_since: float | None = None
        self._write_scope: trio.CancelScope | None = None

    # The extension of ASGI.

    def allow(self, seconds: float) -> None:
        """Set the deadline of the whole request to ``seconds`` from now."""
        self.deadline = trio.current_time() + seconds

    def progressed_at(self) -> float:
        """Return when the client last took 64 KiB of the response; now while none wait for it."""
        return trio.current_time() if self._putting_since is None else self._putting_since

    def abort(self) -> None:
        """Cut the response off, as for a client that does not read it."""
        self._done = False
        self._leave()
        self._cancel.cancel(reason="others need the memory")

    def ignore_disconnect(self) -> None:
        """Let the application run to completion even if the client disconnects."""
        self._finishes = True

    @property
    def stopping(self) -> trio.Event:
        """Set when the service stops."""
        return self._connection.handler.stopping

    def upgrade(
        self,
        serve: ServeUpgraded,
        subprotocol: str | None = None,
        headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> None:
        """Raise `InvalidResponse`: WebSockets use connections of their own."""
        raise InvalidResponse("only a WebSocket request without a response can be upgraded")

    @property
    def rejected(self) -> tuple[int, str] | None:
        """Status and code of the response that the server sends instead of the application's."""
        rejection = self._rejection
        if rejection is None and self._timed_out and not (self._gone or self._started):
            rejection = request_too_slow(waiting_for_body=self._waiting_for_body)
        return None if rejection is None else (rejection.status, rejection.code)

    # Called by the connection.

    def client_left(self) -> None:
        """Record that the client reset the stream or disconnected."""
        if not self._done:
            self._leave()
            if not self._finishes:
                self._cancel.cancel(reason="the client disconnected")

    def time_out(self) -> None:
        """Cancel the application: its deadline was exceeded."""
        self.deadline = math.inf
        self._timed_out = True
        self._cancel.cancel(reason="the request took too long")

    async def run(self, scope: Scope) -> bool:
        """Run the application on ``scope``; return whether its response was sent completely."""
        handler = self._connection.handler
        failure: BaseException | None = None
        with self._cancel:
            if self._rejection is None:
                try:
                    await handler.application(scope, self.receive, self.send)
                except BaseException as error:  # noqa: BLE001  # the boundary of the request
                    failure = contained(error)
            else:
                self._log_rejection(self._rejection, seen=False)
                self._seen = False
        if failure is not None and not (self._gone and only(failure, ClientGone)):
            _log.error("the application failed in request %s", self.request_id, exc_info=failure)
        failed = failure is not None
        # Its traceback refers to this frame.
        failure = None
        if not self._done and not self._gone and not self._started:
            await self._reject(failed=failed)
        return self._done

    def _leave(self) -> None:
        self._gone = True
        self.stream.body.leave()
        if self._write_scope is not None:
            self._write_scope.cancel(reason="the client disconnected")

    def _log_rejection(self, rejection: RequestRejected, *, seen: bool) -> None:
        connection = self._connection
        connection.handler.rejections.log(
            rejection, self.request_id, connection.peer, self._head, seen=seen
        )

    async def _reject(self, *, failed: bool) -> None:
        rejection = self._rejection
        if rejection is None and self._timed_out:
            rejection = request_too_slow(waiting_for_body=self._waiting_for_body)
        elif rejection is None:
            if not failed:
                _log.error("the application ended request %s without a response", self.request_id)
            rejection = RequestRejected(
                "internal_error", "The service failed. Its log has details under the request id."
            )
        if self._seen and not failed:
            self._log_rejection(rejection, seen=True)
        headers, body = self._connection.handler.rejections.parts(rejection, self.request_id)
        self._status, self._headers, self._fixed = rejection.status, headers, NO_HEADERS
        self._left = None
        try:
            await self._send_part(body, last=True)
        except ClientGone:
            return

    # ASGI.

    async def receive(self) -> Event:
        """Return the next ASGI event. Cancellation loses no bytes of the body."""
        body = self.stream.body
        if self._gone:
            return {"type": "http.disconnect"}
        if body.end_delivered:
            await body.arrival()
            return body.take()[0]
        if not body.ready:
            if self._expects:
                self._expects = False
                self._connection.protocol.send_head(self.stream, 100, [], ended=False)
                self._connection.output.flush()
            if not await self._arrival():
                return {"type": "http.disconnect"}
        event, size = body.take()
        if size:
            self._connection.take(self.stream, size)
        return event

    async def _arrival(self) -> bool:
        """Wait for a part of the body; return False when it does not arrive in time."""
        with trio.move_on_after(self._connection.limits.body_idle_time) as waiting:
            try:
                await self.stream.body.arrival()
            except trio.Cancelled:
                self._waiting_for_body = self._timed_out
                raise
        if waiting.cancelled_caught:
            self._rejection = body_stopped()
            return False
        return True

    async def send(self, event: Event) -> None:
        """Send an ASGI event: the response head, or bytes of the body.

        Returns once little of it is queued. Raises `ClientGone` when the client disconnected, and
        `InvalidResponse` for invalid events. Cancellation may truncate the response.
        """
        if self._gone or self._rejection is not None:
            raise ClientGone
        kind = event["type"]
        if kind == "http.response.body":
            await self._send_part(event.get("body", b""), last=not event.get("more_body", False))
        elif kind == "http.response.start":
            if self._headers is not None:
                raise InvalidResponse("the response has already started")
            # Held until the first body event shows whether the length is known.
            self._status = event["status"]
            self._headers = [(name, value) for name, value in event.get("headers", ())]
        else:
            raise InvalidResponse(f"{kind} is not an event that the server supports")

    async def respond(
        self, status: int, headers: Headers, fixed: FixedHeaders, body: bytes
    ) -> None:
        """Send a complete response; errors and cancellation are those of `send`."""
        if self._gone or self._rejection is not None:
            raise ClientGone
        if self._headers is not None:
            raise InvalidResponse("the response has already started")
        self._status, self._headers, self._fixed = status, headers, fixed
        await self._send_part(body, last=True)

    async def _send_part(self, content: bytes, *, last: bool) -> None:
        headers = self._headers
        if headers is None or self._done:
            raise InvalidResponse("the body must follow the response head, and end once")
        connection, stream = self._connection, self.stream
        bodiless = self._status in (204, 304) or self._head.method == "HEAD"
        if not self._started:
            headers = self._complete(headers, len(content) if last else None, bodiless=bodiless)
        if self._left is not None and not bodiless:
            self._left -= len(content)
            if self._left < 0 or (self._left and last):
                raise InvalidResponse("the body does not have the length of its content-length")
        if bodiless:
            content = b""
        protocol = connection.protocol
        try:
            if connection.output.full:
                await self._wait_for_room()
            if not self._started:
                size = len(content)
                if last and 0 < size <= FRAME_SIZE and size <= protocol.window(stream):
                    protocol.send_whole(stream, self._status, headers, content)
                    connection.count_sent()
                    content = b""
                else:
                    protocol.send_head(stream, self._status, headers, ended=last and not content)
                self._started = True
            elif last and not content:
                protocol.send_data(stream, b"", ended=True)
            if content:
                await self._put(content, last=last)
        finally:
            self._putting_since = None
        if last:
            self._done = True
        await connection.flush()

    def _complete(self, headers: Headers, whole: int | None, *, bodiless: bool) -> Headers:
        """Return all headers of the response, with its length if that is ``whole`` or declared."""
        status = self._status
        if not 200 <= status <= 599:
            raise InvalidResponse(f"{status} is not a final status")
        given: bytes | None = None
        dated = False
        for name, value in headers:
            if name == b"content-length":
                if given is not None or not value.isdigit():
                    raise InvalidResponse("the response needs a single numeric content-length")
                given = value
            elif name == b"date":
                dated = True
        every = [*headers, *self._fixed.each]
        if status == 204 and given is not None:
            every = [header for header in every if header[0] != b"content-length"]
        elif given is not None:
            self._left = None if bodiless else int(given)
        elif whole is not None and status not in (204, 304):
            every.append((b"content-length", b"%d" % whole))
        if not dated:
            every.append(self._connection.date)
        return every

    async def _put(self, content: bytes, *, last: bool) -> None:
        """Send ``content`` frame by frame, as the client opens its windows.

        The client must take each `WRITE_SIZE` bytes within ``write_time``.
        """
        connection, stream = self._connection, self.stream
        protocol, output = connection.protocol, connection.output
        size = len(content)
        view = memoryview(content) if size > FRAME_SIZE else content
        at, portion = 0, 0
        while at < size:
            if output.full:
                await self._wait_for_room()
            window = protocol.window(stream)
            if window <= 0:
                output.flush()
                protocol.block(stream, size - at)
                await self._wait(stream.wait)
                continue
            step = min(size - at, window, FRAME_SIZE)
            protocol.send_data(stream, view[at : at + step], ended=last and at + step == size)
            connection.count_sent()
            at += step
            if at - portion >= WRITE_SIZE and at < size:
                portion = at
                self._putting_since = None
                output.flush()
                # Many frames are sent without a wait.
                await trio.lowlevel.checkpoint()
                if self._gone:
                    raise ClientGone

    async def _wait_for_room(self) -> None:
        self._connection.output.flush()
        await self._wait(self._connection.output.room)

    async def _wait(self, event: Callable[[], Awaitable[None]]) -> None:
        """Wait for ``event`` until the portion is due. Raises `ClientGone`."""
        if self._putting_since is None:
            self._putting_since = trio.current_time()
        due = self._putting_since + self._connection.limits.write_time
        with trio.CancelScope(deadline=due) as self._write_scope:
            await event()
        late = self._write_scope.cancelled_caught
        self._write_scope = None
        if late or self._gone:
            self._gone, self._done = True, False
            raise ClientGone
