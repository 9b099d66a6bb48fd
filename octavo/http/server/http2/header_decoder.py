"""Decompress request headers with HPACK (RFC 7541), strictly and within limits."""

from collections import deque

from hpack.exceptions import HPACKDecodingError
from hpack.huffman_table import decode_huffman
from hpack.table import HeaderTable

from octavo.http.server.http2.frames import ErrorCode, Http2Error

Field = tuple[bytes, bytes]

TABLE_SIZE = 4096
"""The size of the table, in bytes: the default of the setting."""

_STATIC: tuple[Field, ...] = ((b"", b""), *HeaderTable.STATIC_TABLE)
_DYNAMIC = len(HeaderTable.STATIC_TABLE) + 1
"""The first index of the table of the connection."""
_FIELD_COST = 32
# Continuation bytes of an integer: larger ones than 2^28 are of no use.
_LONGEST_INTEGER = 4


class HeaderDecoder:
    """The decompression of one connection, in the order of its header blocks.

    A block may stand for ``most_bytes`` of headers, counted as in the settings of HTTP/2 (RFC 9113
    section 6.5.2).
    """

    __slots__ = ("_entries", "_most_bytes", "_size", "_used")

    def __init__(self, most_bytes: int) -> None:
        self._entries: deque[Field] = deque()
        self._used = 0
        self._size = TABLE_SIZE
        self._most_bytes = most_bytes

    def decode(self, block: bytes) -> list[Field]:
        """Return the fields of ``block``.

        Raises `Http2Error`: COMPRESSION_ERROR, or ENHANCE_YOUR_CALM when it stands for too much.
        The connection cannot be used afterwards.
        """
        try:
            return self._decode(block)
        except (IndexError, HPACKDecodingError):
            raise _malformed("a header block that is cut off, or wrongly coded") from None

    def _decode(self, block: bytes) -> list[Field]:
        fields: list[Field] = []
        entries = self._entries
        at, end = 0, len(block)
        left = self._most_bytes
        while at < end:
            byte = block[at]
            if byte & 0x80:
                if byte == 0xFF:
                    index, at = _integer(block, at, 7)
                else:
                    index, at = byte & 0x7F, at + 1
                field = entries[index - _DYNAMIC] if index >= _DYNAMIC else _STATIC[index]
                if not index:
                    raise _malformed("the index 0")
            elif byte & 0xE0 == 0x20:
                if fields:
                    raise _malformed("a table size behind a field")
                size, at = _integer(block, at, 5)
                if size > TABLE_SIZE:
                    raise _malformed("a table size over the limit")
                self._size = size
                self._evict(0)
                continue
            else:
                index, at = _integer(block, at, 6 if byte & 0x40 else 4)
                if index:
                    name = (entries[index - _DYNAMIC] if index >= _DYNAMIC else _STATIC[index])[0]
                else:
                    name, at = _string(block, at)
                value, at = _string(block, at)
                field = (name, value)
                if byte & 0x40:
                    cost = len(name) + len(value) + _FIELD_COST
                    self._evict(cost)
                    if cost <= self._size:
                        entries.appendleft(field)
                        self._used += cost
            left -= len(field[0]) + len(field[1]) + _FIELD_COST
            if left < 0:
                raise Http2Error(ErrorCode.ENHANCE_YOUR_CALM, "the headers are too large")
            fields.append(field)
        return fields

    def _evict(self, room: int) -> None:
        while self._entries and self._used + room > self._size:
            name, value = self._entries.pop()
            self._used -= len(name) + len(value) + _FIELD_COST


def _malformed(reason: str) -> Http2Error:
    return Http2Error(ErrorCode.COMPRESSION_ERROR, reason)


def _integer(block: bytes, at: int, bits: int) -> tuple[int, int]:
    """Return the integer at ``at``, and the position after it (RFC 7541 section 5.1)."""
    most = (1 << bits) - 1
    value = block[at] & most
    at += 1
    if value < most:
        return value, at
    for shift in range(0, 7 * _LONGEST_INTEGER, 7):
        byte = block[at]
        at += 1
        value += (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, at
    raise _malformed("an integer that is too large")


def _string(block: bytes, at: int) -> tuple[bytes, int]:
    """Return the string at ``at``, and the position after it (RFC 7541 section 5.2)."""
    coded = block[at] & 0x80
    size, at = _integer(block, at, 7)
    end = at + size
    if end > len(block):
        raise _malformed("a string that is cut off")
    return decode_huffman(block[at:end]) if coded else block[at:end], end
