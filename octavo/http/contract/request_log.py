"""Log one line per request: client, operation, outcome, duration.

A line contains no body, no query string, no header, and no secret of a path.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

LONGEST_PATH = 512
"""Maximum length of a path in a log line."""

REDACTED = "[secret]"

# The next segment is a secret: a published link, an invitation, a password reset.
_BEFORE_SECRETS = ("/published/", "/invitation/", "/invitations/", "/reset-password/")
_SECRET = re.compile(rf"(?i)((?:{'|'.join(_BEFORE_SECRETS)})/*)[^/]+")


class RequestRecord(NamedTuple):
    """A completed request.

    Attributes:
        request_id: the id in its response.
        method: as received.
        path: decoded, without the query string; may contain secrets.
        operation: id of the operation; None for a page or an unknown path.
        status: of the response; 499 when the client disconnected before it.
        duration: seconds from the request head to the end of the response.
        client: the client's address; None without one (a Unix socket).
        request_bytes: bytes of the request body read.
        response_bytes: bytes of the response body sent.
        principal: the identifier of the caller; None without one.
        failure: code of the problem in the response; None without one.
        complete: whether the response was sent whole, or there was none.
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
    complete: bool = True


RequestLog = Callable[[RequestRecord], None]
"""Receives the record of each completed request; must not wait or raise."""


# Most paths are logged as they are.
_SUSPICIOUS = re.compile(rf"(?i)\?|{'|'.join(_BEFORE_SECRETS)}")


def loggable_path(path: str) -> str:
    """Return ``path`` for the log: truncated, without query string and secret segments."""
    if "?" in path:
        path = path.partition("?")[0]
    folded = path.lower()
    for before in _BEFORE_SECRETS:
        if before in folded:
            path = _SECRET.sub(rf"\1{REDACTED}", path)
            break
    return path if len(path) <= LONGEST_PATH else path[:LONGEST_PATH]


def request_log(write: Callable[[str, dict[str, object]], None]) -> RequestLog:
    """Return a request log that calls ``write`` with a level and the event ``request``.

    ``write`` takes a level and the members of an event, as that of `octavo.log.Log` does. The level
    is ``error`` for the status 500, which is a bug, otherwise ``info``: clients must not be able to
    fill the log with errors. ``operation``, ``account`` and ``problem`` are included where present,
    and ``incomplete`` for a response that was cut off.
    """

    def log(record: RequestRecord) -> None:
        path = record.path
        if len(path) > LONGEST_PATH or _SUSPICIOUS.search(path) is not None:
            path = loggable_path(path)
        members: dict[str, object] = {
            "event": "request",
            "requestId": record.request_id,
            "method": record.method,
            "path": path,
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
        if not record.complete:
            members["incomplete"] = True
        write("error" if record.status == 500 else "info", members)

    return log
