"""The body of a request over HTTP/2, between the connection that reads and the application."""

import trio

from octavo.http.server.asgi import Event


class Http2Body:
    """Holds what came and was not taken: never more than the client may send ahead.

    Whoever reads the connection puts and never waits, so that a request that nobody reads holds
    up no other; the client may send on only what the application took (RFC 9113 section 5.2).
    """

    __slots__ = ("_arrived", "_changed", "_over", "given", "left")

    def __init__(self) -> None:
        self._arrived = bytearray()
        self._over = False
        self._changed = trio.Event()
        self.given = False
        self.left = False

    @property
    def over(self) -> bool:
        """True once the last byte came."""
        return self._over

    def put(self, event: Event) -> None:
        """Take an event of ASGI as the protocol has it."""
        if event["type"] == "http.request":
            self._arrived += event["body"]
            self._over = self._over or not event["more_body"]
        else:
            self.left = True
        self._changed.set()

    async def take(self) -> tuple[Event, int]:
        """Wait for the next event; return it, and how many bytes of the body it holds."""
        while not (self._arrived or self.left or (self._over and not self.given)):
            self._changed = trio.Event()
            await self._changed.wait()
        if not self._arrived and (self.left or self.given):
            return {"type": "http.disconnect"}, 0
        content = bytes(self._arrived)
        self._arrived.clear()
        self.given = self._over
        event = {"type": "http.request", "body": content, "more_body": not self._over}
        return event, len(content)

    def drop(self) -> int:
        """Forget what nobody took; return how many bytes that was."""
        size = len(self._arrived)
        self._arrived.clear()
        return size
