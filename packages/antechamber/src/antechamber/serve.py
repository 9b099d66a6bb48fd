"""Serve an ASGI application, using hypercorn's sockets, TLS and lifespan."""

import logging
import os
import socket
from collections.abc import Awaitable, Callable, Sequence

import trio
from hypercorn.trio import serve as hypercorn_serve

from antechamber.asgi import Application, Event, Receive, Scope, Send
from antechamber.certificate import Certificate
from antechamber.connection_handler import ConnectionHandler, ServerOptions
from antechamber.hypercorn_hook import HypercornConfig

_log = logging.getLogger(__name__)


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


# A separate logger: hypercorn reports its addresses through the task status instead.
_hypercorn_log = logging.getLogger("antechamber.hypercorn")
_hypercorn_log.setLevel(logging.WARNING)


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
