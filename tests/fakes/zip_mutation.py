"""Mutations of zip archives, most of which keep the structure of the file."""

import random
import struct

_SIGNATURES = (b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07")
_VALUES = (0, 1, 8, 0x7F, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF)


def mutated(rng: random.Random, data: bytes) -> bytes:
    """Change fields of headers, or change, remove, insert or repeat bytes anywhere."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at, length = rng.randrange(len(changed)), rng.choice((1, 1, 2, 4, 30))
        match rng.randrange(7):
            case 0:
                changed[at] ^= 1 << rng.randrange(8)
            case 1 if len(changed) > length + 20:
                del changed[at : at + length]
            case 2:
                changed[at:at] = changed[at : at + length * 8]
            case 3:
                changed[at : at + length] = rng.randbytes(length)
            case _:
                _change_field(rng, changed)
    return bytes(changed)


def _change_field(rng: random.Random, changed: bytearray) -> None:
    headers = [at for each in _SIGNATURES for at in _places(changed, each)]
    if not headers:
        return
    at = rng.choice(headers) + rng.randrange(4, 56)
    form = rng.choice(("<B", "<H", "<L", "<Q"))
    size = struct.calcsize(form)
    if at + size > len(changed):
        return
    old = struct.unpack_from(form, changed, at)[0]
    value = rng.choice((*_VALUES, old + 1, old - 1, old ^ 8, rng.getrandbits(16)))
    struct.pack_into(form, changed, at, value % (1 << 8 * size))


def _places(data: bytearray, signature: bytes) -> list[int]:
    found, at = [], data.find(signature)
    while at >= 0:
        found.append(at)
        at = data.find(signature, at + 1)
    return found
