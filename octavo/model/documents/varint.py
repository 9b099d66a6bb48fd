"""Numbers of varying length, as Yjs writes them: seven bits a byte, the lowest first."""

from octavo.model.refusal import DocumentMalformed

CLIENT_BOUND = 1 << 53
"""Ids of clients lie below it: JavaScript holds every whole number up to there."""

CLOCK_BOUND = 1 << 31
"""Clocks lie below it, and no run reaches past it: pycrdt subtracts them as signed 32 bits."""

# 53 bits are eight bytes of seven.
_LAST_SHIFT = 49


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number that stands at ``at``, below 2^53, and where the next thing stands.

    Raises `DocumentMalformed` for a larger number and for one that was not written in the fewest
    bytes, so that what is accepted has one reading; IndexError where ``data`` ends within it.
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
    """Return ``value``, zero or more, in the fewest bytes."""
    written = bytearray()
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    written.append(value)
    return bytes(written)
