"""Adapt a stream to trio-websocket 0.12 and wsproto, and work around their defects.

`WebSocketStreamAdapter` is between the socket and trio-websocket, and uses only public interfaces.
Each of these defects has a test in `tests/ws`:

- Frames in the same packet as the request are lost: wsproto discards what h11 read too much. They
  are held back until the request is accepted.
- A request whose ``host`` is not a valid IDNA name, or has non-ASCII bytes, ends in a
  `UnicodeError` of the reader task. wsproto receives a request without them.
- A task that waits for a request that is never accepted waits forever; `handshake` is cancelled
  instead.
- A protocol error closes the connection without a close frame. The frame is sent before the close.
- Message sizes are checked after decoding, in characters, so a frame may announce any size, and the
  socket stays open after 1009. `FrameSplitter` checks announced sizes, in bytes.
- With a full message queue the reader stops in the middle of its input, so pings and closes that
  were already received are not handled. Only messages are held back here.
- A ping that arrives after the own close frame ends the reader with a `LocalProtocolError`. Nothing
  is passed on after it.
- A send that is cancelled midway leaves half a frame, which the next send would continue. Nothing
  is sent after it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Protocol, runtime_checkable

import trio

from octavo.ws.frames import FrameSplitter, TooBig, close_frame, is_close

MAX_HEAD = 65536
"""Maximum size in bytes of a request head; the HTTP server has read it already."""
MAX_WAITING = 64
"""Number of messages waiting for the handler at which reading pauses."""

_CHUNK = 65536
# Of frames that are skipped in one turn; they may have 6 bytes each.
_SKIPPED = 4096
_HOST = re.compile(rb"(?im)^(host:)[^\r\n]*")
_NOT_ASCII = re.compile(rb"[\x80-\xff]")


class Closing(NamedTuple):
    """The code and reason of a close (RFC 6455 section 7.4)."""

    code: int = 1000
    reason: str = ""


@runtime_checkable
class SendsNow(Protocol):
    """A stream that can send without waiting."""

    def send_now(self, data: bytes) -> int:
        """Send what the socket accepts without blocking; return the number of bytes."""


@runtime_checkable
class TakesTurns(Protocol):
    """A stream whose client may not begin all of its messages at once."""

    def may_begin(self) -> bool:
        """Count a message of the client; return False when it has to wait for `begin`."""

    async def begin(self) -> None:
        """Wait until the client may begin a message. Cancellation counts nothing."""


class WebSocketStreamAdapter(trio.abc.Stream):
    """The stream that trio-websocket serves.

    If the stream `TakesTurns`, each frame waits for a turn of the client, pings and fragments too.

    Args:
        stream: the connection to the client; it stays open when this one is closed.
        max_message_size: maximum size in bytes of a message, and of all messages that wait for the
            handler.
    """

    def __init__(self, stream: trio.abc.Stream, max_message_size: int) -> None:
        self.max_message_size = max_message_size
        self.handshake = trio.CancelScope()
        """Cancelled when the request turns out not to be a WebSocket handshake."""
        self.refusal: Closing | None = None
        """The reason why this side closed the connection by itself."""
        self.pauses = 0
        """The number of times that reading was paused for a slow handler."""
        self.close_sent = False
        self._stream = stream
        self._turns = stream if isinstance(stream, TakesTurns) else None
        self._lock = trio.StrictFIFOLock()
        self._frames = FrameSplitter(max_message_size)
        self._waiting: deque[int] = deque()
        self._waiting_bytes = 0
        self._room = trio.Event()
        self._opened = trio.Event()
        self._final_close: Callable[[], Closing] = Closing
        self._head_handed_on = False
        self._pending_close: Closing | None = None
        self._leaving = False
        self._torn = False
        self._rest = b""
        self._ended = False
        self._reading = trio.CancelScope()
        self._checkpoint_due = True

    @property
    def paused(self) -> bool:
        """Whether reading is paused because too much waits for the handler."""
        return len(self._waiting) >= MAX_WAITING or self._waiting_bytes > self.max_message_size

    def message_taken(self) -> None:
        """Record that the handler received the next message."""
        self._waiting_bytes -= self._waiting.popleft()
        self._room.set()

    def open(self, final_close: Callable[[], Closing]) -> None:
        """Record that the request was accepted: frames follow.

        ``final_close`` returns the close to send if trio-websocket closes without sending one.
        """
        self._final_close = final_close
        self._opened.set()

    def leave(self) -> None:
        """Record that this side is about to close: only the peer's close frame matters now."""
        self._leaving = True
        self._room.set()

    async def refuse(self, code: int, reason: str) -> None:
        """Close with ``code``: stop reading, and send a close frame if the peer reads.

        When cancelled, the frame may not have been sent; reading has stopped nevertheless.
        """
        if self.refusal is None:
            self.refusal = Closing(code, reason)
        self.leave()
        try:
            await self._send_close(Closing(code, reason))
        finally:
            self._stop_reading()

    async def flush(self) -> None:
        """Wait for the sends in progress."""
        async with self._lock:
            pass

    async def linger(self) -> None:
        """Read until the peer has closed, since a reset could discard what was sent last.

        First sends a pending close frame, if a cancellation prevented it. Unread bytes turn a close
        into a reset, which may overtake the close frame (compare RFC 9112 section 9.6 for HTTP).
        Only where this side can be closed alone: a client waits for the server to close first (RFC
        6455 section 7.1.1). The caller sets the deadline.
        """
        if self._pending_close is not None:
            await self._send_close(self._pending_close)
        if not self.close_sent or self._torn:
            return
        if isinstance(self._stream, trio.abc.HalfCloseableStream):
            try:
                await self._stream.send_eof()
                while await self._stream.receive_some(_CHUNK):
                    pass
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                return

    # Called by trio-websocket.

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Send one frame, or the response to the request.

        Raises `trio.BrokenResourceError` after a close frame, and after a send that failed or was
        cancelled, since part of that frame may have been sent.
        """
        try:
            # Saves a checkpoint: the stream has one anyway.
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
        """Send one frame if possible without waiting; return False unless it was sent whole.

        The rest of a partly sent frame is sent before the next one.
        """
        if self._torn or self.close_sent or self._lock.locked() or self._rest:
            return False
        if not isinstance(self._stream, SendsNow):
            return False
        try:
            sent = self._stream.send_now(frame)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            # The next send or receive raises the error.
            return False
        self._rest = frame[sent:] if sent else b""
        return sent == len(frame)

    async def wait_send_all_might_not_block(self) -> None:
        """Wait until the socket is writable."""
        await self._stream.wait_send_all_might_not_block()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Return the request head, then one frame at a time; nothing after the end."""
        if self._checkpoint_due:
            await trio.lowlevel.checkpoint()
        if not self._head_handed_on:
            self._head_handed_on = True
            return await self._head()
        await self._opened.wait()
        while not self._ended:
            size = _CHUNK
            if self._leaving:
                await self._begin()
                if self._frames.skip_to_close():
                    break
                size = _SKIPPED
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
                    if self._turns is None or self._turns.may_begin() or not await self._begin():
                        return self._deliver(*frame)
                    if is_close(frame[0]):
                        break
                    continue
            data = await self._receive(size)
            if not data:
                break
            self._frames.feed(data)
        self._ended = True
        return b""

    async def aclose(self) -> None:
        """Send the final close frame, if still pending; the socket stays open."""
        self.handshake.cancel()
        self._stop_reading()
        if self._opened.is_set():
            await self._send_close(self._final_close())
        await trio.lowlevel.checkpoint()

    # Shared helpers.

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

    def _deliver(self, frame: bytes, message_size: int | None) -> bytes:
        # trio-websocket passes messages through a channel, which is a checkpoint.
        self._checkpoint_due = message_size is None
        if message_size is not None:
            self._waiting.append(message_size)
            self._waiting_bytes += message_size
        return frame

    async def _begin(self) -> bool:
        """Wait for a turn; return whether only the peer's close frame matters by then."""
        if self._turns is not None:
            await self._turns.begin()
        return self._leaving

    async def _receive(self, size: int = _CHUNK) -> bytes | bytearray:
        with trio.CancelScope() as self._reading:
            return await self._stream.receive_some(size)
        return b""

    def _stop_reading(self) -> None:
        self._ended = True
        self._reading.cancel()
        self._room.set()

    async def _send_close(self, closing: Closing) -> None:
        # A send in progress is torn only if it fails; the frame follows it.
        if self.close_sent or (self._torn and not self._lock.locked()):
            return
        self._pending_close = closing
        try:
            await self.send_all(close_frame(*closing))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return
