"""Problems of a workspace or a store that is temporarily unavailable."""

from octavo.http.contract.problems import Problem, StorageFull, StorageUnavailable, TemporaryProblem
from octavo.store import StoreFull, StoreUnavailable
from octavo.store.blobs import BlobsFull, BlobsUnavailable
from octavo.store.queries.blobs import BlobCollected

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
