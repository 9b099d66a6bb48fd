"""Identifiers that sort by the time they were made: UUIDs of version 7 (RFC 9562 section 5.7)."""

RANDOM_BYTES = 10
_VERSION = 7 << 76
_VARIANT = 2 << 62
_LATEST = (1 << 48) - 1


def uuid7(milliseconds: int, entropy: bytes) -> str:
    """Answer the identifier for a moment of Unix time and `RANDOM_BYTES` of randomness.

    Raises ValueError for a moment that 48 bits don't hold, and for too little randomness.
    """
    if not 0 <= milliseconds <= _LATEST:
        raise ValueError(f"{milliseconds} ms can't stand in an identifier")
    if len(entropy) != RANDOM_BYTES:
        raise ValueError(f"{RANDOM_BYTES} bytes of randomness are needed, not {len(entropy)}")
    random = int.from_bytes(entropy, "big")
    # 12 bits behind the version, 62 behind the variant; six of the 80 are left over.
    high, low = random >> 68, random & ((1 << 62) - 1)
    text = f"{(milliseconds << 80) | _VERSION | (high << 64) | _VARIANT | low:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
