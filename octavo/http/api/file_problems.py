"""The problems of changing and reading files, and those that refusals become."""

from collections.abc import Mapping
from types import TracebackType

from octavo.actors.core import ActorCrashed, ActorQuarantined, NotExecuted, OutcomeUnknown
from octavo.actors.workspace.messages import NotAccepted, NotKept, NoWorkspace
from octavo.http.api.store_problems import DOUBT, WorkspaceBusy, store_problem
from octavo.http.contract.problems import Header, NotFound, Problem
from octavo.model import refusal as refused
from octavo.model.etag import entity_tag
from octavo.model.identity import FileId, RevisionId


class InvalidPath(Problem):
    """The path is none that every system can hold."""

    status, code = 422, "invalid_path"
    summary = "The path can't be used on every system."
    remedy = (
        "Choose a relative path with slashes between its names, in Unicode form NFC, without "
        "characters or names that Windows, macOS or Linux reserve. The detail says what is wrong."
    )


class PathConflict(Problem):
    """Another live file occupies the path."""

    status, code = 409, "path_conflict"
    summary = "Another file stands at this path."
    remedy = (
        "Choose another path, or move or delete the other file first; one changeset can do both. "
        "Paths that differ in case alone are one path."
    )


class InvalidGraph(Problem):
    """A file would stand where a folder is, or the other way round."""

    status, code = 422, "invalid_graph"
    summary = "A file and a folder can't stand at one path."
    remedy = "Choose a path that is no folder of other files, and below no file."


class InvalidContent(Problem):
    """The content is none that the file can have."""

    status, code = 422, "invalid_content"
    summary = "The file can't have this content."
    remedy = "The detail says what to leave out. Text is Unicode without NUL; images take none."


class TooManyFiles(Problem):
    """The changeset has more operations than one may have."""

    status, code = 422, "too_many_files"
    summary = "One changeset can't change so many files."
    remedy = "Split it into several changesets, each complete in itself."


class HeadMoved(Problem):
    """At least one head is not the expected one; ``fileIds`` names the files."""

    status, code = 412, "head_moved"
    summary = "A file has changed since it was read."
    remedy = (
        "Read the files of the member fileIds again, merge their new heads with your change, and "
        "send it with the entity tags of these heads."
    )


class IfMatchRequired(Problem):
    """The expected head was not named."""

    status, code = 428, "if_match_required"
    summary = "Name the head that you change, in if-match."
    remedy = (
        "Read the file, and send the entity tag of the answer in if-match. * is not taken: it "
        "would overwrite what nobody has seen."
    )


class FilePurged(Problem):
    """The file was purged."""

    status, code = 410, "file_purged"
    summary = "The file was purged for good; its id can't be written again."
    remedy = "Make a new file, under a new id, from what you still have."


class FileExists(Problem):
    """The id belongs to a file already."""

    status, code = 409, "file_exists"
    summary = "The id belongs to another file, live or deleted."
    remedy = "Make a new id for a new file, or update or restore the one that has it."


class FileLive(Problem):
    """Only a deleted file can be restored or purged."""

    status, code = 409, "file_live"
    summary = "The file is not deleted."
    remedy = (
        "To purge a file, delete it first. To give a live one an earlier text, name its revision."
    )


class MutationReused(Problem):
    """The identity belongs to another change."""

    status, code = 409, "mutation_reused"
    summary = "This mutationId was used for another change."
    remedy = "Take a new mutationId for each change, and the same only to repeat one unchanged."


class EpochMismatch(Problem):
    """The document is of another generation."""

    status, code = 409, "epoch_mismatch"
    summary = "The note holds another generation of its document."
    remedy = (
        "Read the note with its document, bring your edits into that one, and save them with its "
        "epoch. Nothing of the note was changed."
    )


class DocumentMalformed(Problem):
    """The bytes are no update."""

    status, code = 422, "document_malformed"
    summary = "The bytes are no update of a Yjs document."
    remedy = "Send what Yjs encodes (encodeStateAsUpdate, version 1), whole and unchanged."


class DocumentDependencyMissing(Problem):
    """The update builds on what the document lacks."""

    status, code = 422, "document_dependency_missing"
    summary = "The update names an insertion or a deletion that the document lacks."
    remedy = (
        "Send all that the document lacks: read its state vector, and encode the update against it."
    )


