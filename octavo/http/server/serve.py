"""Serve an ASGI application over the wire, on hypercorn's sockets, TLS and lifespan."""

import logging
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence

import trio
from hypercorn.trio import serve as hypercorn_serve

from octavo.http.server.asgi import Application
from octavo.http.server.certificate import Certificate
from octavo.http.server.connection_handler import ConnectionHandler, ServerOptions
from octavo.http.server.hypercorn_hook import HypercornConfig
from octavo.http.server.lifespan import with_lifespan

# A logger of our own: where hypercorn runs, the caller is told.
_hypercorn_log = logging.getLogger("octavo.http.server.hypercorn")
_hypercorn_log.setLevel(logging.WARNING)


async def serve(
    application: Application,
    listeners: Sequence[socket.socket],
    options: ServerOptions,
    *,
    shutdown: Callable[[], Awaitable[None]],
    grace: float,
    certificate: Certificate | None = None,
    task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve ``application`` on ``listeners`` until ``shutdown()`` returns, then stop.

    Started with the addresses served, as URLs. The listeners listen already, and stay the
    caller's: they are served by copies. With a ``certificate`` they speak TLS.

    The stop: nobody is accepted any more, idle connections end, requests in flight finish and
    their connections close, WebSockets are told; after ``grace`` seconds the rest is cut off,
    stalled readers too. Cancelling cuts off at once. Raises
    ValueError for a listener that doesn't listen, and `LifespanFailureError` of hypercorn when
    the application fails in its lifespan; one that has none is served all the same.
    """
    for listener in listeners:
        if not listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            raise ValueError("a listener has to listen already: call its listen()")
    wire = ConnectionHandler(application, options)
    config = HypercornConfig(wire)
    config.bind = [f"fd://{os.dup(listener.fileno())}" for listener in listeners]
    config.errorlog = _hypercorn_log
    config.include_server_header = False
    config.graceful_timeout = grace
    config.alpn_protocols = ["h2", "http/1.1"] if options.http2 else ["http/1.1"]
    config.h2_max_header_list_size = options.limits.head_size
    # The wire counts itself, and ends an HTTP/2 connection in order.
    config.keep_alive_max_requests = sys.maxsize
    if certificate is not None:
        config.certfile, config.keyfile = certificate.chain, certificate.key

    async def stop() -> None:
        await shutdown()
        wire.stop()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wire.watch)
        await hypercorn_serve(
            with_lifespan(application),  # type: ignore[arg-type]  # ASGI, in the wire's own words
            config,
            shutdown_trigger=stop,
            task_status=task_status,
            mode="asgi",
        )
        nursery.cancel_scope.cancel(reason="every connection has ended")
