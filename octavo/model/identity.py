"""What things are known by: identifiers that must not be mixed up.

Identifiers are lower-case hyphenated UUIDs as text; whoever takes one from outside checks it.
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
