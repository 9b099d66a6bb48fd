"""Map the code of each refusal to the problem that clients receive.

The model, the workspace actor and the use cases of accounts refuse with exceptions that carry a
stable code (`octavo.model.refusal`). The pipeline converts each to the problem of its code here;
handlers let them propagate. An operation declares its refusals by `refused_with`.
"""

from collections.abc import Mapping
from types import TracebackType
from typing import NamedTuple, cast

from greenroom import (
    ActorCrashed,
    ActorQuarantined,
    AskCycle,
    InvalidActor,
    NotExecuted,
    OutcomeUnknown,
)
from octavo_rules.identity import FileId, RevisionId
from octavo_rules.problems import (
    TEXT,
    BodyTooLarge,
    ConsentRequired,
    CredentialRefused,
    DescribedHeader,
    Forbidden,
    Header,
    InsufficientScope,
    NotFound,
    NotSignedIn,
    Problem,
    RateLimited,
    ServerBusy,
    StorageFull,
    StorageUnavailable,
    TemporaryProblem,
    UnsupportedMediaType,
)
from octavo_rules.refusal import (
    DocumentDependencyMissing,
    DocumentMalformed,
    DocumentTooLarge,
    DocumentUnsupported,
    DomainError,
    EpochMismatch,
    InvalidContent,
)

from octavo.actors.workspace.messages import ChangesetRefused, CommitFailed, NoWorkspace
from octavo.features.archives.api.archive_problems import archive_problem
from octavo.features.legal.api import required_documents
from octavo.features.legal.rules import ConsentDue
from octavo.features.publishing.renderings import RenderingPostponed
from octavo.features.usage.api import DownloadLimit, StorageBusy, monthly_limit_problem
from octavo.model.access.refusal import PasswordQueueFull, TooManyAttempts
from octavo.model.etag import entity_tag
from octavo.model.refusal import (
    FileExists,
    FileLive,
    FileMissing,
    FilePurged,
    HeadMoved,
    InvalidGraph,
    InvalidPath,
    MutationReused,
    OutsideFolder,
    PathConflict,
    UnrenderableNote,
)
from octavo.model.usage import DownloadLimitReached, StorageLimitReached, WriteLimitReached
from octavo.store import StoreFull, StoreUnavailable
from octavo.store.blobs import BlobsFull, BlobsUnavailable
from octavo.store.queries.blobs import BlobCollected
from octavo.workers import WorkerFailed, WorkOutOfSpace

OUTCOME_UNKNOWN = (
    "The change may have been made. With the same mutationId the request can be "
    "repeated, and takes effect once; without one, read the current state first."
)

_NO_BLOBS = "The storage of images can't be used now: nothing was changed."


class WorkspaceBusy(TemporaryProblem):
    """The workspace's queue is full, or it recovers from a failure."""

    status, code = 503, "workspace_busy"
    summary = "The workspace is busy or recovering: nothing was changed unless the detail says so."
    remedy = "Send the request again after the seconds in retry-after, with the same mutationId."


def store_problem(error: StoreUnavailable) -> Problem:
    """Return the problem of a store failure; it says whether the change may have been made."""
    if isinstance(error, StoreFull):
        return StorageFull(retry_after=30)
    return StorageUnavailable(OUTCOME_UNKNOWN if error.outcome_unknown else None, retry_after=1)


def store_failure(error: Exception) -> Problem | None:
    """Return the problem of a failure of the database or the blob store; None for another error."""
    match error:
        case StoreUnavailable():
            return store_problem(error)
        case BlobsFull():
            return StorageFull(retry_after=30)
        case BlobsUnavailable() | BlobCollected():
            return StorageUnavailable(_NO_BLOBS, retry_after=5)
        case _:
            return None


class _Row(NamedTuple):
    status: int
    code: str
    summary: str
    remedy: str
    described_headers: Mapping[str, DescribedHeader] = {}


