"""The state of a request while it passes through the application, and its line in the log.

A line of the log contains no body, no query string, no header, and no secret of a path.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

import trio
from antechamber.asgi import EXTENSION, Event, Extension, Receive, Scope, Send, choose_request_id

from octavo.http.contract.call import Call, remote_address_of
from octavo.http.contract.error_format import ErrorFormat
from octavo.http.contract.memory_budget import MemoryBudget
from octavo.http.contract.prepared_response import (
    CLIENT_LEFT,
    HTTP_EVENTS,
    ResponseEvents,
    ResponseWriter,
)

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
        remote_address: the client's address; None without one (a Unix socket).
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
    remote_address: str | None
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
            "client": record.remote_address,
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


class RequestContext:
    """What is known of a request until its record is written.

    Args:
        scope: the ASGI scope, for HTTP or for a WebSocket that is refused.
        receive: the ASGI callable.
        send: the ASGI callable.
        new_id: generates the request id under other servers.
        memory: the budget of streamed responses.
        events: the event types to send.
        elapsed: returns a time in seconds, for the duration in the record.

    Attributes:
        accepted: False when the request has an invalid id.
        remote_address: the client's address; None without one.
        call: the call of an operation; None until one was found.
        errors: the format of refusals at the path; None for problem details.
        failure: code of the problem in the response; None without one.
    """

    __slots__ = (
        "_began",
        "_elapsed",
        "_receive",
        "_received",
        "accepted",
        "call",
        "errors",
        "exchange",
        "failure",
        "method",
        "remote_address",
        "request_id",
        "scope",
        "writer",
    )

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        new_id: Callable[[], str],
        memory: MemoryBudget,
        events: ResponseEvents = HTTP_EVENTS,
        elapsed: Callable[[], float] = trio.current_time,
    ) -> None:
        self._elapsed = elapsed
        self._began = elapsed()
        self._receive = receive
        self._received = 0
        self.scope = scope
        self.remote_address = remote_address_of(scope)
        extensions = scope.get("extensions")
        exchange: Extension | None = extensions.get(EXTENSION) if extensions else None
        self.exchange = exchange
        if exchange is None:
            self.request_id, self.accepted = choose_request_id(scope["headers"], new_id)
        else:
            self.request_id, self.accepted = exchange.request_id, exchange.request_id_accepted
        self.method: str = scope.get("method", "GET")
        head_only = self.method == "HEAD"
        self.writer = ResponseWriter(
            send,
            self.request_id,
            memory,
            self.remote_address,
            events,
            exchange,
            head_only=head_only,
        )
        self.call: Call | None = None
        self.errors: ErrorFormat | None = None
        self.failure: str | None = None

    def refused(self, code: str) -> None:
        """Record that the response is the problem ``code``."""
        self.failure = code

    async def receive(self) -> Event:
        """Return the next event of the request. Cancellation loses no event."""
        event = await self._receive()
        if event["type"] == "http.request":
            self._received += len(event.get("body", b""))
        return event

    def record(self) -> RequestRecord:
        """Return the log record of the completed request."""
        call = self.call
        status, failure = self.writer.status, self.failure
        if status == CLIENT_LEFT and self.exchange is not None:
            # The server aborted the request, and responds instead of this application.
            status, failure = self.exchange.rejected or (status, failure)
        named = call is not None and call.principal is not None
        return RequestRecord(
            request_id=self.request_id,
            method=self.method,
            path=self.scope["path"],
            operation=None if call is None else call.operation.id,
            status=status,
            duration=self._elapsed() - self._began,
            remote_address=self.remote_address,
            request_bytes=self._received,
            response_bytes=self.writer.sent,
            principal=call.holder if call is not None and named else None,
            failure=failure,
            complete=self.writer.complete or not self.writer.begun,
        )
