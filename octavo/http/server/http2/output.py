"""The output of an HTTP/2 connection: the frames of all requests, in one order.

The frames share one byte stream and one compression state, so a request that is cancelled while it
sends must not remove bytes. Frames are queued without waiting. What the socket accepts at once is
written by whoever flushes; the rest, and what several requests queue in one round of the scheduler,
is written by one task.
"""

import math
from collections.abc import Callable

import trio

from octavo.http.server.http2.frame_budget import FrameBudget
from octavo.http.server.limits import WRITE_SIZE
from octavo.http.server.rejection import ClientGone
from octavo.http.server.transport import Transport


class Http2Output:
    """The queue of bytes to the client, which earn ``budget``.

    ``at_rest`` is called whenever the queue becomes empty. ``deadline`` is the deadline of the
    current write, on trio's clock.
    """

    def __init__(
        self,
        transport: Transport,
        write_time: float,
        budget: FrameBudget,
        at_rest: Callable[[], None],
    ) -> None:
        self._at_rest = at_rest
        self._transport = transport
        self._write_time = write_time
        self._budget = budget
        self._waiting = bytearray()
        self._writing = False
        self._gone = False
        self._filled = trio.Event()
        self._drained: trio.Event | None = None
        self.deadline = math.inf

    def release(self) -> None:
        """Drop what was not sent, and call nobody any more."""
        self._at_rest = _nobody
        self._waiting.clear()

    @property
    def empty(self) -> bool:
        """True when every byte was passed to the kernel."""
        return not self._waiting and not self._writing

    @property
    def full(self) -> bool:
        """True while so much is queued that senders have to wait."""
        return len(self._waiting) >= WRITE_SIZE

    def put(self, data: bytes) -> None:
        """Queue ``data``; after the client is gone it is dropped."""
        self._budget.earn_sent(len(data))
        if not self._gone:
            self._waiting += data

    def flush(self) -> None:
        """Write what the socket accepts without blocking; the writing task sends the rest."""
        if self._waiting and not self._writing:
            self._write_now()
        if self._waiting:
            self._filled.set()

    def flush_soon(self) -> None:
        """Let the writing task send everything in the next round of the scheduler."""
        if self._waiting:
            self._filled.set()

    async def room(self) -> None:
        """Wait while much is queued."""
        while len(self._waiting) >= WRITE_SIZE:
            await self._wait()

    async def drain(self) -> None:
        """Wait until every byte was passed to the kernel, or the client is gone."""
        self.flush_soon()
        while not self.empty:
            await self._wait()

    async def send_last(self) -> None:
        """Write the queue when `run` has ended. Raises `ClientGone`."""
        data = bytes(self._waiting)
        self._waiting.clear()
        await self._transport.send(memoryview(data))

    async def run(self) -> None:
        """Write the queue until cancelled."""
        while True:
            if not self._waiting:
                self._filled = trio.Event()
                await self._filled.wait()
            self._write_now()
            if not self._waiting:
                continue
            data = bytes(self._waiting[:WRITE_SIZE])
            del self._waiting[:WRITE_SIZE]
            self._writing = True
            self.deadline = trio.current_time() + self._write_time
            try:
                await self._transport.send(memoryview(data))
            except ClientGone:
                self._lose()
            self.deadline = math.inf
            self._writing = False
            self._progress()

    async def _wait(self) -> None:
        if self._drained is None:
            self._drained = trio.Event()
        await self._drained.wait()

    def _write_now(self) -> None:
        waiting = self._waiting
        while waiting:
            data = bytes(waiting[:WRITE_SIZE])
            try:
                sent = self._transport.send_now(data)
            except ClientGone:
                self._lose()
                break
            if sent == len(waiting):
                waiting.clear()
            else:
                del waiting[:sent]
            if sent < WRITE_SIZE:
                break
        self._progress()

    def _lose(self) -> None:
        # The reading task detects that the client is gone.
        self._gone = True
        self._waiting.clear()

    def _progress(self) -> None:
        if self._drained is not None and len(self._waiting) < WRITE_SIZE:
            self._drained.set()
            self._drained = None
        if not self._waiting and not self._writing:
            self._at_rest()


def _nobody() -> None:
    """Do nothing."""
