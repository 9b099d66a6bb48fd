"""What can go wrong, and whether a change may have happened all the same.

::

    ClientError
     ├ ConnectionFailed      no whole answer came
     │  └ SnapshotCut        the snapshot ended before its last line
     ├ UnexpectedAnswer      an answer that the contract does not have
     ├ ListeningEnded        the server refuses to tell more
     ├ WorkspaceGone         there is nothing left to follow
     └ ProblemError          a refusal of the server (RFC 9457), by its code
        ├ NotSignedIn        401: session, key or password open nothing
        ├ NotFound           404, 410: no such thing, or it can't be seen
        ├ HeadMoved          412: another change was first
        ├ EpochMismatch      409: the document is of another generation
        └ RateLimited, Unavailable  429 and 503: later
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from octavo.model.identity import FileId, MutationId, RevisionId

_SETTLING = frozenset((400, 405, 409, 410, 412, 413, 415, 422, 428))
"""Said of a repetition, these tell that the attempts before it changed nothing either: their
reasons stand in the request, or are judged where the mutations are known. 401, 403, 404, 423 and
429 may be said before anybody looks, to somebody who was let in the first time."""


class ClientError(Exception):
    """What was asked for was not answered.

    Attributes:
        outcome_unknown: a change may have happened. Sent again with the same mutation id, it has
            one effect; a receipt tells without sending. False: nothing was changed.
        mutation_id: that of the change; None for a read, and for a change that takes none.
    """

    def __init__(self, detail: str, *, outcome_unknown: bool = False) -> None:
        super().__init__(detail)
        self.outcome_unknown = outcome_unknown
        self.mutation_id: MutationId | None = None


class ConnectionFailed(ClientError):
    """The server could not be reached, or the connection ended before the whole answer came."""


class SnapshotCut(ConnectionFailed):
    """The last line of a snapshot is missing: there is more that was not told. Begin anew."""


class UnexpectedAnswer(ClientError):
    """The answer is none of the contract: of another program, or of a newer protocol."""


class ListeningEnded(ClientError):
    """The server closed the stream of notices for good (1008): session or key have ended."""


class WorkspaceGoneError(ClientError):
    """The workspace was deleted, or the account can't see it."""


class ProblemError(ClientError):
    """The server refused.

    Attributes:
        status: of HTTP.
        code: stable, for programs; empty when the answer holds none.
        detail: what was wrong and what to do, for people.
        members: the further members of the problem, such as ``errors``.
        retry_after: seconds after which to come back; None when it is not told.
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
        told = " ".join([f"{status} {code}: {detail}", *_faults(members)])
        super().__init__(told, outcome_unknown=outcome_unknown)
        self.status = status
        self.code = code
        self.detail = detail
        self.members = dict(members)
        self.retry_after = retry_after


def _faults(members: Mapping[str, Any]) -> Iterator[str]:
    """Answer what stands in ``errors``: each place in the request, and what belongs there."""
    errors = members.get("errors")
    for each in errors if isinstance(errors, list) else ():
        if isinstance(each, dict):
            yield f"{each.get('pointer')}: {each.get('message')}"


class NotSignedInError(ProblemError):
    """Session, key or password open nothing (401)."""


class NotFoundError(ProblemError):
    """There is no such thing (404), it was purged (410), or the account can't see it."""


class HeadMovedError(ProblemError):
    """Another change was first (412): read the heads again, merge, and send anew.

    Attributes:
        file_ids: the files that moved on; empty when a single one was asked for.
        revision_id: its head now, of a single file; None otherwise.
    """

    def __init__(self, *args: Any, tag: str | None = None, **more: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **more)
        told = self.members.get("fileIds")
        self.file_ids = tuple(FileId(str(each)) for each in told or ())
        self.revision_id = None if tag is None else RevisionId(tag.strip('"'))


class EpochMismatchError(ProblemError):
    """The document is of another generation than the update (409)."""


class RateLimitedError(ProblemError):
    """Too many attempts (429)."""


class UnavailableError(ProblemError):
    """The service, or a part of it, can't answer now (503)."""


_BY_STATUS: dict[int, type[ProblemError]] = {
    401: NotSignedInError,
    404: NotFoundError,
    410: NotFoundError,
    429: RateLimitedError,
    503: UnavailableError,
}
_DESCRIBED = frozenset(("type", "title", "status", "detail", "code"))


def problem_error(
    status: int, headers: Mapping[str, str], body: bytes, *, in_doubt: bool
) -> ProblemError:
    """Answer the error that an answer of 400 and more tells.

    ``headers`` have names in lower case, or don't care for case. ``in_doubt``: the request was a
    change, and an attempt before this one may have happened.
    """
    try:
        told = json.loads(body)
    except ValueError:
        told = None
    members: dict[str, Any] = told if isinstance(told, dict) else {}
    code = str(members.get("code", ""))
    detail = str(members.get("detail") or members.get("title") or "The server gave no reason.")
    further = {name: value for name, value in members.items() if name not in _DESCRIBED}
    wait = headers.get("retry-after", "")
    retry_after = float(wait) if wait.isascii() and wait.isdecimal() else None
    doubt = in_doubt and status not in _SETTLING
    if status == 412:
        return HeadMovedError(status, code, detail, further, tag=headers.get("etag"))
    kind = EpochMismatchError if code == "epoch_mismatch" else _BY_STATUS.get(status, ProblemError)
    return kind(status, code, detail, further, retry_after=retry_after, outcome_unknown=doubt)
