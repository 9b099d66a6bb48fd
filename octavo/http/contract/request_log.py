"""One line for each request: who asked for what, how it ended, how long it took.

A line holds no body, no query string, no header, and no secret of a path.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

LONGEST_PATH = 512
"""Characters of a path that a line shows."""

REDACTED = "[secret]"

# The segment behind one of these opens something to whoever knows it: a published link, an
# invitation, a reset of the password.
_BEFORE_SECRETS = ("/published/", "/invitation/", "/invitations/", "/reset-password/")
_SECRET = re.compile(rf"(?i)((?:{'|'.join(_BEFORE_SECRETS)})/*)[^/]+")


class RequestRecord(NamedTuple):
    """What is known of a request when it is over.

    Attributes:
        request_id: the id that its answer carried.
        method: as it was sent.
        path: decoded, without the query string; secrets may still stand in it.
        operation: id of the operation of the contract; None for a page or an unknown path.
        status: of the answer; 499 when the client left before there was one.
        duration: seconds from the head of the request to the end of the answer.
        client: address of the client; None when it has none (a Unix socket).
        request_bytes: bytes of the request's body that were read.
        response_bytes: bytes of the answer's body that were sent.
        principal: the account, or whoever else was recognised; None for nobody.
        failure: code of the problem that was answered; None when there was none.
    """

    request_id: str
    method: str
    path: str
    operation: str | None
    status: int
    duration: float
    client: str | None
    request_bytes: int
    response_bytes: int
    principal: str | None
    failure: str | None


RequestLog = Callable[[RequestRecord], None]
"""Takes the record of each request that is over; neither waits nor raises."""


def loggable_path(path: str) -> str:
    """Return ``path`` as a log may hold it: no query string, no secret segment, not too long."""
    if "?" in path:
        path = path.partition("?")[0]
    folded = path.lower()
    for before in _BEFORE_SECRETS:
        if before in folded:
            path = _SECRET.sub(rf"\1{REDACTED}", path)
            break
    return path if len(path) <= LONGEST_PATH else path[:LONGEST_PATH]


def request_log(write: Callable[[str, dict[str, object]], None]) -> RequestLog:
    """Make the log of requests that gives ``write`` a level and one event ``request`` a request.

    ``write`` is that of `octavo.log.Log`. The level is ``error`` for the status 500, a bug of
    ours, and else ``info``: clients must not be able to fill the log with alarms.
    ``operation``, ``account`` and ``problem`` stand there only where there is one.
    """

    def log(record: RequestRecord) -> None:
        members: dict[str, object] = {
            "event": "request",
            "requestId": record.request_id,
            "method": record.method,
            "path": loggable_path(record.path),
            "status": record.status,
            "durationMs": int(record.duration * 1e6) / 1000,
            "client": record.client,
            "bytesIn": record.request_bytes,
            "bytesOut": record.response_bytes,
        }
        if record.operation is not None:
            members["operation"] = record.operation
        if record.principal is not None:
            members["account"] = record.principal
        if record.failure is not None:
            members["problem"] = record.failure
        write("error" if record.status == 500 else "info", members)

    return log
