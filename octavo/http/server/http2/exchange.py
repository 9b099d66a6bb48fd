"""One request over HTTP/2 and its answer, under the deadlines of the wire."""

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
from octavo.http.server.response import HOP_BY_HOP, BadAnswer, FixedHeaders

if TYPE_CHECKING:
    from octavo.http.server.connection_handler import ConnectionHandler
    from octavo.http.server.proxies import Peer

_log = logging.getLogger(__name__)


class Http2Exchange:
    """One request on one stream; the application finds it in its scope, as over HTTP/1.1.

    ``taken`` tells the client how many bytes of the ``body`` the application took, ``proceed`` to
    send its body; ``refusal`` is what the wire has to answer in place of the application.
    """

    def __init__(
        self,
        wire: "ConnectionHandler",
        peer: "Peer",
        scope: Scope,
        body: Http2Body,
        taken: Callable[[int], Awaitable[None]],
        send: Callable[[Event | None], Awaitable[None]],
        proceed: Callable[[], Awaitable[None]],
        refusal: RequestRejected | None,
    ) -> None:
        self._wire = wire
        self._peer = peer
        self._scope = scope
        self._body = body
        self._taken = taken
        self._send = send
        self._proceed = proceed
        self._expects = (b"expect", b"100-continue") in scope["headers"]
        self._refusal = refusal
        self._cancel = trio.CancelScope()
        self._finishes = self._gone = self._begun = self._done = False
        self._id: str | None = None
        self._start: Event = {}
        self._left: int | None = None
        self._seen = True
        self._waiting_for_body = False
        self._id_accepted = True

    @property
    def request_id(self) -> str:
        """The id of this request: the client's own when it is a good one, else one made here."""
        if self._id is None:
            chosen = choose_request_id(self._scope["headers"], self._wire.new_id)
            self._id, self._id_accepted = chosen
        return self._id

    @property
    def request_id_accepted(self) -> bool:
        """False when the request brought an id of its own that is none."""
        return self.request_id != "" and self._id_accepted

    def allow(self, seconds: float) -> None:
        """Let the whole request take ``seconds`` from now, in place of the wire's own limit."""
        self._cancel.deadline = trio.current_time() + seconds

    def ignore_disconnect(self) -> None:
        """Let the application run to its end, also when the client leaves before that."""
        self._finishes = True

    @property
    def stopping(self) -> trio.Event:
        """Set when the service stops."""
        return self._wire.stopping

    @property
    def refused(self) -> tuple[int, str] | None:
        """Status and code of what the wire answers in place of the application, if it does."""
        refusal = self._refusal
        if refusal is None and self._cancel.cancel_called and not (self._gone or self._begun):
            refusal = request_too_slow(waiting_for_body=self._waiting_for_body)
        return None if refusal is None else (refusal.status, refusal.code)

    def client_left(self) -> None:
        """Learn that the client took its request back, or left altogether."""
        if not self._done:
            self._gone = True
            if not self._finishes:
                self._cancel.cancel(reason="the client left")

    async def drop_body(self) -> None:
        """Forget what nobody took of the body; the client may send as much more."""
        size = self._body.drop()
        if size:
            await self._taken(size)

    async def run(self) -> bool:
        """Run the application; return whether its answer was sent as a whole."""
        scope = self._scope
        client, scheme = self._wire.client_of(self._peer, scope["headers"])
        scope.update(client=client, scheme=scheme, extensions={"octavo": self})
        self.allow(self._wire.limits.request_time)
        failure: BaseException | None = None
        with self._cancel:
            if self._refusal is None:
                try:
                    await self._wire.application(scope, self.receive, self.send)
                except BaseException as error:  # noqa: BLE001  # the border of the request
                    failure = contained(error)
            else:
                asked = PartialHead(scope["method"], scope["path"], scope["headers"])
                self._wire.refusals.log(self._refusal, self.request_id, self._peer, asked)
                self._seen = False
        if failure is not None and not (self._gone and only(failure, ClientGone)):
            _log.error("the application failed in request %s", self.request_id, exc_info=failure)
        if not self._done and not self._gone and not self._begun:
            with trio.move_on_after(self._wire.limits.write_time):
                await self._refuse(failed=failure is not None)
        if self._done:
            await self._send(None)
        return self._done

    async def _refuse(self, *, failed: bool) -> None:
        refusal = self._refusal
        if refusal is None and self._cancel.cancelled_caught:
            refusal = request_too_slow(waiting_for_body=self._waiting_for_body)
        elif refusal is None:
            if not failed:
                _log.error("the application ended request %s without an answer", self.request_id)
            refusal = RequestRejected(
                "internal_error", "The service failed. Its log has the request id."
            )
        scope = self._scope
        if self._seen and not failed:
            asked = PartialHead(scope["method"], scope["path"], scope["headers"])
            self._wire.refusals.log(refusal, self.request_id, self._peer, asked, seen=True)
        headers, body = self._wire.refusals.parts(refusal, self.request_id)
        headers.append((b"content-length", b"%d" % len(body)))
        await self._send(
            {"type": "http.response.start", "status": refusal.status, "headers": headers}
        )
        self._done = True
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def receive(self) -> Event:
        """Return the next event of ASGI."""
        if self._gone:
            return {"type": "http.disconnect"}
        if self._body.given:
            return (await self._body.take())[0]
        if self._expects and not self._body.over:
            self._expects = False
            await self._proceed()
        with trio.move_on_after(self._wire.limits.body_idle_time) as waiting:
            try:
                event, size = await self._body.take()
            except trio.Cancelled:
                self._waiting_for_body = self._cancel.cancel_called
                raise
        if waiting.cancelled_caught:
            self._refusal = body_stopped()
            return {"type": "http.disconnect"}
        if size:
            await self._taken(size)
        return event

    async def send(self, event: Event) -> None:
        """Take an event of ASGI; raise `ClientGone` when there is nobody to send it to."""
        if self._gone:
            raise ClientGone
        if self._refusal is not None:
            raise ClientGone
        kind = event["type"]
        if kind == "http.response.start":
            if self._start:
                raise BadAnswer("the answer has begun already")
            # Kept until the body tells whether its length is known.
            self._start = {**event, "headers": _plain_headers(event.get("headers", ()))}
            return
        if kind != "http.response.body":
            raise BadAnswer(f"{kind} is no event that the wire takes")
        last = not event.get("more_body", False)
        content = event.get("body", b"")
        start = self._start
        if not start or self._done:
            raise BadAnswer("the body comes after the head of the answer, and ends once")
        if not self._begun:
            self._read_length(start, len(content) if last else None)
            self._check_length(len(content), last=last)
            self._begun = True
            await self._put(start)
        else:
            self._check_length(len(content), last=last)
        if len(content) > WRITE_SIZE:
            # As a whole it would be kept a second time until the client took the last of it.
            end = (len(content) - 1) // WRITE_SIZE * WRITE_SIZE
            for at in range(0, end, WRITE_SIZE):
                part = content[at : at + WRITE_SIZE]
                await self._put({"type": kind, "body": part, "more_body": True})
            event = {"type": kind, "body": content[end:], "more_body": not last}
        if last and not self._gone:
            # What follows is the end of the stream, which must not count as the client's leave.
            self._done = True
        await self._put(event)

    async def answer(self, status: int, headers: Headers, fixed: FixedHeaders, body: bytes) -> None:
        """Send an answer as a whole; what `send` says holds here, too."""
        every = [*headers, *fixed.each]
        await self.send({"type": "http.response.start", "status": status, "headers": every})
        await self.send({"type": "http.response.body", "body": body})

    def _read_length(self, start: Event, whole: int | None) -> None:
        headers = start["headers"]
        told = [value for name, value in headers if name == b"content-length"]
        bodiless = self._scope["method"] == "HEAD" or start["status"] in (204, 304)
        if not told and whole is not None and start["status"] not in (204, 304):
            headers.append((b"content-length", b"%d" % whole))
        if told and not bodiless:
            if len(told) > 1 or not told[0].isdigit():
                raise BadAnswer("the content-length of the answer is no single number")
            self._left = int(told[0])

    def _check_length(self, size: int, *, last: bool) -> None:
        if self._left is not None:
            self._left -= size
            if self._left < 0 or (self._left and last):
                raise BadAnswer("the body is not as long as its content-length says")

    async def _put(self, event: Event) -> None:
        if self._gone:
            raise ClientGone
        with trio.move_on_after(self._wire.limits.write_time) as taking:
            await self._send(event)
        if taking.cancelled_caught:
            self._gone = True
            self._done = False
            raise ClientGone


def _plain_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Drop what HTTP/2 has no place for (RFC 9113 section 8.2.2)."""
    kept = [(name, value) for name, value in headers if name not in HOP_BY_HOP]
    if any(byte in value for _, value in kept for byte in (b"\r", b"\n", b"\0")):
        raise BadAnswer("a header of the answer holds a line break")
    return kept
