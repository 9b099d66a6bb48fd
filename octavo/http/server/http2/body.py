"""Buffer the body of an HTTP/2 request between the reading task and the application."""

import trio

from octavo.http.server.asgi import Event


class Http2Body:
    """A buffer that never exceeds the flow-control window of its stream.

    The reading task puts without waiting, so an unread request does not block the others. The
    window is only replenished by bytes that the application took (RFC 9113 section 5.2).
    """

    __slots__ = ("_arrived", "_changed", "_left", "end_delivered", "over")

    def __init__(self) -> None:
        self._arrived = bytearray()
        self._changed: trio.Event | None = None
        self._left = False
        self.over = False
        self.end_delivered = False

    @property
    def ready(self) -> bool:
        """True while `take` need not wait."""
        return bool(self._arrived) or self._left or (self.over and not self.end_delivered)

    def put(self, content: bytes) -> None:
        """Add bytes of the body."""
        self._arrived += content
        self._wake()

    def end(self) -> None:
        """Record that the last byte arrived."""
        self.over = True
        self._wake()

    def leave(self) -> None:
        """Record that no more will arrive, or that nobody waits for it any longer."""
        self._left = True
        self._wake()

    async def arrival(self) -> None:
        """Wait until `take` has an event."""
        while not self.ready:
            self._changed = trio.Event()
            await self._changed.wait()

    def take(self) -> tuple[Event, int]:
        """Return the next event, and the number of body bytes in it.

        To be called when it is `ready`, or has ended.
        """
        if not self._arrived and (self._left or self.end_delivered):
            return {"type": "http.disconnect"}, 0
        content = bytes(self._arrived)
        self._arrived.clear()
        self.end_delivered = self.over
        event = {"type": "http.request", "body": content, "more_body": not self.over}
        return event, len(content)

    def drop(self) -> int:
        """Discard the buffer; return the number of bytes discarded."""
        size = len(self._arrived)
        self._arrived.clear()
        return size

    def _wake(self) -> None:
        if self._changed is not None:
            self._changed.set()
