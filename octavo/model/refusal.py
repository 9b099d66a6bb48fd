"""Why a change can't be accepted: the tree of refusals, each with its stable code.

A refusal is an answer, not a failure: nothing was changed, and the caller is told what to do.

::

    Refusal
     ├ InvalidPath        a path that some system can't hold
     ├ PathConflict       a path that another live file occupies
     ├ InvalidGraph       a file where a folder is, or the other way round
     ├ InvalidContent     content that a file can't have
     ├ TooManyFiles       more operations than a changeset may have
     ├ HeadMoved          the head is not the expected one
     ├ FileMissing        no such file, or a deleted one
     ├ FileExists         the id of another file
     ├ FileLive           a live file, where only a deleted one can be changed so
     ├ FilePurged         a file whose id is used up
     ├ MutationReused     the identity of another change
     ├ EpochMismatch      an update for another generation of the document
     ├ DocumentMalformed  bytes that are no update
     ├ DocumentDependencyMissing  an update for what the document lacks
     ├ DocumentUnsupported  an update of more than the text
     ├ DocumentTooLarge   an update, or a document behind it, past its bound
     └ UnrenderableNote   a text past a limit of the Markdown grammar
"""

from collections.abc import Mapping
from typing import ClassVar

from octavo.model.identity import FileId, RevisionId


class DomainError(Exception):
    """A change that is not accepted; nothing of it was done.

    Attributes:
        code: the stable code of the problem, for programs.
        detail: what was wrong and what to do, for people.
        file_id: the file whose operation is refused; None where that is not told.
    """

    code: ClassVar[str]

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail
        self.file_id: FileId | None = None


class refused_for:  # noqa: N801  # used as a function is
    """Have a refusal that leaves the block tell the file that it is for.

    A class, as every operation passes here thrice, and a generator costs ten times as much.
    """

    __slots__ = ("_file_id",)

    def __init__(self, file_id: FileId) -> None:
        self._file_id = file_id

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, DomainError):
            error.file_id = self._file_id


class InvalidPath(DomainError):
    """The path is none that every system can hold."""

    code = "invalid_path"


class PathConflict(DomainError):
    """Another live file occupies the path."""

    code = "path_conflict"


class InvalidGraph(DomainError):
    """A file would stand where a folder is, or a folder where a file is."""

    code = "invalid_graph"


class InvalidContent(DomainError):
    """The content is none that the file can have."""

    code = "invalid_content"


class TooManyFiles(DomainError):
    """The changeset has more operations than one may have."""

    code = "too_many_files"


class FileMissing(DomainError):
    """There is no such file, or it is deleted."""

    code = "not_found"


class FileExists(DomainError):
    """The id belongs to a file already, live or deleted."""

    code = "file_exists"


class FileLive(DomainError):
    """The file is live, and only a deleted one can be restored or purged."""

    code = "file_live"


class FilePurged(DomainError):
    """The file was purged: its id can never be used again."""

    code = "file_purged"

    def __init__(self, detail: str = "The file was purged; its id cannot be used again.") -> None:
        super().__init__(detail)


class MutationReused(DomainError):
    """The identity belongs to another change."""

    code = "mutation_reused"

    def __init__(self, detail: str = "This mutationId was used for another change.") -> None:
        super().__init__(detail)


class HeadMoved(DomainError):
    """At least one head is not the expected one.

    Attributes:
        heads: every file that moved on, in the order of the changeset, with the revision that is
            its head now.
    """

    code = "head_moved"

    def __init__(self, heads: Mapping[FileId, RevisionId]) -> None:
        super().__init__(
            "The files named in fileIds have changed since they were read. Read them again, "
            "then send the change anew."
        )
        self.heads = dict(heads)

    @property
    def file_ids(self) -> tuple[FileId, ...]:
        """The files, in the order of the changeset."""
        return tuple(self.heads)


class EpochMismatch(DomainError):
    """The note holds another generation of its document than the update is for."""

    code = "epoch_mismatch"


class DocumentMalformed(DomainError):
    """The bytes are no update."""

    code = "document_malformed"


class DocumentDependencyMissing(DomainError):
    """The update names an insertion or a deletion that the document lacks."""

    code = "document_dependency_missing"


class DocumentUnsupported(DomainError):
    """The update writes more than the text of the note."""

    code = "document_unsupported"


class DocumentTooLarge(DomainError):
    """The update, or the document that it would make, passes a bound."""

    code = "document_too_large"


class UnrenderableNote(DomainError):
    """The text passes a limit of the Markdown grammar.

    Attributes:
        limit: name of the limit.
        maximum: what it allows.
        found: what the text has, or how much of it was counted when it was given up.
    """

    code = "unrenderable_note"

    def __init__(self, detail: str, *, limit: str, maximum: int, found: int) -> None:
        super().__init__(detail)
        self.limit = limit
        self.maximum = maximum
        self.found = found