_TABLE = (
    _Row(
        422,
        "invalid_path",
        "The path is not portable across operating systems.",
        "Use a relative path with slashes between its names, in Unicode form NFC, without "
        "characters or names that Windows, macOS or Linux reserve, and without characters that "
        "nobody sees. The detail names the fault.",
    ),
    _Row(
        409,
        "path_conflict",
        "Another file has this path.",
        "Choose another path, or move or delete the other file first; one changeset can do both. "
        "Paths that differ only in case are the same path.",
    ),
    _Row(
        422,
        "invalid_graph",
        "A path cannot be both a file and a folder.",
        "Choose a path that is not a folder of other files and not below a file.",
    ),
    _Row(
        422,
        "invalid_content",
        "The file cannot have this content.",
        "The detail says what to leave out. Text is Unicode without NUL.",
    ),
    _Row(
        422,
        "invalid_image",
        "The file is not an acceptable image.",
        "The detail says whether it is damaged, or which limit it exceeds. Save it again in "
        "another program, or make it smaller.",
    ),
    _Row(
        422,
        "too_many_files",
        "The request names or changes too many files.",
        "Split it into several requests; each changeset must be complete in itself.",
    ),
    _Row(
        412,
        "head_moved",
        "A file has changed since it was read.",
        "Read the files in the member fileIds again, merge your change with their new heads, and "
        "send it with the entity tags of these heads.",
        {"etag": DescribedHeader("The entity tag of the head, if one file has moved on.", TEXT)},
    ),
    _Row(
        410,
        "file_purged",
        "The file was purged; its id cannot be used again.",
        "Create a new file with a new id from the content that you still have.",
    ),
    _Row(
        409,
        "file_exists",
        "The id belongs to another file, live or deleted.",
        "Choose a new id for a new file, or update or restore the existing one.",
    ),
    _Row(
        409,
        "file_live",
        "The file is not deleted.",
        "Delete a file before you purge it. To restore an earlier text of a live file, name the "
        "revision.",
    ),
    _Row(
        409,
        "mutation_reused",
        "This mutationId was used for another change.",
        "Use a new mutationId for each change, and the same one only to repeat a change unchanged.",
    ),
    _Row(
        409,
        "epoch_mismatch",
        "The document of the note has another epoch.",
        "Read the note with its document, without if-none-match, apply your edits to it, and save "
        "them with its epoch. The note was not changed.",
    ),
    _Row(
        422,
        "document_malformed",
        "The bytes are not an update of a Yjs document, or not a state vector.",
        "Send the output of Yjs (encodeStateAsUpdate and encodeStateVector, version 1) complete "
        "and unchanged.",
    ),
    _Row(
        422,
        "document_dependency_missing",
        "The update refers to an insertion or a deletion that the document lacks.",
        "Send everything that the document lacks: read its state vector, and encode the update "
        "against it.",
    ),
    _Row(
        422,
        "document_unsupported",
        "The document of a note holds one text, named text, and nothing else.",
        "Remove formats, embeds and other types; the detail names what was found.",
    ),
    _Row(
        413,
        "document_too_large",
        "The note, or the update of it, is too large.",
        "Repeating the request does not help. Keep the text, split it into several notes, and "
        "create these.",
    ),
    _Row(
        413,
        "storage_limit",
        "An owner of the workspace has no storage left: nothing was changed.",
        "Delete and purge files of the workspaces of this owner, or ask the operator of the "
        "installation for more storage. Deleting is always possible, and what is stored can be "
        "read.",
    ),
    _Row(
        422,
        "unrenderable_note",
        "The note exceeds a limit of its Markdown.",
        "The member noteRefusal has the limit, its maximum, and the value found. Split the note, "
        "or simplify the part that exceeds the limit. Earlier revisions are unchanged.",
    ),
    _Row(
        409,
        "address_taken",
        "Another account has this address.",
        "Sign in to that account, or choose another address. The invitation is still open.",
    ),
    _Row(
        400,
        "invalid_token",
        "The link to choose a new password is not valid.",
        "A link works once, and for an hour. Request another one, and use the newest message.",
    ),
    _Row(
        409,
        "last_administrator",
        "The installation would be left without an enabled administrator.",
        "Make another account an administrator first.",
    ),
    _Row(
        409,
        "controls_changed",
        "The controls of the account have changed since they were read.",
        "Read the account again, and repeat the change with the revision of its controls.",
    ),
    _Row(
        409,
        "setting_locked",
        "The settings of the server determine this.",
        "The operator of the installation can change the setting, or leave it out.",
    ),
    _Row(
        409,
        "setting_required",
        "Open registration requires a mail server and legal documents.",
        "The operator of the installation must name a mail server, terms and a privacy notice in "
        "the settings of the server first. The detail says what is missing.",
    ),
    _Row(
        422,
        "archive_invalid",
        "The archive cannot be imported: nothing was imported.",
        "The detail names the file of the archive and the reason. Correct the archive, and import "
        "it again, or leave out the file.",
    ),
    _Row(
        422,
        "archive_too_many_files",
        "The archive has too many files.",
        "Divide it into several archives, and import each.",
    ),
    _Row(
        413,
        "archive_too_large",
        "The archive, or a part of it, is too large.",
        "The detail says how large it may be. Divide it into several archives, and import each.",
    ),
    _Row(
        409,
        "import_not_open",
        "No part can be added to the import.",
        "The import is running or done, or has begun to commit its files. Complete it if it is not "
        "done, or abort it; start another import for another archive.",
    ),
    _Row(
        409,
        "too_many_imports",
        "The account has too many open imports.",
        "Complete or abort an import before you start another one.",
    ),
    _Row(
        409,
        "already_member",
        "The account is a member of the workspace.",
        "Change the role of the member instead.",
    ),
    _Row(
        409,
        "last_owner",
        "The workspace would be left without an owner.",
        "Make another member an owner first, or delete the workspace.",
    ),
    _Row(
        409,
        "too_many_keys",
        "The account has the maximum number of keys.",
        "Revoke a key that is no longer used; expired keys count as well.",
    ),
    _Row(
        422,
        "too_many_links",
        "The workspace has as many live links as it may have.",
        "Revoke a link that is no longer needed. The operator of the installation can allow more.",
    ),
    _Row(
        409,
        "too_many_invitations",
        "The maximum number of invitations is open.",
        "Revoke an invitation that is no longer needed, or wait until one is used or expires.",
    ),
)


