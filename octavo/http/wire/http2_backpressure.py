"""hypercorn's HTTP/2 protocol, which waits for the client as long as that reads nothing."""

from hypercorn.protocol.events import Body, Event
from hypercorn.protocol.h2 import BUFFER_HIGH_WATER, H2Protocol


class WaitingProtocol(H2Protocol):
    """hypercorn's protocol, in which no answer piles up.

    hypercorn's own buffer lets more in whenever the client's window lets nothing out.
    """

    async def stream_send(self, event: Event) -> None:
        """Take a part of an answer; return once little of it waits for the client.

        What was handed over is sent though this is cancelled.
        """
        await super().stream_send(event)
        if isinstance(event, Body):
            buffer = self.stream_buffers.get(event.stream_id)
            if buffer is not None and len(buffer.buffer) >= BUFFER_HIGH_WATER:
                await buffer.drain()
