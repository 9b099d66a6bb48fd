"""The HTTP/2 connections of one server; this package is only imported where they are served."""

from typing import TYPE_CHECKING

import trio

from octavo.http.server.http2.connection import Http2Connection
from octavo.http.server.http2.pacing import Pacer
from octavo.http.server.rejection import ClientGone
from octavo.http.server.transport import Transport

if TYPE_CHECKING:
    from octavo.http.server.connection_handler import ConnectionHandler
    from octavo.http.server.proxies import Peer

_TOO_MANY = (
    # SETTINGS, then GOAWAY with ENHANCE_YOUR_CALM: no request was processed.
    bytes((0, 0, 0, 4, 0, 0, 0, 0, 0)) + bytes((0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11))
)
"""What a client gets that has too many connections (RFC 9113 section 7)."""


class Http2Connections:
    """Serves connections of ``handler``; `run` must run meanwhile."""

    def __init__(self, handler: "ConnectionHandler") -> None:
        self.handler = handler
        self.pacer = Pacer(handler.limits)
        self._open: set[Http2Connection] = set()
        self._date_line = b""
        self._date = (b"date", b"")

    @property
    def date(self) -> tuple[bytes, bytes]:
        """The date header."""
        line = self.handler.date
        if line is not self._date_line:
            self._date_line = line
            name, _, value = line.rstrip().partition(b": ")
            self._date = (name, value)
        return self._date

    def requests(self) -> int:
        """Return the number of requests in progress."""
        return self.pacer.streams

    async def run(self) -> None:
        """Give turns to the connections until cancelled."""
        await self.pacer.run()

    def check_requests(self, late: float) -> None:
        """Cancel the requests whose deadline is before ``late``."""
        for connection in self._open:
            connection.check_requests(late)

    async def serve(self, transport: Transport, peer: "Peer", received: bytes) -> None:
        """Serve a connection until it ends; ``received`` are its first bytes.

        The caller closes the socket. Cancellation aborts requests in progress.
        """
        client = None if peer.client is None else peer.client[0]
        share = self.pacer.enter(client, trusted=peer.trusted)
        if share is None:
            await _send_last(transport, _TOO_MANY, self.handler.limits.linger_time)
            return
        try:
            connection = Http2Connection(self, transport, peer, share)
            self._open.add(connection)
            try:
                with self.handler.watchdog.watching(connection):
                    await connection.run(received)
            finally:
                self._open.discard(connection)
                connection.release()
        finally:
            self.pacer.leave(share)


async def _send_last(transport: Transport, data: bytes, seconds: float) -> None:
    """Send the last bytes of a connection, as far as the client takes them in time."""
    # Closing with unread bytes would reset the connection and discard them.
    transport.receive_now()
    try:
        data = data[transport.send_now(data) :]
        with trio.move_on_after(seconds):
            await transport.send(memoryview(data))
    except ClientGone:
        return