class DocumentUnsupported(Problem):
    """The update writes more than the text."""

    status, code = 422, "document_unsupported"
    summary = "The document of a note holds one text, named text, and nothing else."
    remedy = "Leave out formats, embeds, and other types; the detail says what was found."


class DocumentTooLarge(Problem):
    """The update, or the document behind it, passes a bound."""

    status, code = 413, "document_too_large"
    summary = "The update, or the document that it would make, is too large."
    remedy = (
        "Sending it again is of no use. Keep the text, split it into several notes, and make these."
    )


class UnrenderableNote(Problem):
    """The text passes a limit of the Markdown grammar, which ``noteRefusal`` names."""

    status, code = 422, "unrenderable_note"
    summary = "The note passes a limit of its Markdown."
    remedy = (
        "The member noteRefusal names the limit, its maximum, and what was found. Split the note, "
        "or simplify the part that passes the limit. What was accepted before stays as it was."
    )


_PROBLEMS: dict[type[refused.DomainError], type[Problem]] = {
    refused.InvalidPath: InvalidPath,
    refused.PathConflict: PathConflict,
    refused.InvalidGraph: InvalidGraph,
    refused.InvalidContent: InvalidContent,
    refused.TooManyFiles: TooManyFiles,
    refused.FileMissing: NotFound,
    refused.FileExists: FileExists,
    refused.FileLive: FileLive,
    refused.FilePurged: FilePurged,
    refused.MutationReused: MutationReused,
    refused.EpochMismatch: EpochMismatch,
    refused.DocumentMalformed: DocumentMalformed,
    refused.DocumentDependencyMissing: DocumentDependencyMissing,
    refused.DocumentUnsupported: DocumentUnsupported,
    refused.DocumentTooLarge: DocumentTooLarge,
}

OF_DOCUMENTS: tuple[type[Problem], ...] = (
    EpochMismatch,
    DocumentMalformed,
    DocumentDependencyMissing,
    DocumentUnsupported,
    DocumentTooLarge,
    UnrenderableNote,
)
"""What a save of a document can be refused with, beside what any change can be."""

OF_CHANGES: tuple[type[Problem], ...] = (
    NotFound,
    PathConflict,
    FileExists,
    FileLive,
    MutationReused,
    FilePurged,
    HeadMoved,
    InvalidPath,
    InvalidGraph,
    InvalidContent,
    *OF_DOCUMENTS,
    WorkspaceBusy,
)
"""What a changeset can be refused with; a single operation declares those that it can be."""


class refusals_as_problems:  # noqa: N801  # used as a function is
    """Raise the problem for what the actor of a workspace, or the model, refuses with.

    A class, as every change passes here twice, and a generator costs ten times as much.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            problem = _problem_for(error)
            if problem is not None:
                raise problem from None


def _problem_for(error: BaseException) -> Problem | None:
    match error:
        case NotAccepted():
            return _problem(error.refusal)
        case refused.DomainError():
            return _problem(error)
        case NoWorkspace():
            return NotFound()
        case NotKept():
            return store_problem(error.error)
        case ActorQuarantined():
            return WorkspaceBusy(retry_after=error.retry_after)
        case NotExecuted():
            return WorkspaceBusy(retry_after=1)
        case ActorCrashed():
            # A mistake of ours, which the log shows and no repetition cures.
            return None
        case OutcomeUnknown():
            return WorkspaceBusy(DOUBT, retry_after=1)
        case _:
            return None


def _problem(refusal: refused.DomainError) -> Problem:
    if isinstance(refusal, refused.HeadMoved):
        return HeadMoved(
            refusal.detail,
            members={"fileIds": list(refusal.file_ids)},
            headers=_etag(refusal.heads),
        )
    members: dict[str, object] = {}
    if refusal.file_id is not None:
        members["fileIds"] = [refusal.file_id]
    if isinstance(refusal, refused.UnrenderableNote):
        told = {"limit": refusal.limit, "maximum": refusal.maximum, "found": refusal.found}
        return UnrenderableNote(refusal.detail, members={**members, "noteRefusal": told})
    return _PROBLEMS[type(refusal)](refusal.detail, members=members)


def _etag(heads: Mapping[FileId, RevisionId]) -> tuple[Header, ...]:
    """Return the entity tag of the one head, so that it can be matched without another request."""
    if len(heads) != 1:
        return ()
    [head] = heads.values()
    return ((b"etag", entity_tag(head)),)
