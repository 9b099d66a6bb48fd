"""Detect whether an application has an ASGI lifespan, and report its failures."""

import logging

from antechamber.asgi import Application, Event, Receive, Scope, Send

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
