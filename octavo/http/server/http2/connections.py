"""The HTTP/2 connections of one server; this package is only imported where they are served."""

from typing import TYPE_CHECKING

import trio
from hypercorn.config import Config

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
        self._handler = handler
        self._pacer = Pacer(handler.limits)

    def requests(self) -> int:
        """Return the number of requests in progress."""
        return self._pacer.streams

    async def run(self) -> None:
        """Give turns to the connections until cancelled."""
        await self._pacer.run()

    async def serve(
        self, transport: Transport, peer: "Peer", config: Config, received: bytes
    ) -> None:
        """Serve a connection until it ends; ``received`` are its first bytes.

        The caller closes the socket. Cancellation aborts requests in progress.
        """
        client = None if peer.client is None else peer.client[0]
        share = self._pacer.enter(client, trusted=peer.trusted)
        if share is None:
            await _send_last(transport, _TOO_MANY, self._handler.limits.linger_time)
            return
        try:
            connection = Http2Connection(self._handler, transport, peer, config, self._pacer, share)
            with self._handler.watchdog.watching(connection):
                await connection.run(received)
        finally:
            self._pacer.leave(share)


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
