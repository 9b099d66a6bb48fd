"""Identifiers as distinct types, and UUIDs of version 7 (RFC 9562 section 5.7) to create them.

Identifiers are lower-case hyphenated UUIDs as text, and sort by their creation time. Code that
accepts them from outside must validate them.
"""

from typing import Final, Literal, NamedTuple, NewType

AccountId = NewType("AccountId", str)
WorkspaceId = NewType("WorkspaceId", str)
FileId = NewType("FileId", str)
RevisionId = NewType("RevisionId", str)
ContentId = NewType("ContentId", str)
"""The revision that introduced a content; later revisions that keep it refer to it."""
MutationId = NewType("MutationId", str)
Position = NewType("Position", int)
"""The place of a changeset in its workspace: 1, 2, 3, … without gaps; 0 means before the first."""
NO_MARK = RevisionId("00000000-0000-0000-0000-000000000000")
"""The mark of position 0."""


class Cursor(NamedTuple):
    """A position in the history of a workspace, and its mark.

    The mark is the id of a revision that the changeset at the position made. A position alone can
    be assigned twice: after a restored backup, or a failover that lost commits. A mark can't.
    """

    position: Position
    mark: RevisionId


START = Cursor(Position(0), NO_MARK)
"""The beginning of every history."""

ProgramNumber = NewType("ProgramNumber", int)
"""A program that changes notes by the MCP endpoint, under the name that it had then."""
Epoch = NewType("Epoch", str)
"""An epoch of a note's document: the id of the revision that started it."""
Digest = NewType("Digest", str)
"""A SHA-256 digest, as 64 hexadecimal digits in lower case."""


RANDOM_BYTES = 10
_VERSION_AND_VARIANT = 0x7000_8000 << 48
# The version replaces four bits, the variant two.
_RANDOM = 0x0FFF_3FFF_FFFF_FFFF_FFFF
_LATEST = (1 << 48) - 1


def uuid7(milliseconds: int, entropy: bytes) -> str:
    """Return the identifier for Unix time in milliseconds and `RANDOM_BYTES` of entropy.

    Raises ValueError for a time that does not fit into 48 bits, and for wrong entropy.
    """
    if not 0 <= milliseconds <= _LATEST:
        raise ValueError(f"{milliseconds} ms does not fit into an identifier")
    if len(entropy) != RANDOM_BYTES:
        raise ValueError(f"{RANDOM_BYTES} bytes of entropy are needed, not {len(entropy)}")
    number = milliseconds << 80 | int.from_bytes(entropy, "big") & _RANDOM | _VERSION_AND_VARIANT
    digits = f"{number:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


Scope = Literal["notes:read", "notes:write"]

READ: Final[Scope] = "notes:read"
WRITE: Final[Scope] = "notes:write"
SCOPES: Final[tuple[Scope, ...]] = (READ, WRITE)
