"""The output of an HTTP/2 connection, written in order by one task.

The frames of all requests share one byte stream and one compression state, so a request that is
cancelled while it sends must not remove bytes. The other tasks queue their bytes for the writer.
"""

import math
from collections.abc import Callable

import trio

from octavo.http.server.limits import WRITE_SIZE
from octavo.http.server.rejection import ClientGone
from octavo.http.server.transport import Transport


class Http2Output:
    """The queue of bytes to the client.

    ``at_rest`` is called whenever the queue becomes empty. ``deadline`` is the deadline of the
    current write, on trio's clock.
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
        """True when every byte was passed to the kernel."""
        return not self._waiting and not self._writing

    async def send(self, data: bytes) -> None:
        """Queue ``data``, and wait while much is queued before it.

        Cancellation does not remove the bytes. When the client is gone they are dropped; the
        reading task detects that.
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
        """Write the queue until cancelled."""
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
