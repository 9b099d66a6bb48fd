"""Problems of a workspace or a store that can't do its work now."""

from octavo.http.contract.problems import Problem
from octavo.http.contract.unavailable import StorageFull, StorageUnavailable, TemporaryProblem
from octavo.store import StoreFull, StoreUnavailable

DOUBT = (
    "It may have been done. With the same mutationId it can be sent again, and has one effect; "
    "sent without one, read first what there is now."
)


class WorkspaceBusy(TemporaryProblem):
    """The workspace has no place for one more request, or recovers from a failure."""

    status, code = 503, "workspace_busy"
    summary = "The workspace is busy, or recovers: nothing was changed unless the detail says so."
    remedy = "Send the request again after the seconds of retry-after, with the same mutationId."


def store_problem(error: StoreUnavailable) -> Problem:
    """Return the problem for a failure of the store, which says whether it may have been done."""
    if isinstance(error, StoreFull):
        return StorageFull(retry_after=30)
    return StorageUnavailable(DOUBT if error.outcome_unknown else None, retry_after=1)


def store_failure(error: Exception) -> Problem | None:
    """Return the problem for a failure of the store; None for any other error."""
    return store_problem(error) if isinstance(error, StoreUnavailable) else None
