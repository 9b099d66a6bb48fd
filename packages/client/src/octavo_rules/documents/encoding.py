"""Integers and state vectors as Yjs encodes them.

An integer takes seven bits a byte, the lowest first. A state vector says how much of a document a
replica has: a client numbers what it writes, one clock per UTF-16 code unit of text, and the
vector has the next clock of each client. The replica has everything below it.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TypeAlias

from octavo_rules.problems import DocumentMalformed

CLIENT_BOUND = 1 << 53
"""Client ids are below it: JavaScript represents every integer up to there exactly."""

CLOCK_BOUND = 1 << 31
"""Clocks and ends of runs are below it: pycrdt subtracts clocks as signed 32-bit integers."""

# 53 bits take eight bytes of seven.
_LAST_SHIFT = 49
_LAST_OF_A_NUMBER = 0x7F
_NUMBER = re.compile(rb"[\x80-\xff]*[\x00-\x7f]")
_numbers_in = _NUMBER.findall

LONG_BYTES = 16_384
"""Reading a longer state vector, of 2,400 clients or more, takes several milliseconds."""

LONGEST_BYTES = 524_288
"""More clients would have more history than a document may have."""

NO_CLIENTS = b"\0"
"""The state vector of an empty document."""

StateVector: TypeAlias = Mapping[int, int]
"""Client ids and their next clocks; a client that is absent has written nothing."""


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the integer at ``at``, which is below 2^53, and the offset after it.

    Raises `DocumentMalformed` for a larger integer and for one not in its shortest form, so that
    every accepted value has one encoding; IndexError if ``data`` ends within it.
    """
    byte = data[at]
    if byte < 128:
        return byte, at + 1
    value, shift = byte & 127, 7
    while True:
        at += 1
        byte = data[at]
        value |= (byte & 127) << shift
        if byte < 128:
            break
        shift += 7
        if shift > _LAST_SHIFT:
            raise DocumentMalformed(
                "A number takes more than 53 bits: send what the Yjs library encoded, unchanged."
            )
    if byte == 0 or value >= CLIENT_BOUND:
        raise DocumentMalformed(
            "A number is not in its shortest form or takes more than 53 bits: send what the Yjs "
            "library encoded, unchanged."
        )
    return value, at + 1


def write_varint(value: int) -> bytes:
    """Return the shortest encoding of ``value``, which is zero or more."""
    written = bytearray()
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    written.append(value)
    return bytes(written)


def read_state_vector(data: bytes) -> dict[int, int]:
    """Return the state vector that ``data`` encodes in the format of Yjs (version 1).

    Raises `DocumentMalformed` for anything else: truncated data, trailing bytes, a duplicate
    client, a client id of 2^53 or more, a clock of 2^31 or more; and for more than
    `LONGEST_BYTES`.
    """
    if len(data) > LONGEST_BYTES:
        raise DocumentMalformed(
            f"The state vector has {len(data)} bytes; the maximum is {LONGEST_BYTES}. Leave it out"
            " to get the whole document."
        )
    # Otherwise the search for numbers would take quadratic time.
    if not data or data[-1] > _LAST_OF_A_NUMBER:
        raise _truncated()
    # Each number takes a byte at least.
    if 2 * read_varint(data, 0)[0] >= len(data):
        raise _truncated()
    if len(data) <= LONG_BYTES:
        encoded: Iterable[bytes] = _numbers_in(data)
    else:
        # Other threads run meanwhile.
        encoded = (match[0] for match in _NUMBER.finditer(data))
    count, *numbers = [number[0] if len(number) == 1 else _number(number) for number in encoded]
    if len(numbers) < 2 * count:
        raise _truncated()
    if len(numbers) > 2 * count:
        raise DocumentMalformed("Bytes follow the state vector: send it alone.")
    clocks = numbers[1::2]
    vector = dict(zip(numbers[::2], clocks, strict=True))
    if len(vector) < count:
        raise DocumentMalformed("A client appears twice in the state vector: encode it again.")
    if clocks and max(clocks) >= CLOCK_BOUND:
        raise DocumentMalformed(
            "A clock of the state vector takes more than 31 bits: encode it again."
        )
    return vector


# The ids of the same clients, of seven or eight bytes, come with each save.
@lru_cache(maxsize=4096)
def _number(encoded: bytes) -> int:
    return read_varint(encoded, 0)[0]


def _truncated() -> DocumentMalformed:
    return DocumentMalformed("The state vector is truncated: send all of its bytes.")


def write_state_vector(vector: StateVector) -> bytes:
    """Return ``vector`` in the encoding of Yjs (version 1), the highest client first."""
    numbers = [len(vector)]
    for client in sorted(vector, reverse=True):
        numbers += client, vector[client]
    return b"".join(map(write_varint, numbers))
