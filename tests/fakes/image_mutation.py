"""Mutations of image files, most of which keep the structure of the file."""

import random
import struct
import zlib


def mutated(rng: random.Random, data: bytes) -> bytes:
    """Change, remove, insert or repeat bytes; in a PNG file with the right checksums, mostly."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 5, 20))):
        at, length = rng.randrange(len(changed)), rng.choice((1, 1, 2, 4, 30))
        match rng.randrange(5):
            case 0:
                changed[at] ^= 1 << rng.randrange(8)
            case 1:
                changed[at : at + length] = rng.randbytes(length)
            case 2 if len(changed) > length + 20:
                del changed[at : at + length]
            case 3:
                changed[at:at] = changed[at : at + length * 8]
            case _:
                changed[at : at + length] = rng.choice((b"\0", b"\xff")) * length
    if data.startswith(b"\x89PNG") and rng.random() < 0.8:
        return with_checksums(bytes(changed))
    return bytes(changed)


def with_checksums(png: bytes) -> bytes:
    fixed, at = png[:8], 8
    while at + 12 <= len(png):
        end = at + 8 + int.from_bytes(png[at : at + 4])
        fixed += png[at:end] + struct.pack(">I", zlib.crc32(png[at + 4 : end]))
        at = end + 4
    return fixed
