"""The frames of HTTP/2 (RFC 9113 section 4), and the errors of connections and streams."""

from enum import IntEnum

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""The first bytes of a client (RFC 9113 section 3.4)."""
FRAME_HEAD = 9
"""Bytes before the payload of a frame."""
FRAME_SIZE = 16 * 1024
"""The largest payload that is accepted, and sent: the smallest that every peer accepts."""
WINDOW = 65_535
"""The initial window of a connection, and of a stream unless a setting changes it."""
LARGEST_WINDOW = 2**31 - 1

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS = 0, 1, 2, 3, 4
PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 5, 6, 7, 8, 9

ACK = END_STREAM = 0x1
END_HEADERS = 0x4
PADDED = 0x8
HAS_PRIORITY = 0x20

HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS = 1, 2, 3
INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE = 4, 5, 6


class ErrorCode(IntEnum):
    """The error codes of RST_STREAM and GOAWAY (RFC 9113 section 7)."""

    NO_ERROR = 0
    PROTOCOL_ERROR = 1
    INTERNAL_ERROR = 2
    FLOW_CONTROL_ERROR = 3
    SETTINGS_TIMEOUT = 4
    STREAM_CLOSED = 5
    FRAME_SIZE_ERROR = 6
    REFUSED_STREAM = 7
    CANCEL = 8
    COMPRESSION_ERROR = 9
    CONNECT_ERROR = 10
    ENHANCE_YOUR_CALM = 11
    INADEQUATE_SECURITY = 12
    HTTP_1_1_REQUIRED = 13


class Http2Error(Exception):
    """The client broke the protocol, which ends its connection (RFC 9113 section 5.4.1)."""

    def __init__(self, code: ErrorCode, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class StreamError(Exception):
    """The client broke the protocol on one stream, which is reset (RFC 9113 section 5.4.2)."""

    def __init__(self, code: ErrorCode, reason: str) -> None:
        super().__init__(reason)
        self.code = code


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """Return one encoded frame."""
    return b"%b%c%c%b%b" % (
        len(payload).to_bytes(3),
        kind,
        flags,
        stream.to_bytes(4),
        payload,
    )


def frame_head(size: int, kind: int, flags: int, stream: int) -> bytes:
    """Return the head of a frame whose payload has ``size`` bytes."""
    return (size << 48 | kind << 40 | flags << 32 | stream).to_bytes(FRAME_HEAD)


def without_padding(flags: int, payload: bytes) -> bytes:
    """Return ``payload`` without its padding. Raises `Http2Error` (RFC 9113 section 6.1)."""
    if not flags & PADDED:
        return payload
    if not payload:
        raise Http2Error(ErrorCode.FRAME_SIZE_ERROR, "a padded frame without a length of padding")
    padding = payload[0]
    if padding >= len(payload):
        raise Http2Error(ErrorCode.PROTOCOL_ERROR, "padding that is longer than its frame")
    return payload[1 : len(payload) - padding]
