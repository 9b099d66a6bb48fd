"""What trio-websocket and wsproto get wrong on a hostile or busy connection, mended from outside.

`WebSocketStreamAdapter` sits between the socket and trio-websocket 0.12, and uses only their public
interfaces. What goes wrong without it, each with a test in `tests/ws`:

- Frames that follow the request at once, in the same packet, are lost: wsproto forgets what h11
  read too much. They are held back until the request is accepted.
- A request with a ``host`` that is no IDNA name, or with bytes beyond ASCII, ends in a
  `UnicodeError` of the reader task. wsproto gets a request without them.
- A request that is not accepted leaves whoever waits for it waiting; `handshake` ends instead.
- A protocol error closes the connection without a close frame. It is sent before the close.
- A message is judged by what came of it, in characters, so that a frame may announce any size;
  after 1009 the socket stays open. `FrameSplitter` judges what is announced, in bytes.
- With a full message queue the reader stops in the middle of what it has read, so pings and
  closes that are known already go unseen. Messages are held back here, and nothing else.
- A ping that comes after the own close frame was sent ends the reader with a
  `LocalProtocolError`. After it nothing is handed on.
- A send that is cancelled midway leaves half a frame, which the next send would continue.
  Nothing is sent after it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Protocol, runtime_checkable

import trio

from octavo.ws.frames import FrameSplitter, TooBig, close_frame, is_close

MAX_HEAD = 65536
"""Bytes of a request head; whoever hands the stream over has read the head already."""
MAX_WAITING = 64
"""Messages that wait for the handler before no more are read."""

_CHUNK = 65536
_HOST = re.compile(rb"(?im)^(host:)[^\r\n]*")
_NOT_ASCII = re.compile(rb"[\x80-\xff]")


class Closing(NamedTuple):
    """Why a connection is closed (RFC 6455 section 7.4)."""

    code: int = 1000
    reason: str = ""


@runtime_checkable
class SendsNow(Protocol):
    """A stream that can send without waiting."""

    def send_now(self, data: bytes) -> int:
        """Send what can be sent without waiting, and answer how many bytes that was."""


class WebSocketStreamAdapter(trio.abc.Stream):
    """The stream that trio-websocket serves.

    Args:
        stream: what the client is connected by; it stays open when this one is closed.
        max_message_size: bytes of the largest message; as many may wait for the handler.
    """

    def __init__(self, stream: trio.abc.Stream, max_message_size: int) -> None:
        self.max_message_size = max_message_size
        self.handshake = trio.CancelScope()
        """Cancelled when the request turns out not to become a WebSocket."""
        self.refusal: Closing | None = None
        """Why this end gave the connection up by itself."""
        self.pauses = 0
        """How often reading was stopped for a handler that takes no messages."""
        self.close_sent = False
        self._stream = stream
        self._lock = trio.StrictFIFOLock()
        self._frames = FrameSplitter(max_message_size)
        self._waiting: deque[int] = deque()
        self._waiting_bytes = 0
        self._room = trio.Event()
        self._opened = trio.Event()
        self._farewell: Callable[[], Closing] = Closing
        self._head_handed_on = False
        self._due: Closing | None = None
        self._leaving = False
        self._torn = False
        self._rest = b""
        self._ended = False
        self._reading = trio.CancelScope()
        self._checkpoint_due = True

    @property
    def paused(self) -> bool:
        """Whether so much waits for the handler that nothing more is read."""
        return len(self._waiting) >= MAX_WAITING or self._waiting_bytes > self.max_message_size

    def message_taken(self) -> None:
        """Note that the handler took the next message."""
        self._waiting_bytes -= self._waiting.popleft()
        self._room.set()

    def open(self, farewell: Callable[[], Closing]) -> None:
        """Note that the request was accepted: frames follow.

        ``farewell`` answers what to tell when trio-websocket closes without having told anything.
        """
        self._farewell = farewell
        self._opened.set()

    def leave(self) -> None:
        """Note that this end is about to close: only the peer's close frame matters now."""
        self._leaving = True
        self._room.set()

    async def refuse(self, code: int, reason: str) -> None:
        """Close with ``code``: reading ends, and a close frame is sent if the peer reads.

        Cancelled, it may not have been sent; reading has ended nevertheless.
        """
        if self.refusal is None:
            self.refusal = Closing(code, reason)
        self.leave()
        try:
            await self._send_close(Closing(code, reason))
        finally:
            self._stop_reading()

    async def flush(self) -> None:
        """Wait for the sends that have begun."""
        async with self._lock:
            pass

    async def linger(self) -> None:
        """Read until the peer has closed, so that what was sent last is not lost to a reset.

        Sends first a close frame that is due, if a cancellation came before it.
        Unread bytes turn a close into a reset, which may overtake the close frame (RFC 9112
        section 9.6 tells the same of HTTP). Only where this end can be closed alone: a client
        waits for the server to close first (RFC 6455 section 7.1.1). The caller sets a deadline.
        """
        if self._due is not None:
            await self._send_close(self._due)
        if not self.close_sent or self._torn:
            return
        if isinstance(self._stream, trio.abc.HalfCloseableStream):
            try:
                await self._stream.send_eof()
                while await self._stream.receive_some(_CHUNK):
                    pass
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                return

    # What trio-websocket calls

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Send one frame, or the answer to the request.

        Raises `trio.BrokenResourceError` after a close frame and after a send that failed or was
        cancelled: part of that frame may have been sent.
        """
        try:
            # Spares the checkpoint that the stream makes anyway.
            self._lock.acquire_nowait()
        except trio.WouldBlock:
            await self._lock.acquire()
        try:
            if self._torn or self.close_sent:
                raise trio.BrokenResourceError("nothing can be sent any more")
            if self._opened.is_set() and is_close(bytes(data[:1])):
                self.close_sent = True
                self.leave()
            self._torn = True
            if self._rest:
                data, self._rest = self._rest + data, b""
            await self._stream.send_all(data)
            self._torn = False
        finally:
            self._lock.release()

    def offer(self, frame: bytes) -> bool:
        """Send one frame if that needs no waiting; False when it was not sent whole.

        The rest of a frame that went out in part is sent before the next one.
        """
        if self._torn or self.close_sent or self._lock.locked() or self._rest:
            return False
        if not isinstance(self._stream, SendsNow):
            return False
        try:
            sent = self._stream.send_now(frame)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            # Whoever sends or receives next learns of it.
            return False
        self._rest = frame[sent:] if sent else b""
        return sent == len(frame)

    async def wait_send_all_might_not_block(self) -> None:
        """Wait for the socket."""
        await self._stream.wait_send_all_might_not_block()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Return the head of the request, then one frame at a time; nothing once it is over."""
        if self._checkpoint_due:
            await trio.lowlevel.checkpoint()
        if not self._head_handed_on:
            self._head_handed_on = True
            return await self._head()
        await self._opened.wait()
        while not self._ended:
            if self._leaving:
                if self._frames.skip_to_close():
                    break
            elif self.paused:
                self.pauses += 1
                self._room = trio.Event()
                await self._room.wait()
                continue
            else:
                try:
                    frame = self._frames.next_frame()
                except TooBig as error:
                    await self.refuse(1009, str(error))
                    break
                if frame is not None:
                    return self._hand_on(*frame)
            data = await self._receive()
            if not data:
                break
            self._frames.feed(data)
        self._ended = True
        return b""

    async def aclose(self) -> None:
        """Say farewell if that was not done; the socket is not closed here."""
        self.handshake.cancel()
        self._stop_reading()
        if self._opened.is_set():
            await self._send_close(self._farewell())
        await trio.lowlevel.checkpoint()

    # What they share

    async def _head(self) -> bytes:
        head = bytearray()
        while (end := head.find(b"\r\n\r\n") + 4) < 4:
            data = await self._receive() if len(head) < MAX_HEAD else b""
            if not data:
                self.handshake.cancel()
                return b""
            head += data
        self._frames.feed(head[end:])
        return _HOST.sub(rb"\1 host", _NOT_ASCII.sub(b"?", bytes(head[:end])))

    def _hand_on(self, frame: bytes, message_size: int | None) -> bytes:
        # trio-websocket passes a message on through a channel, which is a checkpoint.
        self._checkpoint_due = message_size is None
        if message_size is not None:
            self._waiting.append(message_size)
            self._waiting_bytes += message_size
        return frame

    async def _receive(self) -> bytes | bytearray:
        with trio.CancelScope() as self._reading:
            return await self._stream.receive_some(_CHUNK)
        return b""

    def _stop_reading(self) -> None:
        self._ended = True
        self._reading.cancel()
        self._room.set()

    async def _send_close(self, closing: Closing) -> None:
        if self.close_sent or self._torn:
            return
        self._due = closing
        try:
            await self.send_all(close_frame(*closing))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return
