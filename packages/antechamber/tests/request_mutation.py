"""Bytes that no client would send: well-formed input, mutated by a seeded generator."""

import random
from collections.abc import Sequence

_TOKENS = (
    b"\r\n",
    b"\n",
    b"\r",
    b"\0",
    b" ",
    b"\t",
    b":",
    b"%",
    b"0\r\n\r\n",
    b"\r\n\r\n",
    b"HTTP/1.1",
    b"HTTP/1.0",
    b"GET / HTTP/1.1\r\nhost: a\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"content-length: 5\r\n",
    b"content-length: 0\r\n",
    b"transfer-encoding: chunked\r\n",
    b"connection: close\r\n",
    b"connection: upgrade\r\nupgrade: websocket\r\n",
    b"expect: 100-continue\r\n",
    b"host: b\r\n",
    b"ffffffffffffffff",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff\xff\xff\xff\xff",
    b"\x80",
)


def mutate(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """Return ``data`` with one to five changes; some insert parts of ``others``."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 5))):
        at = rng.randrange(len(changed) + 1)
        to = min(len(changed), at + rng.choice((1, 1, 2, 4, 8, 16, 64)))
        match rng.randrange(9):
            case 0 if changed:
                place = rng.randrange(len(changed))
                changed[place] ^= 1 << rng.randrange(8)
            case 1 if changed:
                changed[rng.randrange(len(changed))] = rng.randrange(256)
            case 2:
                changed[at:at] = rng.choice(_TOKENS)
            case 3:
                del changed[at:to]
            case 4:
                changed[at:at] = changed[at:to] * rng.choice((1, 2, 50))
            case 5:
                del changed[at:]
            case 6:
                other = rng.choice(others)
                begin = rng.randrange(len(other) + 1)
                changed[at:at] = other[begin : begin + rng.randrange(1, 200)]
            case 7:
                changed[at:to] = rng.choice(_TOKENS)
            case _:
                changed[at:at] = rng.randbytes(rng.choice((1, 2, 8, 300)))
    return bytes(changed)
