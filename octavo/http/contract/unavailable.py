"""Problems that pass without a change of the request: 503 and 507 with ``retry-after``."""

import math

from octavo.http.contract.problems import Problem


class TemporaryProblem(Problem):
    """A refusal that ends by itself; ``retry_after`` is in seconds and rounded up."""

    def __init__(self, detail: str | None = None, *, retry_after: float) -> None:
        seconds = max(1, math.ceil(retry_after))
        super().__init__(detail, headers=[(b"retry-after", b"%d" % seconds)])


class StorageUnavailable(TemporaryProblem):
    """The database can't be reached, or fails."""

    status, code = 503, "storage_unavailable"
    summary = "The database of the service can't be used now."
    remedy = (
        "Send the request again after the seconds of retry-after; a change with the same "
        "mutationId, which has one effect however often it is sent. If it lasts, tell whoever "
        "operates the service."
    )


class StorageFull(TemporaryProblem):
    """The database has no room."""

    status, code = 507, "storage_full"
    summary = "The service has no room left: nothing was changed."
    remedy = "Whoever operates the service has to make room. What is stored can still be read."


OF_STORE: tuple[type[Problem], ...] = (StorageUnavailable, StorageFull)
"""What every operation can be answered with that changes what is stored."""
OF_READING: tuple[type[Problem], ...] = (StorageUnavailable,)
"""What every operation can be answered with that reads what is stored."""