class IfMatchRequired(Problem):
    """The request does not name the head that it changes."""

    status, code = 428, "if_match_required"
    summary = "Name the head that you change, in if-match."
    remedy = (
        "Read the file, and send the entity tag of the response in if-match. The value * "
        "is not accepted: it would overwrite changes that nobody has seen."
    )


def _problem_type(row: _Row) -> type[Problem]:
    name = "".join(word.capitalize() for word in row.code.split("_"))
    members = {**row._asdict(), "__doc__": row.summary, "__module__": __name__}
    return cast("type[Problem]", type(name, (Problem,), members))


_COMMON = (
    NotFound,
    NotSignedIn,
    CredentialRefused,
    Forbidden,
    InsufficientScope,
    ConsentRequired,
    BodyTooLarge,
    UnsupportedMediaType,
    IfMatchRequired,
    DownloadLimit,
    StorageBusy,
)
REFUSALS: Mapping[str, type[Problem]] = {
    **{each.code: each for each in _COMMON},
    **{row.code: _problem_type(row) for row in _TABLE},
}
"""The problem of each code that a `DomainError` can have, without `RateLimited`."""


def refused_with(*refusals: type[DomainError]) -> tuple[type[Problem], ...]:
    """Return the problems of ``refusals``, for the declaration of an operation."""
    return tuple(REFUSALS[each.code] for each in refusals)


