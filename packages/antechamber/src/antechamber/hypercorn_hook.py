"""Replace hypercorn's TCP server by this one, in the only place that depends on its internals.

hypercorn has no hook for it: `hypercorn.trio.run.worker_serve` looks up the class TCPServer in its
own module. That name is rebound once, and the configuration selects the implementation: one without
a handler gets hypercorn's own server, so other users in the process are unaffected.
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

from antechamber.connection_handler import ConnectionHandler, Stream
from antechamber.limits import BACKLOG

# Connections accepted before other tasks run.
_BURST = 64


class HypercornConfig(Config):
    """A configuration of hypercorn whose connections this server handles."""

    def __init__(self, handler: ConnectionHandler) -> None:
        super().__init__()
        self.handler = handler
        # hypercorn calls listen again on sockets that already listen.
        self.backlog = BACKLOG
        self._listening: list[tuple[socket.socket, bool]] = []
        self._tls: ssl.SSLContext | None = None

    def create_sockets(self) -> Sockets:
        """Return the sockets that hypercorn listens on."""
        sockets = super().create_sockets()
        self._listening = [(each, True) for each in sockets.secure_sockets]
        self._listening += [(each, False) for each in sockets.insecure_sockets]
        return sockets

    def create_ssl_context(self) -> ssl.SSLContext | None:
        """Return the TLS context; None without a certificate."""
        self._tls = super().create_ssl_context()
        return self._tls

    def accept_waiting(self) -> Iterator[Stream]:
        """Accept the pending connections without blocking.

        trio accepts one connection per scheduler round, and under load a round lasts as long as a
        request of every busy client: new clients would wait for seconds.
        """
        for listener, secure in self._listening:
            for _ in range(_BURST):
                try:
                    accepted, _ = listener.accept()
                except OSError:
                    # Nothing is pending, or no descriptor is free: trio's own accept reports the
                    # error.
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
        config.handler.state = state
        nursery = trio.lowlevel.current_task().parent_nursery
        assert nursery is not None
        for each in config.accept_waiting():
            nursery.start_soon(config.handler.serve, each)
        return config.handler.serve(stream)
    return TCPServer(app, config, context, state, stream)  # type: ignore[arg-type]


hypercorn.trio.run.TCPServer = _open_connection  # type: ignore[assignment, attr-defined]
