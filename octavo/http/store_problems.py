"""The problems of a service that is there, while what it rests on is not."""

import math

from octavo.http.problems import Problem
from octavo.store import StoreFull, StoreUnavailable

DOUBT = (
    "It may have been done. With the same mutationId it can be sent again, and has one effect; "
    "sent without one, read first what there is now."
)


class _ForNow(Problem):
    """Passes by itself; ``retry_after`` seconds are told, rounded up."""

    def __init__(self, detail: str | None = None, *, retry_after: float) -> None:
        seconds = max(1, math.ceil(retry_after))
        super().__init__(detail, headers=[(b"retry-after", b"%d" % seconds)])


class WorkspaceBusy(_ForNow):
    """The workspace has no place for one more request, or recovers from a failure."""

    status, code = 503, "workspace_busy"
    summary = "The workspace is busy, or recovers: nothing was changed unless the detail says so."
    remedy = "Send the request again after the seconds of retry-after, with the same mutationId."


class StorageUnavailable(_ForNow):
    """The database can't be reached, or fails."""

    status, code = 503, "storage_unavailable"
    summary = "The database of the service can't be used now."
    remedy = (
        "Send the request again after the seconds of retry-after; a change with the same "
        "mutationId, which has one effect however often it is sent. If it lasts, tell whoever "
        "operates the service."
    )


class StorageFull(_ForNow):
    """The database has no room."""

    status, code = 507, "storage_full"
    summary = "The service has no room left: nothing was changed."
    remedy = "Whoever operates the service has to make room. What is stored can still be read."


OF_STORE: tuple[type[Problem], ...] = (StorageUnavailable, StorageFull)
"""What every operation can be answered with that changes what is stored."""
OF_READING: tuple[type[Problem], ...] = (StorageUnavailable,)
"""What every operation can be answered with that reads what is stored."""


def store_problem(error: StoreUnavailable) -> Problem:
    """Answer the problem for a failure of the store, which says whether it may have been done."""
    if isinstance(error, StoreFull):
        return StorageFull(retry_after=30)
    return StorageUnavailable(DOUBT if error.outcome_unknown else None, retry_after=1)
