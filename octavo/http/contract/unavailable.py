"""Temporary problems: 503 and 507 with ``retry-after``."""

import math

from octavo.http.contract.problems import Problem


class TemporaryProblem(Problem):
    """A temporary refusal; ``retry_after`` is in seconds and rounded up."""

    def __init__(self, detail: str | None = None, *, retry_after: float) -> None:
        seconds = max(1, math.ceil(retry_after))
        super().__init__(detail, headers=[(b"retry-after", b"%d" % seconds)])


class StorageUnavailable(TemporaryProblem):
    """The database can't be reached, or fails."""

    status, code = 503, "storage_unavailable"
    summary = "The database of the service can't be used now."
    remedy = (
        "Send the request again after the seconds in retry-after; send a change with the "
        "same mutationId, so that it takes effect once. If it lasts, notify the operator "
        "of the service."
    )


class StorageFull(TemporaryProblem):
    """The database has no free space."""

    status, code = 507, "storage_full"
    summary = "The service has no free space: nothing was changed."
    remedy = "The operator of the service must free space. Stored data can still be read."


STORE_PROBLEMS: tuple[type[Problem], ...] = (StorageUnavailable, StorageFull)
"""The problems of every operation that changes stored data."""
READ_PROBLEMS: tuple[type[Problem], ...] = (StorageUnavailable,)
"""The problems of every operation that reads stored data."""
