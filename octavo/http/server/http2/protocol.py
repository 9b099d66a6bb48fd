"""The server side of HTTP/2 (RFC 9113) without input and output: frames in, frames out.

It keeps the state of the connection and of its streams, the windows in both directions and the
compression of headers, and refuses what breaks the protocol: `Http2Error` ends the connection, and
a `StreamError` becomes the reset of its stream. Priorities are ignored, nothing is pushed, and
extended CONNECT is not offered.
"""

from collections.abc import Callable
from typing import Protocol

from octavo.http.server.http1.head import Headers
from octavo.http.server.http2 import frames
from octavo.http.server.http2.frame_reader import Frame
from octavo.http.server.http2.frames import (
    ACK,
    END_HEADERS,
    END_STREAM,
    FRAME_SIZE,
    LARGEST_WINDOW,
    WINDOW,
    ErrorCode,
    Http2Error,
    StreamError,
    frame_head,
    without_padding,
)
from octavo.http.server.http2.header_decoder import Field, HeaderDecoder
from octavo.http.server.http2.header_encoder import HeaderEncoder
from octavo.http.server.http2.request_head import RequestFields, check_trailers, read_fields
from octavo.http.server.http2.stream import Http2Stream
from octavo.http.server.limits import Limits

MOST_STREAMS = 100
"""Streams of one connection at the same time."""
# Headers are decoded up to this multiple of their limit: a client learns that they are too large,
# and the compression of the connection goes on. Beyond that, the connection ends.
_DECODED = 4
# Frames of one header block.
_MOST_CONTINUATIONS = 64
# Streams that have ended, and whose frames may still be on their way.
_REMEMBERED = 1_000


class Requests(Protocol):
    """What the protocol notifies of its requests. Every method may raise to end the connection."""

    def accepts_request(self) -> bool:
        """Return whether another request is accepted; otherwise the client may repeat it."""

    def begin_request(
        self, stream: Http2Stream, request: RequestFields, fields: list[Field]
    ) -> None:
        """Serve the request of ``stream``, whose head arrived."""

    def content_received(self, size: int) -> None:
        """Count ``size`` bytes of content."""

    def stream_aborted(self, stream: Http2Stream | None) -> None:
        """Count a stream that the client reset, or broke; and end its request."""

    def goaway_received(self, code: int) -> None:
        """Finish the requests in progress and serve no others."""


