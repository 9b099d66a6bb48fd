"""The lifespan of an application that has nothing to start and nothing to stop."""

from octavo.http.wire.asgi import Receive, Send


async def answer_lifespan(receive: Receive, send: Send) -> None:
    """Answer the events of the lifespan until the shutdown. Cancelling leaves nothing behind."""
    while True:
        event = await receive()
        if event["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        elif event["type"] == "lifespan.shutdown":
            await send({"type": "lifespan.shutdown.complete"})
            return
