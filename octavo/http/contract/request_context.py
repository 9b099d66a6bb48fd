"""The state of a request while it passes through the application."""

from collections.abc import Callable

import trio
from antechamber.asgi import EXTENSION, Event, Extension, Receive, Scope, Send
from antechamber.request_id import choose_request_id

from octavo.http.contract.call import Call
from octavo.http.contract.error_format import ErrorFormat
from octavo.http.contract.memory_budget import MemoryBudget
from octavo.http.contract.prepared_response import (
    CLIENT_LEFT,
    HTTP_EVENTS,
    ResponseEvents,
    ResponseWriter,
)
from octavo.http.contract.request_log import RequestRecord


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
        client: the client's address; None without one.
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
        "client",
        "errors",
        "exchange",
        "failure",
        "method",
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
        # As `client_of`.
        client = scope.get("client")
        self.client: str | None = client[0] if client else None
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
            send, self.request_id, memory, self.client, events, exchange, head_only=head_only
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
            client=self.client,
            request_bytes=self._received,
            response_bytes=self.writer.sent,
            principal=call.holder if call is not None and named else None,
            failure=failure,
            complete=self.writer.complete or not self.writer.begun,
        )
