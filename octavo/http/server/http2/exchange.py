"""One HTTP/2 request and its response, as ASGI events."""

import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

import trio

from octavo.http.server.asgi import Event, Scope
from octavo.http.server.error_boundary import contained, only
from octavo.http.server.http1.head import Headers, PartialHead
from octavo.http.server.http2.body import Http2Body
from octavo.http.server.limits import WRITE_SIZE
from octavo.http.server.rejection import ClientGone, RequestRejected, body_stopped, request_too_slow
from octavo.http.server.request_id import choose_request_id
from octavo.http.server.response import HOP_BY_HOP, FixedHeaders, InvalidResponse

if TYPE_CHECKING:
    from octavo.http.server.connection_handler import ConnectionHandler
    from octavo.http.server.proxies import Peer

_log = logging.getLogger(__name__)

FRAME_SIZE = 16 * 1024
"""Bytes of a response that the protocol is given at a time: the largest frame."""


class Http2Exchange:
    """One request on one stream; the application finds it in its scope, as with HTTP/1.1.

    ``acknowledge`` is called with the number of bytes of the ``body`` that the application took,
    ``proceed`` asks the client to send its body; ``complete`` sends a whole small response at once
    and returns True, or False where that is not possible now; ``rejection`` is what the server must
    respond instead of the application.
    """

    def __init__(
        self,
        handler: "ConnectionHandler",
        peer: "Peer",
        scope: Scope,
        body: Http2Body,
        acknowledge: Callable[[int], Awaitable[None]],
        send: Callable[[Event | None], Awaitable[None]],
        proceed: Callable[[], Awaitable[None]],
        complete: Callable[[int, Headers, bytes], Awaitable[bool]],
        rejection: RequestRejected | None,
    ) -> None:
        self._handler = handler
        self._peer = peer
        self._scope = scope
        self._body = body
        self._acknowledge = acknowledge
        self._send = send
        self._proceed = proceed
        self._complete = complete
        self._expects = (b"expect", b"100-continue") in scope["headers"]
        self._rejection = rejection
        self._cancel = trio.CancelScope()
        self._finishes = self._gone = self._started = self._done = False
        self._id: str | None = None
        self._start: Event = {}
        self._left: int | None = None
        self._seen = True
        self._waiting_for_body = False
        self._id_accepted = True
        self._putting_since: float | None = None

    @property
    def request_id(self) -> str:
        """The id of this request: the client's if valid, otherwise a generated one."""
        if self._id is None:
            chosen = choose_request_id(self._scope["headers"], self._handler.new_id)
            self._id, self._id_accepted = chosen
        return self._id

    @property
    def request_id_accepted(self) -> bool:
        """False when the request has an invalid id."""
        return self.request_id != "" and self._id_accepted

    def allow(self, seconds: float) -> None:
        """Set the deadline of the whole request to ``seconds`` from now."""
        self._cancel.deadline = trio.current_time() + seconds

    def progressed_at(self) -> float:
        """Return when the client last took 64 KiB of the response; now while none wait for it."""
        return trio.current_time() if self._putting_since is None else self._putting_since

    def abort(self) -> None:
        """Cut the response off, as for a client that does not read it."""
        self._gone, self._done = True, False
        self._cancel.cancel(reason="others need the memory")

    def ignore_disconnect(self) -> None:
        """Let the application run to completion even if the client disconnects."""
        self._finishes = True

    @property
    def stopping(self) -> trio.Event:
        """Set when the service stops."""
        return self._handler.stopping

    @property
    def rejected(self) -> tuple[int, str] | None:
        """Status and code of the response that the server sends instead of the application's."""
        rejection = self._rejection
        if rejection is None and self._cancel.cancel_called and not (self._gone or self._started):
            rejection = request_too_slow(waiting_for_body=self._waiting_for_body)
        return None if rejection is None else (rejection.status, rejection.code)

    def client_left(self) -> None:
        """Record that the client reset the stream or disconnected."""
        if not self._done:
            self._gone = True
            if not self._finishes:
                self._cancel.cancel(reason="the client disconnected")

    async def drop_body(self) -> None:
        """Discard the unread part of the body and replenish the window by its size."""
        size = self._body.drop()
        if size:
            await self._acknowledge(size)

    async def run(self) -> bool:
        """Run the application; return whether its response was sent completely."""
        scope = self._scope
        client, scheme = self._handler.client_of(self._peer, scope["headers"])
        scope.update(client=client, scheme=scheme, extensions={"octavo": self})
        self.allow(self._handler.limits.request_time)
        failure: BaseException | None = None
        with self._cancel:
            if self._rejection is None:
                try:
                    await self._handler.application(scope, self.receive, self.send)
                except BaseException as error:  # noqa: BLE001  # the boundary of the request
                    failure = contained(error)
            else:
                requested = PartialHead(scope["method"], scope["path"], scope["headers"])
                self._handler.rejections.log(
                    self._rejection, self.request_id, self._peer, requested
                )
                self._seen = False
        if failure is not None and not (self._gone and only(failure, ClientGone)):
            _log.error("the application failed in request %s", self.request_id, exc_info=failure)
        if not self._done and not self._gone and not self._started:
            with trio.move_on_after(self._handler.limits.write_time):
                await self._reject(failed=failure is not None)
        if self._done:
            await self._send(None)
        return self._done

    async def _reject(self, *, failed: bool) -> None:
        rejection = self._rejection
        if rejection is None and self._cancel.cancelled_caught:
            rejection = request_too_slow(waiting_for_body=self._waiting_for_body)
        elif rejection is None:
            if not failed:
                _log.error("the application ended request %s without a response", self.request_id)
            rejection = RequestRejected(
                "internal_error", "The service failed. Its log has details under the request id."
            )
        scope = self._scope
        if self._seen and not failed:
            requested = PartialHead(scope["method"], scope["path"], scope["headers"])
            self._handler.rejections.log(
                rejection, self.request_id, self._peer, requested, seen=True
            )
        headers, body = self._handler.rejections.parts(rejection, self.request_id)
        headers.append((b"content-length", b"%d" % len(body)))
        await self._send(
            {"type": "http.response.start", "status": rejection.status, "headers": headers}
        )
        self._done = True
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def receive(self) -> Event:
        """Return the next ASGI event."""
        if self._gone:
            return {"type": "http.disconnect"}
        if self._body.end_delivered:
            return (await self._body.take())[0]
        if self._expects and not self._body.over:
            self._expects = False
            await self._proceed()
        with trio.move_on_after(self._handler.limits.body_idle_time) as waiting:
            try:
                event, size = await self._body.take()
            except trio.Cancelled:
                self._waiting_for_body = self._cancel.cancel_called
                raise
        if waiting.cancelled_caught:
            self._rejection = body_stopped()
            return {"type": "http.disconnect"}
        if size:
            await self._acknowledge(size)
        return event

    async def send(self, event: Event) -> None:
        """Send an ASGI event. Raises `ClientGone` when the client disconnected."""
        if self._gone:
            raise ClientGone
        if self._rejection is not None:
            raise ClientGone
        kind = event["type"]
        if kind == "http.response.start":
            if self._start:
                raise InvalidResponse("the response has already started")
            # Held until the first body event shows whether the length is known.
            self._start = {**event, "headers": _plain_headers(event.get("headers", ()))}
            return
        if kind != "http.response.body":
            raise InvalidResponse(f"{kind} is not an event that the server supports")
        last = not event.get("more_body", False)
        content = event.get("body", b"")
        start = self._start
        if not start or self._done:
            raise InvalidResponse("the body must follow the response head, and end once")
        if not self._started:
            self._read_length(start, len(content) if last else None)
            self._check_length(len(content), last=last)
            self._started = True
            await self._put(start)
        else:
            self._check_length(len(content), last=last)
        if len(content) > FRAME_SIZE:
            # Frame by frame, since the protocol would keep a second copy of the whole.
            end = (len(content) - 1) // FRAME_SIZE * FRAME_SIZE
            for at in range(0, end, WRITE_SIZE):
                await self._put_frames(kind, content[at : min(at + WRITE_SIZE, end)])
            event = {"type": kind, "body": content[end:], "more_body": not last}
        if last and not self._gone:
            # The end of the stream, which follows, must not count as a disconnect.
            self._done = True
        await self._put(event)

    async def respond(
        self, status: int, headers: Headers, fixed: FixedHeaders, body: bytes
    ) -> None:
        """Send a complete response; errors and cancellation are those of `send`."""
        every = [*headers, *fixed.each]
        await self.send({"type": "http.response.start", "status": status, "headers": every})
        if len(body) <= FRAME_SIZE and await self._respond_at_once(body):
            return
        await self.send({"type": "http.response.body", "body": body})

    async def _respond_at_once(self, body: bytes) -> bool:
        """Send the whole response; return False where `send` has to, which also checks it."""
        start = self._start
        headers = [*start["headers"]]
        lengths = [value for name, value in headers if name == b"content-length"]
        bodiless = self._scope["method"] == "HEAD" or start["status"] in (204, 304)
        if len(lengths) != 1 or not (bodiless or lengths[0] == b"%d" % len(body)):
            return False
        self._started = self._done = True
        if await self._complete(start["status"], headers, b"" if bodiless else body):
            return True
        self._started = self._done = False
        return False

    def _read_length(self, start: Event, whole: int | None) -> None:
        headers = start["headers"]
        given = [value for name, value in headers if name == b"content-length"]
        bodiless = self._scope["method"] == "HEAD" or start["status"] in (204, 304)
        if not given and whole is not None and start["status"] not in (204, 304):
            headers.append((b"content-length", b"%d" % whole))
        if given and not bodiless:
            if len(given) > 1 or not given[0].isdigit():
                raise InvalidResponse("the response needs a single numeric content-length")
            self._left = int(given[0])

    def _check_length(self, size: int, *, last: bool) -> None:
        if self._left is not None:
            self._left -= size
            if self._left < 0 or (self._left and last):
                raise InvalidResponse("the body does not have the length of its content-length")

    async def _put_frames(self, kind: str, content: bytes) -> None:
        """Send at most `WRITE_SIZE` bytes, which the client must take within ``write_time``."""
        await self._put(
            *(
                {"type": kind, "body": content[at : at + FRAME_SIZE], "more_body": True}
                for at in range(0, len(content), FRAME_SIZE)
            )
        )

    async def _put(self, *events: Event) -> None:
        if self._gone:
            raise ClientGone
        self._putting_since = trio.current_time()
        with trio.move_on_after(self._handler.limits.write_time) as taking:
            for event in events:
                if self._gone:
                    raise ClientGone
                await self._send(event)
        self._putting_since = None
        if taking.cancelled_caught:
            self._gone = True
            self._done = False
            raise ClientGone


def _plain_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return ``headers`` without those that HTTP/2 forbids (RFC 9113 section 8.2.2)."""
    plain = [(name, value) for name, value in headers if name not in HOP_BY_HOP]
    if any(byte in value for _, value in plain for byte in (b"\r", b"\n", b"\0")):
        raise InvalidResponse("a header of the response contains a line break")
    return plain
