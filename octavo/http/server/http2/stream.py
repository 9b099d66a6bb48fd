"""One HTTP/2 stream: its windows, the two ends of its body, and who waits for it."""

from typing import TYPE_CHECKING

import trio

from octavo.http.server.http2.body import Http2Body

if TYPE_CHECKING:
    from octavo.http.server.http2.exchange import Http2Exchange


class Http2Stream:
    """A stream that is open, or half-closed (RFC 9113 section 5.1).

    Attributes:
        number: the identifier.
        exchange: the request in progress; None before and after it.
        body: what arrived of the request.
        length: the declared length of the body, None without one.
        received: the bytes of the body that arrived.
        remote_ended: whether the client has ended its side.
        local_ended: whether the response has ended.
        send_left: the bytes that the client lets the server send.
        receive_left: the bytes that the server lets the client send.
        taken: the bytes that the application took and the client does not know of.
    """

    __slots__ = (
        "_changed",
        "body",
        "exchange",
        "length",
        "local_ended",
        "number",
        "receive_left",
        "received",
        "remote_ended",
        "send_left",
        "taken",
    )

    def __init__(self, number: int, send_left: int, receive_left: int, length: int | None) -> None:
        self.number = number
        self.exchange: Http2Exchange | None = None
        self.body = Http2Body()
        self.length = length
        self.received = 0
        self.remote_ended = self.local_ended = False
        self.send_left = send_left
        self.receive_left = receive_left
        self.taken = 0
        self._changed: trio.Event | None = None

    def wake(self) -> None:
        """Wake the sender that waits for a window."""
        if self._changed is not None:
            self._changed.set()
            self._changed = None

    async def wait(self) -> None:
        """Wait until `wake` is called."""
        self._changed = trio.Event()
        await self._changed.wait()