NOTE_TOO_LARGE = REFUSALS[DocumentTooLarge.code]
"""The problem of a body that writes one note, and is too large: no other request can have it.

A changeset that is too large can be split, so it is refused with `BodyTooLarge`.
"""
DOCUMENT_PROBLEMS = refused_with(
    EpochMismatch,
    DocumentMalformed,
    DocumentDependencyMissing,
    DocumentUnsupported,
    DocumentTooLarge,
    UnrenderableNote,
)
"""The refusals of a document save, in addition to those of any change."""

CHANGE_PROBLEMS: tuple[type[Problem], ...] = (
    *refused_with(
        FileMissing,
        PathConflict,
        FileExists,
        FileLive,
        MutationReused,
        FilePurged,
        HeadMoved,
        InvalidPath,
        InvalidGraph,
        InvalidContent,
        StorageLimitReached,
    ),
    *DOCUMENT_PROBLEMS,
    WorkspaceBusy,
)
"""The refusals of a changeset; operations on one file declare those that apply to them."""


def problem_of(error: Exception) -> Problem | None:
    """Return the problem for ``error``; None when it is a bug."""
    match error:
        case ChangesetRefused():
            return _refused(error.refusal)
        case DomainError():
            return _refused(error)
        case NoWorkspace():
            return NotFound()
        case CommitFailed():
            return store_failure(error.error)
        case ActorQuarantined():
            return WorkspaceBusy(retry_after=error.retry_after)
        case ActorCrashed() | InvalidActor() | AskCycle():
            # A bug: it is logged, and repeating the request does not help.
            return None
        case NotExecuted():
            return WorkspaceBusy(retry_after=1)
        case WorkOutOfSpace():
            return StorageFull(retry_after=30)
        case RenderingPostponed():
            return ServerBusy("The page could not be made in time. Try again in some seconds.")
        case WorkerFailed():
            return ServerBusy("A part of the service failed: nothing was changed. Try again.")
        case OutcomeUnknown():
            return WorkspaceBusy(OUTCOME_UNKNOWN, retry_after=1)
        case _:
            return archive_problem(error) or store_failure(error)


class refusals_as_problems:  # noqa: N801  # used like a function
    """Convert refusals raised in the block to problems, outside the pipeline of the contract."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception):
            problem = problem_of(error)
            if problem is not None:
                try:
                    raise problem from error
                finally:
                    del problem


def _refused(refusal: DomainError) -> Problem:
    if isinstance(refusal, TooManyAttempts):
        busy = isinstance(refusal, PasswordQueueFull)
        return RateLimited(refusal.detail, retry_after=refusal.retry_after, busy=busy)
    if isinstance(refusal, DownloadLimitReached | WriteLimitReached):
        return monthly_limit_problem(refusal)
    if isinstance(refusal, OutsideFolder):
        return InsufficientScope(None, refusal.detail)
    members: dict[str, object] = {}
    headers: tuple[Header, ...] = ()
    if isinstance(refusal, ConsentDue):
        members["required"] = required_documents(refusal.documents).model_dump(by_alias=True)
    if isinstance(refusal, HeadMoved):
        members["fileIds"] = list(refusal.file_ids)
        headers = _etag(refusal.heads)
    elif refusal.file_id is not None:
        members["fileIds"] = [refusal.file_id]
    if isinstance(refusal, UnrenderableNote):
        exceeded = {"limit": refusal.limit, "maximum": refusal.maximum, "found": refusal.found}
        members["noteRefusal"] = exceeded
    return REFUSALS[refusal.code](refusal.detail, members=members, headers=headers)


def _etag(heads: Mapping[FileId, RevisionId]) -> tuple[Header, ...]:
    """Return the entity tag of a single head, so that the client can match it immediately."""
    if len(heads) != 1:
        return ()
    [head] = heads.values()
    return ((b"etag", entity_tag(head)),)
