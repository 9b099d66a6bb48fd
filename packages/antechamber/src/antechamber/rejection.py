"""The errors that the server itself responds with, and the exceptions that raise them.

::

    RequestRejected  the request is rejected with a response, and its connection closes
    ClientGone       the client disconnected, or its connection broke
"""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple

MEDIA_TYPE = "application/problem+json"
# The page of a code is at this path followed by the code.
PAGES = "/problems/"
_TITLES = {status.value: status.phrase for status in HTTPStatus}
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def problem_document(
    status: int,
    code: str,
    detail: str,
    request_id: str,
    *,
    members: Mapping[str, object] | None = None,
    base: str = "",
) -> bytes:
    """Return problem details as compact JSON in UTF-8.

    ``code`` is stable and for programs; ``detail`` is for people and says what to do; ``members``
    are extension members (RFC 9457 section 3.2). ``base`` is the public address of the
    installation, without a trailing slash; if empty, ``type`` is a relative reference (RFC 9457
    section 3.1.1).
    """
    document = {
        "type": f"{base}{PAGES}{code}",
        "title": _TITLES[status],
        "status": status,
        "detail": detail,
        "code": code,
        "requestId": request_id,
        **(members or {}),
    }
    return _encode(document).encode()


class ServerProblem(NamedTuple):
    """A code that the server responds with: its status, meaning and remedy."""

    code: str
    status: int
    summary: str
    remedy: str


SERVER_PROBLEMS = (
    ServerProblem(
        "head_timeout",
        408,
        "The head of the request did not arrive in time.",
        "Send the request again. If it happens often, the connection is slow or broken.",
    ),
    ServerProblem(
        "target_too_long",
        414,
        "Path and query are longer than this server accepts.",
        "Shorten the query: send long values in the body of the request, if the operation has one.",
    ),
    ServerProblem(
        "expectation_failed",
        417,
        "The only supported expectation is 100-continue.",
        "Send the request again without the header expect.",
    ),
    ServerProblem(
        "websocket_version",
        426,
        "The supported WebSocket version is 13.",
        "Use a client that supports WebSocket version 13 (RFC 6455).",
    ),
    ServerProblem(
        "head_too_large",
        431,
        "The head of the request is larger than this server accepts.",
        "Send fewer or shorter headers. In a browser, cookies of other sites on this "
        "host may be the cause: remove them.",
    ),
    ServerProblem(
        "not_implemented",
        501,
        "The method or the transfer coding is not supported.",
        "Use a method that the API document lists, and no transfer coding other than chunked.",
    ),
    ServerProblem(
        "request_timeout",
        503,
        "The request took too long. It may have been completed.",
        "Check whether it was completed before you repeat it, or repeat it with the same "
        "mutation id.",
    ),
    ServerProblem(
        "too_many_connections",
        503,
        "Too many connections are open: try again later.",
        "Close unused connections, or send requests sequentially on the same connection, "
        "and try again.",
    ),
    ServerProblem(
        "http_version_not_supported",
        505,
        "HTTP/1.1 and 1.0 are supported.",
        "Use HTTP/1.1, or a proxy in front of this server that speaks HTTP/2 or HTTP/3.",
    ),
)
# The application responds with these codes as well.
_SHARED = {"invalid_request": 400, "body_timeout": 408, "internal_error": 500}
_STATUSES = {problem.code: problem.status for problem in SERVER_PROBLEMS} | _SHARED


class RequestRejected(Exception):
    """The request is rejected; nothing was done.

    ``status`` and ``code`` are for programs; ``detail`` is for people and says what was wrong and
    what to send instead. ``headers`` are sent with the response.
    """

    def __init__(
        self, code: str, detail: str, *, headers: tuple[tuple[bytes, bytes], ...] = ()
    ) -> None:
        super().__init__(detail)
        self.status = _STATUSES[code]
        self.code = code
        self.detail = detail
        self.headers = headers


class ClientGone(OSError):
    """The client disconnected: the request may have been completed, but gets no response.

    Raised by ``send`` (an OSError, as ASGI 3.0 version 2.4 requires).
    """


def malformed(detail: str) -> RequestRejected:
    """Return the rejection of a malformed or ambiguous request."""
    return RequestRejected("invalid_request", detail)
