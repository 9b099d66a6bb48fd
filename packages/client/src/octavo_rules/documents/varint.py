"""Variable-length integers as Yjs encodes them: seven bits a byte, the lowest first."""

from octavo_rules.refusal import DocumentMalformed

CLIENT_BOUND = 1 << 53
"""Client ids are below it: JavaScript represents every integer up to there exactly."""

CLOCK_BOUND = 1 << 31
"""Clocks and ends of runs are below it: pycrdt subtracts clocks as signed 32-bit integers."""

# 53 bits take eight bytes of seven.
_LAST_SHIFT = 49


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
