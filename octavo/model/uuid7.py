"""Identifiers that sort by the time they were made: UUIDs of version 7 (RFC 9562 section 5.7)."""

RANDOM_BYTES = 10
_VERSION = 0x7000
_VARIANT = 0x80
_LATEST = (1 << 48) - 1


def uuid7(milliseconds: int, entropy: bytes) -> str:
    """Answer the identifier for a moment of Unix time and `RANDOM_BYTES` of randomness.

    Raises ValueError for a moment that 48 bits don't hold, and for too little randomness.
    """
    if not 0 <= milliseconds <= _LATEST:
        raise ValueError(f"{milliseconds} ms can't stand in an identifier")
    if len(entropy) != RANDOM_BYTES:
        raise ValueError(f"{RANDOM_BYTES} bytes of randomness are needed, not {len(entropy)}")
    time, rest = f"{milliseconds:012x}", entropy[3:].hex()
    # The version takes the place of four bits, the variant that of two.
    version = f"{_VERSION | (entropy[0] & 0x0F) << 8 | entropy[1]:04x}"
    variant = f"{_VARIANT | entropy[2] & 0x3F:02x}"
    return f"{time[:8]}-{time[8:]}-{version}-{variant}{rest[:2]}-{rest[2:]}"
