"""Serve an ASGI application, using hypercorn's sockets, TLS and lifespan.

This is the only module that depends on the internals of hypercorn, which has no way to supply
another TCP server: `hypercorn.trio.run.worker_serve` looks up the class TCPServer in its own
module. That name is rebound once, and the configuration selects the implementation. One that is not
a `HypercornConfig` gets hypercorn's own server, so other users in the process are unaffected.
"""

import logging
import os
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator, Sequence

import hypercorn.trio.run
import trio
from hypercorn.config import Config, Sockets
from hypercorn.trio import serve as hypercorn_serve
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import AppWrapper, LifespanState

from antechamber.asgi import Application, Event, Receive, Scope, Send
from antechamber.connection_handler import ConnectionHandler, ServerOptions, Stream
from antechamber.limits import BACKLOG
from antechamber.listener import Certificate

_log = logging.getLogger(__name__)
# A separate logger: hypercorn reports its addresses through the task status instead.
_hypercorn_log = logging.getLogger("antechamber.hypercorn")
_hypercorn_log.setLevel(logging.WARNING)

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
        self._listening = [(listener, True) for listener in sockets.secure_sockets]
        self._listening += [(listener, False) for listener in sockets.insecure_sockets]
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
        for waiting in config.accept_waiting():
            nursery.start_soon(config.handler.serve, waiting)
        return config.handler.serve(stream)
    return TCPServer(app, config, context, state, stream)  # type: ignore[arg-type]


hypercorn.trio.run.TCPServer = _open_connection  # type: ignore[assignment, attr-defined]


def with_lifespan(application: Application) -> Application:
    """Return ``application`` with a lifespan, whether or not it has one (ASGI 3.0, lifespan).

    An application that returns, or raises without having received an event, has none: startup and
    shutdown are completed for it. A failure during startup is logged and fails the startup.
    """

    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(application, scope, receive, send)
        else:
            await application(scope, receive, send)

    return served


async def _live(application: Application, scope: Scope, receive: Receive, send: Send) -> None:
    received: list[str] = []
    completed: set[str] = set()

    async def watched_receive() -> Event:
        event = await receive()
        received.append(event["type"])
        return event

    async def watched_send(event: Event) -> None:
        completed.add(event["type"].rpartition(".")[0])
        await send(event)

    try:
        await application(scope, watched_receive, watched_send)
    except Exception as error:
        if received[-1:] == ["lifespan.startup"] and "lifespan.startup" not in completed:
            _log.error("the application failed to start", exc_info=error)
            await send({"type": "lifespan.startup.failed", "message": repr(error)})
        if received:
            raise
    while "lifespan.shutdown" not in received:
        if "lifespan.startup" in received and "lifespan.startup" not in completed:
            await watched_send({"type": "lifespan.startup.complete"})
        await watched_receive()
    if "lifespan.shutdown" not in completed:
        await send({"type": "lifespan.shutdown.complete"})


async def serve(
    application: Application,
    listeners: Sequence[socket.socket],
    options: ServerOptions,
    *,
    shutdown: Callable[[], Awaitable[None]],
    shutdown_timeout: float,
    certificate: Certificate | None = None,
    task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve ``application`` on ``listeners`` until ``shutdown()`` returns, then stop.

    Started with the served addresses as URLs. The listeners must listen already; they are
    duplicated, and the caller still owns them. With a ``certificate`` they use TLS.

    Stopping: no more connections are accepted, idle connections close, requests in progress finish
    and their connections close, WebSockets are notified. After ``shutdown_timeout`` seconds
    everything left is aborted. Cancellation aborts immediately. Raises ValueError for a listener
    that does not listen, and hypercorn's `LifespanFailureError` when the application fails in its
    lifespan. Applications without a lifespan are served too.
    """
    for listener in listeners:
        if not listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            raise ValueError("a listener must listen already: call its listen()")
    handler = ConnectionHandler(application, options)
    config = HypercornConfig(handler)
    config.bind = [f"fd://{os.dup(listener.fileno())}" for listener in listeners]
    config.errorlog = _hypercorn_log
    config.include_server_header = False
    config.graceful_timeout = shutdown_timeout
    config.alpn_protocols = ["http/1.1"]
    if certificate is not None:
        config.certfile, config.keyfile = certificate.chain, certificate.key

    async def stop() -> None:
        await shutdown()
        handler.stop()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(handler.watch)
        await hypercorn_serve(
            with_lifespan(application),  # type: ignore[arg-type]  # ASGI, in the handler's own words
            config,
            shutdown_trigger=stop,
            task_status=task_status,
            mode="asgi",
        )
        nursery.cancel_scope.cancel(reason="every connection has ended")
