"""Parse a server's output as a strict client would: complete, valid responses and nothing else."""

import re
import struct

_STATUS = re.compile(rb"HTTP/1\.1 ([1-5][0-9][0-9]) [\x20-\x7e]*")
_HEADER = re.compile(rb"([A-Za-z0-9!#$%&'*+.^_`|~-]+): ([\x20-\x7e\x80-\xff]*)")
#: The header in which the application under test repeats the method of the request.
METHOD = b"x-method"


class InvalidResponse(Exception):
    """The received bytes are not a sequence of complete, valid responses."""


def read_responses(data: bytes, *, heads: bool = False) -> tuple[list[int], bytes]:
    """Return the statuses of the responses in ``data``, and what follows a 101.

    With ``heads`` the last response may be the server's own to a HEAD, without a body.
    Raises `InvalidResponse` for anything but complete, valid responses in sequence.
    """
    statuses = []
    while data:
        head, end, data = data.partition(b"\r\n\r\n")
        if not end:
            raise InvalidResponse(f"a head that does not end: {head[:80]!r}")
        lines = head.split(b"\r\n")
        status = _STATUS.fullmatch(lines[0])
        if status is None:
            raise InvalidResponse(f"no status line: {lines[0][:80]!r}")
        headers: dict[bytes, bytes] = {}
        for line in lines[1:]:
            header = _HEADER.fullmatch(line)
            if header is None:
                raise InvalidResponse(f"no header: {line[:80]!r}")
            name = header[1].lower()
            if name in headers and name.startswith(b"content-"):
                raise InvalidResponse(f"a second {name!r}")
            headers[name] = header[2]
        statuses.append(int(status[1]))
        if statuses[-1] == 101:
            return statuses, data
        if statuses[-1] in (100, 204, 304) or headers.get(METHOD) == b"HEAD":
            continue
        if heads and not data and headers.get(b"connection") == b"close":
            break
        data = _after_body(headers, data)
    return statuses, b""


def _after_body(headers: dict[bytes, bytes], data: bytes) -> bytes:
    if b"content-length" in headers:
        length = int(headers[b"content-length"])
        if len(data) < length or b"transfer-encoding" in headers:
            raise InvalidResponse("a body that is shorter than its length")
        return data[length:]
    if headers.get(b"transfer-encoding") != b"chunked":
        # Delimited by the close: only HTTP/1.0 gets that.
        if headers.get(b"connection") != b"close":
            raise InvalidResponse("a body without a frame")
        return b""
    while True:
        size, end, data = data.partition(b"\r\n")
        if not end:
            raise InvalidResponse("chunks that do not end")
        length = int(size, 16)
        if data[length : length + 2] != b"\r\n":
            raise InvalidResponse("a chunk that does not end")
        data = data[length + 2 :]
        if not length:
            return data


def check_websocket_frames(data: bytes) -> None:
    """Raise `InvalidResponse` unless ``data`` is whole frames of a server (RFC 6455 section 5)."""
    while data:
        if len(data) < 2 or data[0] & 0x70 or data[1] & 0x80:
            raise InvalidResponse(f"no frame of a server: {data[:10]!r}")
        size, at = data[1], 2
        if size == 126:
            size, at = struct.unpack(">H", data[2:4])[0], 4
        elif size == 127:
            size, at = struct.unpack(">Q", data[2:10])[0], 10
        if data[0] & 0x0F not in (0, 1, 2, 8, 9, 10) or len(data) < at + size:
            raise InvalidResponse(f"no whole frame: {data[:10]!r}")
        data = data[at + size :]
