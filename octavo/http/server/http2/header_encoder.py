"""Compress response headers with HPACK (RFC 7541).

Most responses of a server have the same headers, so most fields are one byte: their index in the
table of the connection. What differs from response to response is sent as it is, without Huffman
coding, which takes long in Python, and stays out of the table.
"""

import re
from collections import deque
from collections.abc import Iterable
from functools import lru_cache

from hpack.table import HeaderTable

from octavo.http.server.response import HOP_BY_HOP, InvalidResponse

TABLE_SIZE = 4096
"""The largest table that is used, in bytes: that which every client has by default."""

_STATIC_LENGTH = len(HeaderTable.STATIC_TABLE)
_STATUSES = {
    int(value): bytes((0x80 | index,))
    for index, (name, value) in enumerate(HeaderTable.STATIC_TABLE, 1)
    if name == b":status"
}
_NAMES: dict[bytes, int] = {}
for _index, (_name, _) in enumerate(HeaderTable.STATIC_TABLE, 1):
    _NAMES.setdefault(_name, _index)
_STATUS_NAME = _NAMES[b":status"]
# Different in most responses.
_UNIQUE = frozenset(
    (
        b"content-length",
        b"content-range",
        b"etag",
        b"last-modified",
        b"location",
        b"x-request-id",
    )
)
# In no table either, not even that of a proxy (RFC 7541 section 7.1.3).
_SECRET = frozenset((b"set-cookie", b"authorization"))
_LONGEST_VALUE = 1024
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9a-z-]+")
_BREAK = re.compile(rb"[\r\n\0]")


class HeaderEncoder:
    """The compression of one connection, in the order of its response heads."""

    __slots__ = ("_entries", "_inserted", "_numbers", "_size", "_smallest", "_table_size", "_used")

    def __init__(self) -> None:
        # The entries of the table by their number, the oldest first.
        self._numbers: dict[tuple[bytes, bytes], int] = {}
        self._entries: deque[tuple[tuple[bytes, bytes], int]] = deque()
        self._inserted = 0
        self._used = 0
        self._table_size = self._size = TABLE_SIZE
        # Set while the client has to be notified of a new size.
        self._smallest: int | None = None

    def resize(self, size: int) -> None:
        """Use a table of at most ``size`` bytes, as the client demands."""
        size = min(size, TABLE_SIZE)
        if size == self._table_size and self._smallest is None:
            return
        self._smallest = size if self._smallest is None else min(self._smallest, size)
        self._table_size = size

    def encode(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
        """Return the block of a response head; headers of the connection are left out.

        Raises `InvalidResponse` for an invalid header.
        """
        block = bytearray()
        if self._smallest is not None:
            self._begin_resized(block)
        known = _STATUSES.get(status)
        if known is None:
            known = _literal(0x00, 4, _STATUS_NAME, b"", b"%d" % status)
        block += known
        numbers = self._numbers
        newest = _STATIC_LENGTH + self._inserted
        try:
            for header in headers:
                number = numbers.get(header)
                if number is None:
                    self._add(block, header)
                    newest = _STATIC_LENGTH + self._inserted
                elif newest - number < 127:
                    block.append(0x80 | newest - number)
                else:
                    block += _integer(0x80, 7, newest - number)
        except InvalidResponse:
            # The client never sees this block: both begin with an empty table again.
            self._smallest = 0
            raise
        return bytes(block)

    def _begin_resized(self, block: bytearray) -> None:
        assert self._smallest is not None
        self._size = self._smallest
        self._evict(0)
        # RFC 7541 section 4.2: the smallest size first, which empties the table that far.
        block += _integer(0x20, 5, self._smallest)
        if self._table_size != self._smallest:
            block += _integer(0x20, 5, self._table_size)
        self._size, self._smallest = self._table_size, None

    def _add(self, block: bytearray, header: tuple[bytes, bytes]) -> None:
        """Encode a field that is not in the table."""
        name, value = header
        if name in HOP_BY_HOP:
            return
        if _BREAK.search(value):
            raise InvalidResponse("a header of the response contains a line break or NUL")
        lower = name.lower()
        if not _NAME.fullmatch(lower):
            raise InvalidResponse("a header of the response has an invalid name")
        value = value.strip(b" \t")
        index = _NAMES.get(lower, 0)
        if lower in _SECRET:
            block += _literal(0x10, 4, index, lower, value)
        elif lower in _UNIQUE or len(value) > _LONGEST_VALUE:
            block += _literal(0x00, 4, index, lower, value)
        else:
            block += _literal(0x40, 6, index, lower, value)
            size = len(lower) + len(value) + 32
            self._evict(size)
            if size <= self._size:
                # By the field as it is given, so that it is found again.
                self._entries.append((header, size))
                self._numbers[header] = self._inserted
                self._used += size
                self._inserted += 1

    def _evict(self, room: int) -> None:
        while self._entries and self._used + room > self._size:
            oldest, size = self._entries.popleft()
            del self._numbers[oldest]
            self._used -= size


def _literal(pattern: int, bits: int, index: int, name: bytes, value: bytes) -> bytes:
    named = b"" if index else _integer(0, 7, len(name)) + name
    return _integer(pattern, bits, index) + named + _integer(0, 7, len(value)) + value


# The same few lengths and indices occur in all responses.
@lru_cache(maxsize=1024)
def _integer(pattern: int, bits: int, value: int) -> bytes:
    """Return ``value`` in a prefix of ``bits`` bits after ``pattern`` (RFC 7541 section 5.1)."""
    most = (1 << bits) - 1
    if value < most:
        return bytes((pattern | value,))
    encoded = bytearray((pattern | most,))
    value -= most
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
