"""What things are known by: identifiers that must not be mixed up.

Identifiers are lower-case hyphenated UUIDs as text; whoever takes one from outside checks it.

Identifiers that sort by the time they were made: UUIDs of version 7 (RFC 9562 section 5.7).
"""

from typing import NewType

AccountId = NewType("AccountId", str)
WorkspaceId = NewType("WorkspaceId", str)
FileId = NewType("FileId", str)
RevisionId = NewType("RevisionId", str)
ContentId = NewType("ContentId", str)
"""The revision that brought a content first; those that only move or restore it name it, too."""
MutationId = NewType("MutationId", str)
Position = NewType("Position", int)
"""The place of a changeset in the order of its workspace: 1, 2, 3, … without gaps; 0 is before
the first."""
Epoch = NewType("Epoch", str)
"""A generation of a note's document: the id of the revision that it began with."""
Digest = NewType("Digest", str)
"""A SHA-256 digest, as 64 hexadecimal digits in lower case."""


RANDOM_BYTES = 10
_VERSION = 0x7000
_VARIANT = 0x80
_LATEST = (1 << 48) - 1


def uuid7(milliseconds: int, entropy: bytes) -> str:
    """Return the identifier for a moment of Unix time and `RANDOM_BYTES` of randomness.

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
