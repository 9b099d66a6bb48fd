"""Refusals: the reasons why a change is not accepted, each with a stable code.

A refused change is not applied, not even in part; its detail says what to do. Those that the client
knows as well are in `octavo_rules.refusal`.

::

    DomainError
     ├ InvalidPath        the path is invalid or not portable
     ├ PathConflict       another live file has the path
     ├ InvalidGraph       a file conflicts with a folder
     ├ TooManyFiles       the changeset has too many operations
     ├ HeadMoved          a head is not the expected one
     ├ HeadNotNamed       a file exists, and its head was not named
     ├ FileMissing        the file does not exist, or is deleted
     ├ FileExists         the id belongs to another file
     ├ FileLive           the file is live, and must be deleted for the operation
     ├ FilePurged         the file was purged, and its id can't be reused
     ├ OutsideFolder      the credential is limited to a folder, and the change is not
     ├ MutationReused     the mutation id belongs to another change
     └ UnrenderableNote   the text exceeds a limit of the Markdown grammar
"""

from collections.abc import Mapping

from octavo_rules.identity import FileId, RevisionId
from octavo_rules.refusal import DomainError


class InvalidPath(DomainError):
    """The path is invalid or not portable across operating systems."""

    code = "invalid_path"


class PathConflict(DomainError):
    """Another live file occupies the path."""

    code = "path_conflict"


class InvalidGraph(DomainError):
    """A file has the path of a folder, or a folder the path of a file."""

    code = "invalid_graph"


class TooManyFiles(DomainError):
    """The changeset has more operations than allowed."""

    code = "too_many_files"


class FileMissing(DomainError):
    """The file does not exist, or is deleted."""

    code = "not_found"


class FileExists(DomainError):
    """The id already belongs to a file, live or deleted."""

    code = "file_exists"


class FileLive(DomainError):
    """The file is live; only a deleted file can be restored or purged."""

    code = "file_live"


class FilePurged(DomainError):
    """The file was purged, and its id can't be used again."""

    code = "file_purged"

    def __init__(self, detail: str = "The file was purged; its id cannot be used again.") -> None:
        super().__init__(detail)


class OutsideFolder(DomainError):
    """The credential is limited to a folder, and the change concerns more than that."""

    code = "insufficient_scope"


class MutationReused(DomainError):
    """The mutation id belongs to another change."""

    code = "mutation_reused"

    def __init__(self, detail: str = "This mutationId was used for another change.") -> None:
        super().__init__(detail)


class HeadNotNamed(DomainError):
    """The file exists, but the change does not name its head."""

    code = "if_match_required"


class HeadMoved(DomainError):
    """At least one head is not the expected one.

    Attributes:
        heads: every file that changed, in the order of the changeset, with the revision that is
            its head now.
    """

    code = "head_moved"

    def __init__(self, heads: Mapping[FileId, RevisionId]) -> None:
        super().__init__(
            "The files named in fileIds have changed since they were read. Read them again, "
            "then send the change again."
        )
        self.heads = dict(heads)

    @property
    def file_ids(self) -> tuple[FileId, ...]:
        """The changed files, in the order of the changeset."""
        return tuple(self.heads)


class UnrenderableNote(DomainError):
    """The text exceeds a limit of the Markdown grammar.

    Attributes:
        limit: the name of the limit.
        maximum: the value of the limit.
        found: the value for the text, or a partial count if counting stopped early.
    """

    code = "unrenderable_note"

    def __init__(self, detail: str, *, limit: str, maximum: int, found: int) -> None:
        super().__init__(detail)
        self.limit = limit
        self.maximum = maximum
        self.found = found
