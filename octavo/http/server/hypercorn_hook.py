"""The one place where the wire takes the part of hypercorn's own TCP server.

hypercorn has no seam for it: `hypercorn.trio.run.worker_serve` names the class TCPServer of its
own module. That name is bound anew here, once, and the choice is made by the configuration: one
that carries no wire gets hypercorn's own server, so nobody else in the process notices.
"""

import socket
import ssl
from collections.abc import Awaitable, Iterator

import hypercorn.trio.run
import trio
from hypercorn.config import Config, Sockets
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import AppWrapper, LifespanState

from octavo.http.server.connection_handler import ConnectionHandler, Stream
from octavo.http.server.limits import BACKLOG

# Connections let in before the others get a turn.
_AT_ONCE = 64


class HypercornConfig(Config):
    """A configuration of hypercorn whose connections are served by ``wire``."""

    def __init__(self, wire: ConnectionHandler) -> None:
        super().__init__()
        self.wire = wire
        # hypercorn listens anew on sockets that listen already.
        self.backlog = BACKLOG
        self._listening: list[tuple[socket.socket, bool]] = []
        self._tls: ssl.SSLContext | None = None

    def create_sockets(self) -> Sockets:
        """Return the sockets that hypercorn is to listen on."""
        sockets = super().create_sockets()
        self._listening = [(each, True) for each in sockets.secure_sockets]
        self._listening += [(each, False) for each in sockets.insecure_sockets]
        return sockets

    def create_ssl_context(self) -> ssl.SSLContext | None:
        """Return what TLS is spoken by; None without a certificate."""
        self._tls = super().create_ssl_context()
        return self._tls

    def accept_waiting(self) -> Iterator[Stream]:
        """Accept the connections that wait for it, so far as that takes no waiting.

        trio accepts one in each round of its scheduler, and under load a round takes as long as
        a request of every busy client: those who come would wait for seconds.
        """
        for listener, secure in self._listening:
            for _ in range(_AT_ONCE):
                try:
                    accepted, _ = listener.accept()
                except OSError:
                    # There is none, or no room: trio's own call meets and tells what it is.
                    break
                stream = trio.SocketStream(trio.socket.from_stdlib_socket(accepted))
                if secure:
                    assert self._tls is not None
                    yield trio.SSLStream(stream, self._tls, server_side=True, https_compatible=True)
                else:
                    yield stream


def _open_connection(
    app: AppWrapper,
    config: Config,
    context: WorkerContext,
    state: LifespanState,
    stream: Stream,
) -> Awaitable[None]:
    if isinstance(config, HypercornConfig):
        config.wire.state = state
        nursery = trio.lowlevel.current_task().parent_nursery
        assert nursery is not None
        for each in config.accept_waiting():
            nursery.start_soon(config.wire.serve, each, config)
        return config.wire.serve(stream, config)
    return TCPServer(app, config, context, state, stream)  # type: ignore[arg-type]


hypercorn.trio.run.TCPServer = _open_connection  # type: ignore[assignment, attr-defined]
