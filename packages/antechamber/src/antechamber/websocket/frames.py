"""Split a client's bytes into frames (RFC 6455 section 5.2), and limit message sizes.

Only headers are parsed here, so that sizes are checked when they are announced, before the payload
arrives. wsproto detects all other errors, and therefore receives an invalid frame immediately.
"""

import struct
from typing import NewType

Frame = NewType("Frame", bytes)
"""An encoded message, ready for the socket."""

MAX_FRAGMENTS = 4096
"""Maximum number of fragments of a message; otherwise empty ones could fill the memory."""

_CONTINUATION, _CLOSE = 0x0, 0x8
_OPCODES = frozenset((_CONTINUATION, 0x1, 0x2, _CLOSE, 0x9, 0xA))
_FIN = 0x80
_MASK_SIZE = 4


class TooBig(Exception):
    """A message is larger, or has more fragments, than allowed: close with 1009."""


def message_frame(message: str | bytes) -> Frame:
    """Return a message as one server frame, which any number of clients can be sent."""
    opcode, payload = (0x1, message.encode()) if isinstance(message, str) else (0x2, message)
    size = len(payload)
    if size < 126:
        return Frame(struct.pack("!BB", _FIN | opcode, size) + payload)
    if size < 1 << 16:
        return Frame(struct.pack("!BBH", _FIN | opcode, 126, size) + payload)
    return Frame(struct.pack("!BBQ", _FIN | opcode, 127, size) + payload)


def control_frame(opcode: int, payload: bytes) -> bytes:
    """Return a server's control frame (RFC 6455 section 5.5), of at most 125 bytes."""
    return struct.pack("!BB", _FIN | opcode, len(payload)) + payload


def close_frame(code: int, reason: str = "") -> bytes:
    """Return a server's close frame (RFC 6455 section 5.5.1).

    Code 1005 means no code and is not sent. A reason is truncated to the size of a control frame.
    """
    if code == 1005:
        return control_frame(_CLOSE, b"")
    truncated = reason.encode()[:123].decode(errors="ignore").encode()
    return control_frame(_CLOSE, code.to_bytes(2, "big") + truncated)


def is_close(frame: bytes) -> bool:
    """Return whether a non-empty frame is a close frame."""
    return frame[0] & 0x0F == _CLOSE


class FrameSplitter:
    """Splits a client's bytes into frames without parsing payloads.

    Args:
        max_message_size: maximum size in bytes of the payloads of one message.
    """

    def __init__(self, max_message_size: int) -> None:
        self._max_message_size = max_message_size
        self._buffer = bytearray()
        self._skip = 0
        self._message = 0
        self._fragments = 0
        self.broken = False
        """Whether a header was invalid: nothing after it can be understood."""

    def feed(self, data: bytes | bytearray) -> None:
        """Add received bytes."""
        self._buffer += data

    def next_frame(self) -> tuple[bytes, int | None] | None:
        """Return a complete frame, and with the last frame of a message the message size in bytes.

        Returns None if more bytes are needed. From the first invalid frame on, all remaining bytes
        count as one frame. Raises `TooBig` as soon as the header of a frame shows it.
        """
        header = self._header()
        if header is None:
            if not self.broken or not self._buffer:
                return None
            rest = bytes(self._buffer)
            self._buffer.clear()
            return rest, None
        first, begin, length = header
        control = first & 0x08
        message = self._message + (0 if control else length)
        if message > self._max_message_size:
            raise TooBig(f"a message may have at most {self._max_message_size} bytes")
        if self._fragments == MAX_FRAGMENTS and not control:
            raise TooBig(f"a message may have at most {MAX_FRAGMENTS} fragments")
        end = begin + length
        if len(self._buffer) < end:
            return None
        frame = bytes(memoryview(self._buffer)[:end])
        del self._buffer[:end]
        if control:
            return frame, None
        if not first & _FIN:
            self._message = message
            self._fragments += 1
            return frame, None
        self._message = self._fragments = 0
        return frame, message

    def skip_to_close(self) -> bool:
        """Discard the bytes before a close frame; return whether there is one.

        Frames are discarded incrementally, so their size does not matter.
        """
        while True:
            skipped = min(self._skip, len(self._buffer))
            del self._buffer[:skipped]
            self._skip -= skipped
            header = None if self._skip else self._header()
            if header is None:
                if self.broken:
                    self._buffer.clear()
                return False
            first, begin, length = header
            if first & 0x0F == _CLOSE:
                return True
            self._skip = begin + length

    def _header(self) -> tuple[int, int, int] | None:
        """Return the first byte, the header size and the payload size."""
        buffer = self._buffer
        if self.broken or len(buffer) < 2:
            return None
        first, second = buffer[0], buffer[1]
        length = second & 0x7F
        opcode = first & 0x0F
        control = opcode & 0x08
        if (
            first & 0x70
            or opcode not in _OPCODES
            or not second & 0x80
            or (control and (length > 125 or not first & _FIN))
        ):
            self.broken = True
            return None
        begin = 2
        if length >= 126:
            extended = 2 if length == 126 else 8
            begin += extended
            if len(buffer) < begin:
                return None
            length = int.from_bytes(buffer[2:begin], "big")
        return first, begin + _MASK_SIZE, length