class Http2Protocol:
    """The state of one connection.

    ``put`` queues bytes for the client, and must not wait.
    """

    def __init__(self, limits: Limits, requests: Requests, put: Callable[[bytes], None]) -> None:
        self._limits = limits
        self._requests = requests
        self._put = put
        self._encoder = HeaderEncoder()
        self._decoder = HeaderDecoder(_DECODED * limits.head_size)
        self._block_size = max(limits.head_size, FRAME_SIZE)
        self.streams: dict[int, Http2Stream] = {}
        self._last = 0
        # The last streams that ended: whether the server reset them, so that frames are ignored
        # which the client sent before it knew.
        self._ended: dict[int, bool] = {}
        self._begun = False
        self._closing = False
        self._stream_window = WINDOW
        self._send_left = self._receive_left = WINDOW
        self._taken = 0
        # Streams with a sender that waits for the window of the connection, in their order, and
        # the bytes that it has left.
        self._blocked: dict[Http2Stream, int] = {}
        # An incomplete header block: its stream, its flags, its frames.
        self._block: tuple[int, int, list[bytes]] | None = None

    def begin(self) -> None:
        """Queue the preface of the server: its settings (RFC 9113 section 3.4)."""
        settings = (
            (frames.MAX_CONCURRENT_STREAMS, MOST_STREAMS),
            (frames.MAX_HEADER_LIST_SIZE, self._limits.head_size),
        )
        payload = b"".join(key.to_bytes(2) + value.to_bytes(4) for key, value in settings)
        self._put(frame_head(len(payload), frames.SETTINGS, 0, 0) + payload)

    # Responses.

    def window(self, stream: Http2Stream) -> int:
        """Return how many bytes of content may be sent now; 0 or less when none may."""
        return min(self._send_left, stream.send_left)

    def block(self, stream: Http2Stream, size: int) -> None:
        """Wake ``stream``, which has ``size`` bytes to send, when its `window` opens."""
        if stream.send_left > 0:
            self._blocked[stream] = size

    def send_head(self, stream: Http2Stream, status: int, headers: Headers, *, ended: bool) -> None:
        """Queue a response head, interim or final.

        Raises `InvalidResponse` for invalid headers; nothing was queued then.
        """
        block = self._encoder.encode(status, headers)
        flags = END_STREAM if ended else 0
        if len(block) <= FRAME_SIZE:
            head = frame_head(len(block), frames.HEADERS, flags | END_HEADERS, stream.number)
            self._put(head + block)
        else:
            self._put_long_block(stream, block, flags)
        if ended:
            self._end_local(stream)

    def send_whole(
        self, stream: Http2Stream, status: int, headers: Headers, content: bytes
    ) -> None:
        """Queue a whole response; its content is as in `send_data`, and not empty.

        Raises as `send_head` does.
        """
        block = self._encoder.encode(status, headers)
        size = len(block)
        if size > FRAME_SIZE:
            self._put_long_block(stream, block, 0)
            self.send_data(stream, content, ended=True)
            return
        number, length = stream.number, len(content)
        self._put(
            b"%b%b%b%b"
            % (
                frame_head(size, frames.HEADERS, END_HEADERS, number),
                block,
                frame_head(length, frames.DATA, END_STREAM, number),
                content,
            )
        )
        self._send_left -= length
        stream.send_left -= length
        self._end_local(stream)

    def send_data(self, stream: Http2Stream, content: bytes | memoryview, *, ended: bool) -> None:
        """Queue a frame of content, within `window` and at most `FRAME_SIZE`."""
        size = len(content)
        head = frame_head(size, frames.DATA, END_STREAM if ended else 0, stream.number)
        self._put(b"".join((head, content)))
        self._send_left -= size
        stream.send_left -= size
        if ended:
            self._end_local(stream)

    def reset(self, stream: Http2Stream, code: ErrorCode) -> None:
        """Reset a stream, unless it has ended."""
        if stream.number in self.streams:
            self._reset(stream.number, code)

    def take(self, stream: Http2Stream, size: int) -> None:
        """Replenish the windows by ``size`` bytes that were taken, or that nobody will take."""
        if not stream.remote_ended:
            stream.taken += size
            # A client that is told of every byte sends as many frames back.
            due = stream.taken and stream.taken >= stream.receive_left
            if due and stream.number in self.streams:
                self._put_window(stream.number, stream.taken)
                stream.receive_left += stream.taken
                stream.taken = 0
        self._replenish(size)

    def goaway(self, code: ErrorCode) -> None:
        """Queue a GOAWAY frame, the last one (RFC 9113 section 6.8)."""
        self._closing = True
        payload = self._last.to_bytes(4) + code.to_bytes(4)
        self._put(frame_head(len(payload), frames.GOAWAY, 0, 0) + payload)
        self._put = _discard

    # Frames of the client.

    def receive(self, frame: Frame) -> None:
        """Handle a frame.

        Raises `Http2Error`, and what the notified requests raise; the connection must end then.
        """
        kind = frame.kind
        block = self._block
        if block is not None and (kind != frames.CONTINUATION or frame.stream != block[0]):
            raise _broken("a header block is interrupted")
        if not self._begun:
            if kind != frames.SETTINGS or frame.flags & ACK:
                raise _broken("the first frame must be SETTINGS")
            self._begun = True
        handler = _HANDLERS.get(kind)
        if handler is None:
            # Of an extension (RFC 9113 section 5.5).
            return
        try:
            handler(self, frame)
        except StreamError as error:
            self._requests.stream_aborted(self.streams.get(frame.stream))
            self._reset(frame.stream, error.code)

    def _receive_data(self, frame: Frame) -> None:
        size = len(frame.payload)
        self._receive_left -= size
        if not frame.stream:
            raise _broken("DATA without a stream")
        if self._receive_left < 0:
            raise Http2Error(ErrorCode.FLOW_CONTROL_ERROR, "the window is exceeded")
        content = without_padding(frame.flags, frame.payload)
        self._requests.content_received(len(content))
        stream = self.streams.get(frame.stream)
        if stream is None:
            self._replenish(size)
            self._check_ended(frame.stream)
            return
        if stream.remote_ended:
            self._replenish(size)
            raise StreamError(ErrorCode.STREAM_CLOSED, "DATA after the end of the stream")
        stream.receive_left -= size
        stream.received += len(content)
        if stream.receive_left < 0:
            self._replenish(size)
            raise StreamError(ErrorCode.FLOW_CONTROL_ERROR, "the window is exceeded")
        if stream.length is not None and stream.received > stream.length:
            self._replenish(size)
            raise StreamError(ErrorCode.PROTOCOL_ERROR, "the body is longer than its length")
        if stream.exchange is None:
            # The response was sent before the whole body arrived. RFC 9113 section 8.1 permits a
            # reset, but common clients then lose the response.
            self.take(stream, size)
        else:
            if content:
                stream.body.put(content)
            # Padding is not for the application; and what was taken before may be due now.
            self.take(stream, size - len(content))
        if frame.flags & END_STREAM:
            self._end_remote(stream)

    def _receive_headers(self, frame: Frame) -> None:
        if not frame.stream & 1:
            raise _broken("HEADERS on a stream that no client may open")
        fragment = without_padding(frame.flags, frame.payload)
        if frame.flags & frames.HAS_PRIORITY:
            if len(fragment) < 5:
                raise Http2Error(ErrorCode.FRAME_SIZE_ERROR, "a priority that is cut off")
            fragment = fragment[5:]
        if frame.flags & END_HEADERS:
            self._end_block(frame.stream, frame.flags, fragment)
        else:
            self._block = frame.stream, frame.flags, [fragment]

    def _receive_continuation(self, frame: Frame) -> None:
        if self._block is None:
            raise _broken("CONTINUATION without HEADERS")
        number, flags, fragments = self._block
        fragments.append(frame.payload)
        if (
            len(fragments) > _MOST_CONTINUATIONS
            or sum(map(len, fragments)) > self._block_size + FRAME_SIZE
        ):
            raise Http2Error(ErrorCode.ENHANCE_YOUR_CALM, "the header block is too large")
        if frame.flags & END_HEADERS:
            self._block = None
            self._end_block(number, flags, b"".join(fragments))

    def _end_block(self, number: int, flags: int, block: bytes) -> None:
        # In any case, because later blocks refer to its fields.
        fields = self._decoder.decode(block)
        ended = bool(flags & END_STREAM)
        stream = self.streams.get(number)
        if stream is not None:
            if stream.remote_ended:
                raise StreamError(ErrorCode.STREAM_CLOSED, "HEADERS after the end of the stream")
            if not ended:
                raise StreamError(ErrorCode.PROTOCOL_ERROR, "trailers must end the stream")
            check_trailers(fields, self._limits)
            self._end_remote(stream)
            return
        if number <= self._last:
            self._check_ended(number)
            return
        self._last = number
        if self._closing:
            return
        if len(self.streams) >= MOST_STREAMS or not self._requests.accepts_request():
            # The request was not processed, so the client may repeat it on another connection.
            self._reset(number, ErrorCode.REFUSED_STREAM)
            return
        request = read_fields(fields)
        stream = Http2Stream(number, self._stream_window, WINDOW, request.length)
        if ended:
            self._end_remote(stream)
        self.streams[number] = stream
        self._requests.begin_request(stream, request, fields)

    def _receive_priority(self, frame: Frame) -> None:
        # Deprecated (RFC 9113 section 5.3.2), and open to abuse.
        if not frame.stream:
            raise _broken("PRIORITY without a stream")
        if len(frame.payload) != 5:
            raise self._sized(frame.stream)

    def _receive_rst_stream(self, frame: Frame) -> None:
        if not frame.stream:
            raise _broken("RST_STREAM without a stream")
        if len(frame.payload) != 4:
            raise Http2Error(ErrorCode.FRAME_SIZE_ERROR, "RST_STREAM has 4 bytes")
        self._check_begun(frame.stream)
        stream = self.streams.get(frame.stream)
        self._requests.stream_aborted(stream)
        if stream is not None:
            self._end(frame.stream, was_reset=False)

    def _receive_settings(self, frame: Frame) -> None:
        payload = frame.payload
        if frame.stream:
            raise _broken("SETTINGS of a stream")
        if frame.flags & ACK:
            if payload:
                raise Http2Error(ErrorCode.FRAME_SIZE_ERROR, "an acknowledgement with settings")
            return
        if len(payload) % 6:
            raise Http2Error(ErrorCode.FRAME_SIZE_ERROR, "a setting has 6 bytes")
        window = self._stream_window
        for at in range(0, len(payload), 6):
            key, value = payload[at + 1], int.from_bytes(payload[at + 2 : at + 6])
            if payload[at]:
                # Of an extension.
                continue
            self._apply(key, value)
            if key == frames.INITIAL_WINDOW_SIZE:
                window = value
        # Once for all values: there may be thousands, for a hundred streams.
        self._open_windows(window - self._stream_window)
        self._stream_window = window
        self._put(frame_head(0, frames.SETTINGS, ACK, 0))

    def _apply(self, key: int, value: int) -> None:
        if key == frames.HEADER_TABLE_SIZE:
            self._encoder.resize(value)
        elif key == frames.ENABLE_PUSH:
            if value > 1:
                raise _broken("ENABLE_PUSH is 0 or 1")
        elif key == frames.INITIAL_WINDOW_SIZE:
            if value > LARGEST_WINDOW:
                raise Http2Error(ErrorCode.FLOW_CONTROL_ERROR, "the initial window is too large")
        elif key == frames.MAX_FRAME_SIZE and not FRAME_SIZE <= value < 2**24:
            raise _broken("MAX_FRAME_SIZE is out of range")

    def _open_windows(self, size: int) -> None:
        if not size:
            return
        # Windows may become negative (RFC 9113 section 6.9.2).
        for stream in self.streams.values():
            stream.send_left += size
            if stream.send_left > LARGEST_WINDOW:
                raise Http2Error(ErrorCode.FLOW_CONTROL_ERROR, "a window is too large")
            if size > 0:
                stream.wake()

    def _receive_push_promise(self, frame: Frame) -> None:
        raise _broken("clients push nothing")

    def _receive_ping(self, frame: Frame) -> None:
        if frame.stream:
            raise _broken("PING of a stream")
        if len(frame.payload) != 8:
            raise Http2Error(ErrorCode.FRAME_SIZE_ERROR, "PING has 8 bytes")
        if not frame.flags & ACK:
            self._put(frame_head(8, frames.PING, ACK, 0) + frame.payload)

    def _receive_goaway(self, frame: Frame) -> None:
        if frame.stream:
            raise _broken("GOAWAY of a stream")
        if len(frame.payload) < 8:
            raise Http2Error(ErrorCode.FRAME_SIZE_ERROR, "GOAWAY has 8 bytes or more")
        self._requests.goaway_received(int.from_bytes(frame.payload[4:8]))

    def _receive_window_update(self, frame: Frame) -> None:
        number = frame.stream
        if len(frame.payload) != 4:
            raise Http2Error(ErrorCode.FRAME_SIZE_ERROR, "WINDOW_UPDATE has 4 bytes")
        size = int.from_bytes(frame.payload) & LARGEST_WINDOW
        if not number:
            if not size:
                raise _broken("a window that is opened by 0")
            self._send_left += size
            if self._send_left > LARGEST_WINDOW:
                raise Http2Error(ErrorCode.FLOW_CONTROL_ERROR, "the window is too large")
            self._wake_blocked()
            return
        self._check_begun(number)
        stream = self.streams.get(number)
        if stream is None:
            return
        if not size:
            raise StreamError(ErrorCode.PROTOCOL_ERROR, "a window that is opened by 0")
        stream.send_left += size
        if stream.send_left > LARGEST_WINDOW:
            raise StreamError(ErrorCode.FLOW_CONTROL_ERROR, "the window is too large")
        stream.wake()

    # States of streams (RFC 9113 section 5.1).

    def _check_begun(self, number: int) -> None:
        """Raise `Http2Error` for a stream that is idle."""
        if number > self._last or not number & 1:
            raise _broken("the stream is idle")

    def _check_ended(self, number: int) -> None:
        """Raise `Http2Error` unless frames of a stream that has ended are ignored."""
        self._check_begun(number)
        was_reset = self._ended.get(number)
        if was_reset is None:
            # It was skipped, or it ended long ago.
            raise _broken("the stream is older than others")
        if not was_reset:
            raise Http2Error(ErrorCode.STREAM_CLOSED, "the stream has ended")

    def _end_remote(self, stream: Http2Stream) -> None:
        if stream.length is not None and stream.received != stream.length:
            raise StreamError(ErrorCode.PROTOCOL_ERROR, "the body is shorter than its length")
        stream.remote_ended = True
        stream.body.end()
        if stream.local_ended:
            self._end(stream.number, was_reset=False)

    def _end_local(self, stream: Http2Stream) -> None:
        stream.local_ended = True
        if stream.remote_ended:
            self._end(stream.number, was_reset=False)

    def _end(self, number: int, *, was_reset: bool) -> None:
        stream = self.streams.pop(number, None)
        self._ended[number] = was_reset
        if len(self._ended) > _REMEMBERED:
            del self._ended[next(iter(self._ended))]
        if stream is not None:
            self._blocked.pop(stream, None)
            stream.wake()
            # It may have been woken for a window that it did not use.
            self._wake_blocked()

    def _reset(self, number: int, code: ErrorCode) -> None:
        self._put(frame_head(4, frames.RST_STREAM, 0, number) + code.to_bytes(4))
        self._end(number, was_reset=True)

    def _sized(self, number: int) -> Exception:
        """Return the error of a frame with a wrong size that only its stream is concerned with."""
        kind = StreamError if number in self.streams else Http2Error
        return kind(ErrorCode.FRAME_SIZE_ERROR, "PRIORITY has 5 bytes")

    # Windows.

    def _wake_blocked(self) -> None:
        """Wake as many senders as the window of the connection is for.

        Each would cost a task switch, and a client may open the window by single bytes.
        """
        left = self._send_left
        while left > 0 and self._blocked:
            stream = next(iter(self._blocked))
            left -= min(self._blocked.pop(stream), max(stream.send_left, 0))
            stream.wake()

    def _replenish(self, size: int) -> None:
        """Let the client send ``size`` bytes more on all streams together."""
        self._taken += size
        if self._taken and self._taken >= self._receive_left:
            self._put_window(0, self._taken)
            self._receive_left += self._taken
            self._taken = 0

    def _put_window(self, number: int, size: int) -> None:
        self._put(frame_head(4, frames.WINDOW_UPDATE, 0, number) + size.to_bytes(4))

    def _put_long_block(self, stream: Http2Stream, block: bytes, flags: int) -> None:
        kind = frames.HEADERS
        for at in range(0, len(block), FRAME_SIZE):
            part = block[at : at + FRAME_SIZE]
            if at + FRAME_SIZE >= len(block):
                flags |= END_HEADERS
            self._put(frame_head(len(part), kind, flags, stream.number) + part)
            kind, flags = frames.CONTINUATION, 0


def _discard(data: bytes) -> None:
    """Queue nothing: the connection ends."""


def _broken(reason: str) -> Http2Error:
    return Http2Error(ErrorCode.PROTOCOL_ERROR, reason)


_HANDLERS: dict[int, Callable[[Http2Protocol, Frame], None]] = {
    frames.DATA: Http2Protocol._receive_data,
    frames.HEADERS: Http2Protocol._receive_headers,
    frames.PRIORITY: Http2Protocol._receive_priority,
    frames.RST_STREAM: Http2Protocol._receive_rst_stream,
    frames.SETTINGS: Http2Protocol._receive_settings,
    frames.PUSH_PROMISE: Http2Protocol._receive_push_promise,
    frames.PING: Http2Protocol._receive_ping,
    frames.GOAWAY: Http2Protocol._receive_goaway,
    frames.WINDOW_UPDATE: Http2Protocol._receive_window_update,
    frames.CONTINUATION: Http2Protocol._receive_continuation,
}
