"""Refusals: the reasons why a change is not accepted, each with a stable code.

A refused change is not applied, not even in part; its detail says what to do. Those that the client
knows as well are in `octavo_rules.problems`.

::

    Problem
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
from typing import ClassVar

from octavo_rules.identity import FileId, RevisionId
from octavo_rules.problems import TEXT, DescribedHeader, InsufficientScope, NotFound, Problem

from octavo.model.etag import entity_tag


class InvalidPath(Problem):
    """The path is invalid or not portable across operating systems."""

    status, code = 422, "invalid_path"
    summary = "The path is not portable across operating systems."
    remedy = (
        "Use a relative path with slashes between its names, in Unicode form NFC, without "
        "characters or names that Windows, macOS or Linux reserve, and without characters that "
        "nobody sees. The detail names the fault."
    )


class PathConflict(Problem):
    """Another live file occupies the path."""

    status, code = 409, "path_conflict"
    summary = "Another file has this path."
    remedy = (
        "Choose another path, or move or delete the other file first; one changeset can do both. "
        "Paths that differ only in case are the same path."
    )


class InvalidGraph(Problem):
    """A file has the path of a folder, or a folder the path of a file."""

    status, code = 422, "invalid_graph"
    summary = "A path cannot be both a file and a folder."
    remedy = "Choose a path that is not a folder of other files and not below a file."


class TooManyFiles(Problem):
    """The changeset has more operations than allowed."""

    status, code = 422, "too_many_files"
    summary = "The request names or changes too many files."
    remedy = "Split it into several requests; each changeset must be complete in itself."


class FileMissing(NotFound):
    """The file does not exist, or is deleted."""


class FileExists(Problem):
    """The id already belongs to a file, live or deleted."""

    status, code = 409, "file_exists"
    summary = "The id belongs to another file, live or deleted."
    remedy = "Choose a new id for a new file, or update or restore the existing one."


class FileLive(Problem):
    """The file is live; only a deleted file can be restored or purged."""

    status, code = 409, "file_live"
    summary = "The file is not deleted."
    remedy = (
        "Delete a file before you purge it. To restore an earlier text of a live file, name the "
        "revision."
    )


class FilePurged(Problem):
    """The file was purged, and its id can't be used again."""

    status, code = 410, "file_purged"
    summary = "The file was purged; its id cannot be used again."
    remedy = "Create a new file with a new id from the content that you still have."
    advice = "This was erased for good."


class OutsideFolder(InsufficientScope):
    """The credential is limited to a folder, and the change concerns more than that."""

    def __init__(self, detail: str) -> None:
        super().__init__(None, detail)


class MutationReused(Problem):
    """The mutation id belongs to another change."""

    status, code = 409, "mutation_reused"
    summary = "This mutationId was used for another change."
    remedy = (
        "Use a new mutationId for each change, and the same one only to repeat a change unchanged."
    )


class HeadNotNamed(Problem):
    """The file exists, but the change does not name its head."""

    status, code = 428, "if_match_required"
    summary = "Name the head that you change, in if-match."
    remedy = (
        "Read the file, and send the entity tag of the response in if-match. The value * is not "
        "accepted: it would overwrite changes that nobody has seen."
    )


class HeadMoved(Problem):
    """At least one head is not the expected one.

    Attributes:
        heads: every file that changed, in the order of the changeset, with the revision that is
            its head now.
    """

    status, code = 412, "head_moved"
    summary = "A file has changed since it was read."
    remedy = (
        "Read the files in the member fileIds again, merge your change with their new heads, and "
        "send it with the entity tags of these heads."
    )
    described_headers: ClassVar[Mapping[str, DescribedHeader]] = {
        "etag": DescribedHeader("The entity tag of the head, if one file has moved on.", TEXT)
    }

    def __init__(self, heads: Mapping[FileId, RevisionId]) -> None:
        # The tag of a single head, so that the client can match it immediately.
        only = [*heads.values()] if len(heads) == 1 else []
        super().__init__(
            "The files named in fileIds have changed since they were read. Read them again, "
            "then send the change again.",
            members={"fileIds": list(heads)},
            headers=[(b"etag", entity_tag(head)) for head in only],
        )
        self.heads = dict(heads)


class UnrenderableNote(Problem):
    """The text exceeds a limit of the Markdown grammar.

    Attributes:
        limit: the name of the limit.
        maximum: the value of the limit.
        found: the value for the text, or a partial count if counting stopped early.
    """

    status, code = 422, "unrenderable_note"
    summary = "The note exceeds a limit of its Markdown."
    remedy = (
        "The member noteRefusal has the limit, its maximum, and the value found. Split the note, "
        "or simplify the part that exceeds the limit. Earlier revisions are unchanged."
    )

    def __init__(self, detail: str, *, limit: str, maximum: int, found: int) -> None:
        exceeded = {"limit": limit, "maximum": maximum, "found": found}
        super().__init__(detail, members={"noteRefusal": exceeded})
        self.limit = limit
        self.maximum = maximum
        self.found = found
