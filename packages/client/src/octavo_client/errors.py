"""The errors of the client, and whether a change may have happened despite them.

::

    ClientError
     ├ ConnectionFailed      no complete response arrived
     │  ├ SnapshotCut        the snapshot ended before its last line
     │  └ ArchiveCut         the export ended before its last record
     ├ ExportIncomplete      the export was written, and lacks images that the server can't read
     ├ UnexpectedResponse      the response violates the contract
     ├ ArchiveDiffers        the import that is continued has another archive
     ├ ListeningEnded        the server ended the notification stream
     ├ WorkspaceGoneError    the workspace no longer exists or is not visible
     └ ProblemError          an error response of the server (RFC 9457), by its code
        ├ NotSignedInError    401: session, key or password is not valid
        ├ NotFoundError       404, 410: the resource does not exist or is not visible
        ├ HeadMovedError      412: another change came first
        ├ EpochMismatchError  409: the document has another epoch
        ├ CursorUnknownError  409: the history of the server was taken back
        └ RateLimitedError, UnavailableError  429 and 503: try again later
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from octavo_rules.identity import FileId, MutationId, RevisionId

_CONCLUSIVE = frozenset((400, 405, 409, 410, 412, 413, 415, 422, 428))
"""Statuses that, in response to a repetition, prove that earlier attempts had no effect: their
reasons are in the request, or are checked after the mutation id. 401, 403, 404, 423 and 429 may be
returned earlier, even if the first attempt was accepted."""


class ClientError(Exception):
    """A request failed.

    Attributes:
        outcome_unknown: whether a change may have happened. A repetition with the same mutation id
            has one effect in total; its receipt shows the outcome. False: nothing was changed.
        mutation_id: the mutation id of the change; None for other requests.
        attempts: how often the request was sent.
        seconds: from its first failure to the last one.
    """

    def __init__(self, detail: str, *, outcome_unknown: bool = False) -> None:
        super().__init__(detail)
        self.outcome_unknown = outcome_unknown
        self.mutation_id: MutationId | None = None
        self.attempts = 1
        self.seconds = 0.0


class ConnectionFailed(ClientError):
    """The server is unreachable, or the connection ended before the response was complete."""


class SnapshotCut(ConnectionFailed):
    """The last line of a snapshot is missing, so the copy is incomplete: start again."""


class ArchiveCut(ConnectionFailed):
    """The end of an export is missing, so nothing was written: start again."""


class ExportIncomplete(ClientError):
    """The export was written, but lacks images, whose bytes on the server are damaged or missing.

    Further exports lack them as well, until they are put back or deleted.

    Attributes:
        size: the size of the archive in bytes.
        paths: those that the images would have in the archive.
    """

    def __init__(self, size: int, paths: Sequence[str]) -> None:
        super().__init__(f"the export lacks images that the server can't read: {len(paths)}")
        self.size = size
        self.paths = paths


class ArchiveDiffers(ClientError):
    """The import that is continued has parts of another archive: start a new one."""


class ImportRefused(ClientError):
    """The server has refused the archive, and its response was lost.

    Attributes:
        code: the code of the problem.
    """

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code


class UnexpectedResponse(ClientError):
    """The response violates the contract: another program, or a newer protocol."""


class ListeningEnded(ClientError):
    """The server closed the notification stream for good (1008): the session or key has ended."""


class WorkspaceGoneError(ClientError):
    """The workspace was deleted, or the account can't see it."""


class ProblemError(ClientError):
    """The server returned an error.

    Attributes:
        status: the HTTP status.
        code: the stable code of the problem; empty if the response has none.
        detail: the error and its remedy, for people.
        members: the further members of the problem, such as ``errors``.
        retry_after: seconds to wait before a retry; None if not given.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        members: Mapping[str, Any],
        *,
        retry_after: float | None = None,
        outcome_unknown: bool = False,
    ) -> None:
        text = " ".join([f"{status} {code}: {detail}", *_faults(members)])
        super().__init__(text, outcome_unknown=outcome_unknown)
        self.status = status
        self.code = code
        self.detail = detail
        self.members = dict(members)
        self.retry_after = retry_after


def _faults(members: Mapping[str, Any]) -> Iterator[str]:
    """Yield the members of ``errors``: each place in the request and its error."""
    errors = members.get("errors")
    for error in errors if isinstance(errors, list) else ():
        if isinstance(error, dict):
            yield f"{error.get('pointer')}: {error.get('message')}"


class NotSignedInError(ProblemError):
    """The session, key or password is not valid (401)."""


class NotFoundError(ProblemError):
    """The resource does not exist (404), was purged (410), or is not visible to the account."""


class HeadMovedError(ProblemError):
    """Another change came first (412): read the heads, merge, and send the change again.

    Attributes:
        file_ids: the files with other heads; empty for a request about a single file.
        revision_id: the present head for a request about a single file; None otherwise.
    """

    def __init__(self, *args: Any, tag: str | None = None, **more: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **more)
        file_ids = self.members.get("fileIds")
        self.file_ids = tuple(FileId(str(file_id)) for file_id in file_ids or ())
        self.revision_id = None if tag is None else RevisionId(tag.strip('"'))


class EpochMismatchError(ProblemError):
    """The update is for another epoch of the document (409)."""


class CursorUnknownError(ProblemError):
    """The history of the workspace does not have a position with its mark (409).

    This happens after a restored backup: replace the copy by a new snapshot.
    """


class RateLimitedError(ProblemError):
    """There were too many attempts (429)."""


class UnavailableError(ProblemError):
    """The service, or a part of it, is temporarily unavailable (503)."""


_BY_STATUS: dict[int, type[ProblemError]] = {
    401: NotSignedInError,
    404: NotFoundError,
    410: NotFoundError,
    429: RateLimitedError,
    503: UnavailableError,
}
_BY_CODE: dict[str, type[ProblemError]] = {
    "epoch_mismatch": EpochMismatchError,
    "cursor_unknown": CursorUnknownError,
}
_DESCRIBED = frozenset(("type", "title", "status", "detail", "code"))


def problem_error(
    status: int, headers: Mapping[str, str], body: bytes, *, in_doubt: bool
) -> ProblemError:
    """Return the error for a response with a status of 400 or above.

    The names of ``headers`` must be in lower case, or case-insensitive. ``in_doubt`` says that an
    earlier attempt at the change may have been applied.
    """
    try:
        problem = json.loads(body)
    except ValueError:
        problem = None
    members: dict[str, Any] = problem if isinstance(problem, dict) else {}
    code = str(members.get("code", ""))
    detail = str(members.get("detail") or members.get("title") or "The server gave no reason.")
    further = {name: value for name, value in members.items() if name not in _DESCRIBED}
    wait = headers.get("retry-after", "")
    retry_after = float(wait) if wait.isascii() and wait.isdecimal() else None
    doubt = in_doubt and status not in _CONCLUSIVE
    if status == 412:
        return HeadMovedError(status, code, detail, further, tag=headers.get("etag"))
    kind = _BY_CODE.get(code) or _BY_STATUS.get(status, ProblemError)
    return kind(status, code, detail, further, retry_after=retry_after, outcome_unknown=doubt)
