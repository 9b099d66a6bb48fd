"""What an HTTP/2 connection sends: all of it in order, whoever gives up meanwhile.

The frames of all requests share one stream of bytes and one state of compression. A request that
is cancelled while it sends must not take a byte with it, so one task writes, and the others
leave their bytes to it.
"""

import math
from collections.abc import Callable

import trio

from octavo.http.server.limits import WRITE_SIZE
from octavo.http.server.rejection import ClientGone
from octavo.http.server.transport import Transport


class Http2Output:
    """The bytes on their way to the client.

    ``at_rest`` is called whenever the last of what waited was sent. ``deadline`` is when the
    client must have taken what is being written, on trio's clock.
    """

    def __init__(
        self, transport: Transport, write_time: float, at_rest: Callable[[], None]
    ) -> None:
        self._at_rest = at_rest
        self._transport = transport
        self._write_time = write_time
        self._waiting = bytearray()
        self._writing = False
        self._gone = False
        self._filled, self._drained = trio.Event(), trio.Event()
        self.deadline = math.inf

    @property
    def empty(self) -> bool:
        """True when every byte was handed to the system."""
        return not self._waiting and not self._writing

    async def send(self, data: bytes) -> None:
        """Leave ``data`` to be sent, and wait while much waits before it.

        When this is cancelled the bytes are sent all the same. When the client is gone they are
        dropped: whoever reads the connection learns of it.
        """
        if self._gone:
            return
        if self.empty:
            try:
                data = data[self._transport.send_now(data[:WRITE_SIZE]) :]
            except ClientGone:
                self._gone = True
                return
        if data:
            self._waiting += data
            self._filled.set()
        while len(self._waiting) > WRITE_SIZE and not self._gone:
            await self._drained.wait()

    async def run(self) -> None:
        """Write what waits, until cancelled."""
        while True:
            if not self._waiting:
                self._filled = trio.Event()
                await self._filled.wait()
            data = bytes(self._waiting[:WRITE_SIZE])
            del self._waiting[:WRITE_SIZE]
            self._writing = True
            self.deadline = trio.current_time() + self._write_time
            try:
                await self._transport.send(memoryview(data))
            except ClientGone:
                self._gone = True
                self._waiting.clear()
            self.deadline = math.inf
            self._writing = False
            self._drained.set()
            self._drained = trio.Event()
            if not self._waiting:
                self._at_rest()
