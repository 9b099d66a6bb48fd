"""What the wire itself refuses, before or beside the application: the tree of its errors.

::

    Refusal       the request can't be taken: it is answered, and its connection closed
    ClientGone    the client left, or its connection broke: there is nobody to answer
"""

from typing import NamedTuple


class ServerProblem(NamedTuple):
    """A code that the wire answers, its one status, what it means, and what to do about it."""

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
        "Path and query are longer than this server takes.",
        "Shorten the query: send what is long in the body of the request, if the operation "
        "has one.",
    ),
    ServerProblem(
        "expectation_failed",
        417,
        "The only expectation met is 100-continue.",
        "Send the request again without the header expect.",
    ),
    ServerProblem(
        "websocket_version",
        426,
        "The version of WebSocket served is 13.",
        "Use a client of WebSocket version 13 (RFC 6455).",
    ),
    ServerProblem(
        "head_too_large",
        431,
        "The head of the request is larger than is taken.",
        "Send fewer or shorter headers. In a browser, cookies of other pages of this host "
        "may be the cause: remove them.",
    ),
    ServerProblem(
        "not_implemented",
        501,
        "The method or the transfer coding is not known here.",
        "Use a method that the contract lists, and no transfer coding but chunked.",
    ),
    ServerProblem(
        "request_timeout",
        503,
        "The request took too long. It may have been done.",
        "Look whether it was done before you repeat it, or repeat it with the same mutation id.",
    ),
    ServerProblem(
        "too_many_connections",
        503,
        "Too many connections are open: try again later.",
        "Close connections that are not in use, or send one request after the other on the "
        "same connection, and try again.",
    ),
    ServerProblem(
        "http_version_not_supported",
        505,
        "HTTP/1.1 and 1.0 are served, and HTTP/2 where it is turned on.",
        "Use HTTP/1.1, or turn HTTP/2 on with the setting http2.",
    ),
)
# These the application answers, too.
_SHARED = {"invalid_request": 400, "body_timeout": 408, "internal_error": 500}
_STATUSES = {problem.code: problem.status for problem in SERVER_PROBLEMS} | _SHARED


class RequestRejected(Exception):
    """A request that can't be taken; nothing of it was done.

    ``status`` and ``code`` are for programs, ``detail`` is for people and says what was wrong
    and what to send instead. ``headers`` go with the answer.
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
    """The client left: what it asked for may have been done, and nobody learns of it.

    An application that sends meets it (an OSError, as ASGI 3.0 version 2.4 has it).
    """


def malformed(detail: str) -> RequestRejected:
    """Return the refusal of a request that is no HTTP, or HTTP that could be read in two ways."""
    return RequestRejected("invalid_request", detail)


def body_stopped() -> RequestRejected:
    """Return the refusal of a request whose body stopped arriving."""
    return RequestRejected(
        "body_timeout", "The body of the request stopped arriving; nothing was done."
    )


def request_too_slow(*, waiting_for_body: bool) -> RequestRejected:
    """Return the refusal of a request that took too long.

    Only where the application waited for the body is it sure that nothing was done. A 408 is
    sent again by clients and proxies without a question.
    """
    if waiting_for_body:
        return RequestRejected("body_timeout", "The body of the request took too long to arrive.")
    return RequestRejected(
        "request_timeout",
        "The request took too long. It may have been done: look before you repeat it.",
        headers=((b"retry-after", b"5"),),
    )
