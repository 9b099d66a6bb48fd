"""Buffer the body of an HTTP/2 request between the reading task and the application."""

import trio

from octavo.http.server.asgi import Event


class Http2Body:
    """A buffer that never exceeds the flow-control window of its stream.

    The reading task puts without waiting, so an unread request does not block the others. The
    window is only replenished by bytes that the application took (RFC 9113 section 5.2).
    """

    __slots__ = ("_arrived", "_changed", "_over", "end_delivered", "left")

    def __init__(self) -> None:
        self._arrived = bytearray()
        self._over = False
        self._changed = trio.Event()
        self.end_delivered = False
        self.left = False

    @property
    def over(self) -> bool:
        """True once the last byte arrived."""
        return self._over

    def put(self, event: Event) -> None:
        """Add an ASGI event from the protocol."""
        if event["type"] == "http.request":
            self._arrived += event["body"]
            self._over = self._over or not event["more_body"]
        else:
            self.left = True
        self._changed.set()

    async def take(self) -> tuple[Event, int]:
        """Wait for the next event; return it, and the number of body bytes in it."""
        while not (self._arrived or self.left or (self._over and not self.end_delivered)):
            self._changed = trio.Event()
            await self._changed.wait()
        if not self._arrived and (self.left or self.end_delivered):
            return {"type": "http.disconnect"}, 0
        content = bytes(self._arrived)
        self._arrived.clear()
        self.end_delivered = self._over
        event = {"type": "http.request", "body": content, "more_body": not self._over}
        return event, len(content)

    def drop(self) -> int:
        """Discard the buffer; return the number of bytes discarded."""
        size = len(self._arrived)
        self._arrived.clear()
        return size
