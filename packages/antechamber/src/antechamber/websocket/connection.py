"""An open WebSocket (RFC 6455): frames on a stream, in the task of its handler.

A connection has no task of its own. Whoever receives also reads the socket, answers pings, and
sends what timers have left to be sent. So thousands of connections that wait take little memory.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol, Self, cast, runtime_checkable

import trio
from wsproto.connection import Connection, ConnectionState, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Ping, Pong, TextMessage

from antechamber.websocket import frames

PROTOCOL_ERROR = 1002
TOO_BIG = 1009
CLOSED_SILENTLY = 1006
LINGER_AT_STOP = 1.0
"""Seconds that a stopping server waits for a peer that does not close after a close frame."""
FAREWELL = 1.0
"""Seconds to send a close frame that its handler has kept for too long."""

_CHUNK = 65536
# Of frames that are skipped in one turn; they may have 6 bytes each.
_SKIPPED = 4096
_GONE = (trio.BrokenResourceError, trio.ClosedResourceError)
_PING, _PONG = 0x9, 0xA
_REGISTERED = frozenset(range(1000, 1015)) - {1004, 1005, 1006}


class ConnectionGone(Exception):
    """The connection is closed; nothing more can be received or sent.

    ``code`` and ``reason`` are those of the side that closed first; 1005 means a close without a
    code, 1006 a disconnect without a close (RFC 6455 section 7.1.5).
    """

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(code, reason)
        self.code = code
        self.reason = reason

    def __str__(self) -> str:
        return f"closed with {self.code} {self.reason}".rstrip()


class Closing(NamedTuple):
    """The code and reason of a close (RFC 6455 section 7.4)."""

    code: int
    reason: str


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


class ServerWebSocket:
    """Sends and receives whole messages.

    Pings and closes of the client are handled while a task receives, so one should soon receive
    again. Only one task at a time may receive; any number may send. Iteration yields messages until
    the connection is gone for any reason.

    If the stream `TakesTurns`, each frame waits for a turn of the client, pings and fragments too.

    Args:
        stream: begins with the first frame; it stays open.
        max_message_size: maximum size in bytes of a message.
        close_time: seconds for the closing handshake.
        pong_received: called with the connection for the pong of its last ping.

    Attributes:
        handling: cancelled when the handler has not returned at the end of a close.
        close_by: the deadline of the closing handshake, on trio's clock.
    """

    __slots__ = (
        "_buffered",
        "_close_time",
        "_closing",
        "_frames",
        "_held",
        "_lock",
        "_parts",
        "_peer_closed",
        "_ping",
        "_pong_received",
        "_protocol",
        "_refused",
        "_rest",
        "_send_now",
        "_sending",
        "_stream",
        "_torn",
        "_turns",
        "_wait",
        "_woken",
        "close_by",
        "handling",
    )

    def __init__(
        self,
        stream: trio.abc.Stream,
        max_message_size: int,
        close_time: float,
        pong_received: Callable[["ServerWebSocket"], None],
    ) -> None:
        self.handling = trio.CancelScope()
        self.close_by = math.inf
        self._stream = stream
        self._send_now = stream.send_now if isinstance(stream, SendsNow) else _send_later
        self._turns = stream if isinstance(stream, TakesTurns) else None
        self._close_time = close_time
        self._pong_received = pong_received
        self._frames = frames.FrameSplitter(max_message_size)
        # Not while waiting between messages: it has no state then, but takes a kilobyte.
        self._protocol: Connection | None = None
        # The fragments of an unfinished message.
        self._parts: list[str | bytes | bytearray] = []
        # Whether more frames may have arrived than were handled.
        self._buffered = False
        # A frame that waits for its turn.
        self._held: bytes | None = None
        self._wait: trio.CancelScope | None = None
        self._woken = False
        self._ping = b""
        self._lock = trio.StrictFIFOLock()
        self._sending = False
        # Sent before anything else: the end of a frame, and frames that could not be sent at once.
        self._rest = b""
        # A send failed or was cancelled: part of a frame may have been sent, so nothing can follow.
        self._torn = False
        # Why nothing is received any more, and only the rest is sent.
        self._closing: Closing | None = None
        # Whether this side closed for a fault of the client: its close is not waited for.
        self._refused = False
        self._peer_closed = False

    # Messages

    async def send(self, message: str | bytes) -> None:
        """Send one message; return when the socket has accepted it; the peer may not have.

        Raises `ConnectionGone`; the peer may have received the message then. If cancelled midway,
        the connection is unusable, since half a frame may have been sent.
        """
        await self.send_frame(frames.message_frame(message))

    async def send_frame(self, frame: frames.Frame) -> None:
        """Send a message that `message_frame` encoded for many connections.

        Raises the same errors as `send`, and is cancelled like it.
        """
        if self._closing is not None:
            raise self._gone()
        await self._send(frame)

    def offer_frame(self, frame: frames.Frame) -> bool:
        """Send a message of `message_frame` if that is possible without waiting.

        Returns False if it was not sent, or only in part; the next send completes it first. Callers
        then send only their latest message later. Also returns False when the connection is gone.
        """
        if self._sending or self._rest or self._torn or self._closing is not None:
            return False
        try:
            sent = self._send_now(frame)
        except _GONE:
            # The next send or receive reports it.
            return False
        if sent == len(frame):
            return True
        if sent:
            self._rest = frame[sent:]
        return False

    async def receive(self) -> str | bytes:
        """Wait for the next message, which may be empty.

        Messages that arrived before the peer closed are still received; then raises
        `ConnectionGone`. Cancellation loses no message.
        """
        message = None
        while message is None:
            message = await self.receive_or_wake()
        return message

    async def receive_or_wake(self, patience: float = math.inf) -> str | bytes | None:
        """Wait for the next message as `receive` does, or until `wake` was called: then None.

        Also returns None if nothing arrives for ``patience`` seconds.
        """
        deadline = math.inf if patience == math.inf else trio.current_time() + patience
        while True:
            if self._buffered or self._woken:
                # Each frame is work: a client that sends thousands must not hold up others.
                await trio.lowlevel.checkpoint()
            if self._rest:
                await self._flush()
            # No other task runs between here and the wait, so nothing that is due is overlooked.
            if self._closing is not None:
                raise self._gone()
            if self._woken:
                self._woken = False
                return None
            frame = self._held or self._next_frame()
            if frame is None:
                if not await self._read(deadline) and trio.current_time() >= deadline:
                    return None
                continue
            self._held = frame
            turns = self._turns
            if turns is not None and not turns.may_begin() and not await self._begin(turns):
                continue
            self._held = None
            message = self._handle(frame)
            if message is not None:
                return message

    def wake(self) -> None:
        """Let the present or the next `receive_or_wake` return None."""
        self._woken = True
        self._interrupt()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str | bytes:
        try:
            return await self.receive()
        except ConnectionGone:
            raise StopAsyncIteration from None

    # Its life

    @property
    def is_waiting(self) -> bool:
        """Whether a task receives, and everything that arrived has been handled."""
        return self._wait is not None and self._held is None

    def ping(self, payload: bytes) -> None:
        """Send a ping without waiting; at most 125 bytes, different from those before."""
        self._ping = payload
        if self._closing is None:
            self._send_soon(frames.control_frame(_PING, payload))

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Send a close, unless one was sent or received; nothing is received any more.

        The close of the peer is waited for when the handler has returned.

        Args:
            code: 1000 to 1014, or 3000 to 4999 (RFC 6455 section 7.4), except codes that are never
                sent.
            reason: truncated to 123 bytes.

        Raises `ValueError` for a code that must not be sent. When cancelled, or after the close
        time, the close frame may not have been sent.
        """
        if not may_be_sent(code):
            raise ValueError(f"{code} can't be sent as a close code")
        self._begin_close(code, reason)
        with trio.CancelScope(deadline=self.close_by):
            await self._flush_close()

    def stop(self, code: int, reason: str = "") -> None:
        """Close as `close` does, without waiting; the handler has the close time to return.

        What can't be sent at once is sent by the task that receives, or at the end.
        """
        self._begin_close(code, reason)
        self.handling.deadline = self.close_by

    def refuse(self, code: int, reason: str) -> None:
        """Close as `close` does, without waiting; the peer is not expected to close in turn."""
        self._refused = True
        self._begin_close(code, reason)

    async def finish(self, code: int, stopping: trio.Event) -> None:
        """Close with ``code`` unless that was done, and wait for the peer, within the close time.

        It waits for the close frame of the peer, then for the end of the connection: a reset could
        discard what was sent last (compare RFC 9112 section 9.6 for HTTP). A client waits for the
        server to close first (RFC 6455 section 7.1.1), so a stream whose sending side can't be
        closed alone is not waited for. If the server stops, it waits `LINGER_AT_STOP` seconds at
        most. When cancelled, a close frame that was not sent before is not sent.
        """
        await trio.lowlevel.checkpoint()
        self._begin_close(code, "")
        deadline = self.close_by
        if self._rest:
            # A handler that did not return in time has kept the frame.
            deadline = max(deadline, trio.current_time() + FAREWELL)
        with trio.CancelScope(deadline=deadline):
            await self._flush_close()
            if self._torn or not isinstance(self._stream, trio.abc.HalfCloseableStream):
                return
            if not self._refused:
                await self._skip_to_close()
            # Some libraries keep the socket open while their process waits.
            lingering = LINGER_AT_STOP if stopping.is_set() else math.inf
            with trio.CancelScope(deadline=trio.current_time() + lingering):
                await self._read_to_end(self._stream)

    # Receiving

    def _next_frame(self) -> bytes | None:
        try:
            frame = self._frames.next_frame()
        except frames.TooBig as error:
            self.refuse(TOO_BIG, str(error))
            frame = None
        self._buffered = frame is not None
        return None if frame is None else frame[0]

    async def _read(self, deadline: float) -> bool:
        """Read what arrives until ``deadline``; return False if the wait has ended before."""
        if self._closing is not None:
            return True
        data: bytes | bytearray | None = None
        if not self._parts:
            self._protocol = None
        self._wait = wait = trio.CancelScope(deadline=deadline)
        with wait:
            try:
                data = await self._stream.receive_some(_CHUNK)
            except _GONE:
                data = b""
            finally:
                self._wait = None
        if data:
            self._frames.feed(data)
            self._buffered = True
        elif data is not None and self._closing is None:
            self._peer_closed = True
            self._end(Closing(CLOSED_SILENTLY, ""))
        return data is not None

    async def _begin(self, turns: TakesTurns) -> bool:
        """Wait for a turn of the client; return False if the wait was interrupted."""
        begun = False
        self._wait = wait = trio.CancelScope()
        with wait:
            try:
                await turns.begin()
                begun = True
            finally:
                self._wait = None
        return begun

    def _handle(self, frame: bytes) -> str | bytes | None:
        """Handle one frame; return the message that it completes."""
        message = None
        protocol = self._protocol
        if protocol is None:
            protocol = self._protocol = Connection(ConnectionType.SERVER)
        protocol.receive_data(frame)
        for event in protocol.events():
            if isinstance(event, TextMessage | BytesMessage):
                self._parts.append(event.data)
                if event.message_finished:
                    message = self._joined(event)
            elif isinstance(event, Ping):
                self._send_soon(frames.control_frame(_PONG, bytes(event.payload)))
            elif isinstance(event, Pong):
                if event.payload == self._ping:
                    self._pong_received(self)
            elif isinstance(event, CloseConnection):
                self._handle_close(event, valid=protocol.state is not ConnectionState.OPEN)
        if self._frames.broken and self._closing is None:
            # The header is known to be invalid before wsproto has all of it.
            self.refuse(PROTOCOL_ERROR, "invalid frame")
        return message

    def _handle_close(self, close: CloseConnection, *, valid: bool) -> None:
        """Acknowledge a close, or refuse an invalid frame with ``close``."""
        code, reason = int(close.code), close.reason or ""
        if valid:
            self._peer_closed = True
            self._begin_close(code, reason)
        else:
            self.refuse(code, reason)

    def _joined(self, last: TextMessage | BytesMessage) -> str | bytes:
        parts, self._parts = self._parts, []
        if isinstance(last, TextMessage):
            return "".join(cast(list[str], parts))
        return b"".join(cast(list[bytes | bytearray], parts))

    def _interrupt(self) -> None:
        if self._wait is not None:
            self._wait.cancel()

    # Sending

    async def _send(self, frame: bytes) -> None:
        try:
            # Saves a checkpoint: the stream has one anyway.
            self._lock.acquire_nowait()
        except trio.WouldBlock:
            await self._lock.acquire()
        try:
            if self._torn or self._closing is not None:
                raise self._gone()
            await self._put(frame)
        finally:
            self._lock.release()

    async def _flush(self) -> None:
        async with self._lock:
            while self._rest:
                await self._put(b"")

    async def _put(self, frame: bytes) -> None:
        """Send the rest and ``frame``, while the lock is held. Raises `ConnectionGone`."""
        data, self._rest = self._rest + frame, b""
        self._sending = True
        sent = False
        try:
            await self._stream.send_all(data)
            sent = True
        except _GONE:
            raise self._gone() from None
        finally:
            self._sending = False
            if not sent:
                # Part of a frame may have been sent: nothing can follow it.
                self._torn, self._rest = True, b""

    def _send_soon(self, data: bytes) -> None:
        """Send what the socket accepts now; the task that receives sends the rest."""
        sent = 0
        if not self._sending:
            if self._torn:
                return
            if not self._rest:
                try:
                    sent = self._send_now(data)
                except _GONE:
                    self._torn = True
                    return
        if sent < len(data):
            self._rest += data[sent:]
            self._interrupt()

    # The end

    def _begin_close(self, code: int, reason: str) -> None:
        if self._closing is None:
            self._end(Closing(code, reason))
            self._send_soon(frames.close_frame(code, reason))

    def _end(self, closing: Closing) -> None:
        self._closing = closing
        self.close_by = min(self.close_by, trio.current_time() + self._close_time)
        self._interrupt()

    def _gone(self) -> ConnectionGone:
        return ConnectionGone(*(self._closing or Closing(CLOSED_SILENTLY, "")))

    async def _flush_close(self) -> None:
        try:
            await self._flush()
        except ConnectionGone:
            return

    async def _skip_to_close(self) -> None:
        held, self._held = self._held, None
        if held is not None and frames.is_close(held):
            return
        while not self._peer_closed:
            if self._turns is not None:
                await self._turns.begin()
            if self._frames.skip_to_close():
                return
            try:
                data = await self._stream.receive_some(_SKIPPED)
            except _GONE:
                return
            if not data:
                return
            self._frames.feed(data)

    async def _read_to_end(self, stream: trio.abc.HalfCloseableStream) -> None:
        try:
            await stream.send_eof()
            while await stream.receive_some(_CHUNK):
                continue
        except _GONE:
            return


def may_be_sent(code: int) -> bool:
    """Return whether a close frame may carry ``code`` (RFC 6455 section 7.4, IANA registry)."""
    return code in _REGISTERED or 3000 <= code <= 4999


def _send_later(_: bytes) -> int:
    return 0
