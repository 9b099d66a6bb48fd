"""One request on its way through the application, as far as it came."""

from collections.abc import Callable

from trio import current_time

from octavo.http.contract.call import Call, client_of
from octavo.http.contract.memory_budget import MemoryBudget
from octavo.http.contract.prepared_response import OF_HTTP, ResponseEvents, ResponseWriter
from octavo.http.contract.request_log import RequestRecord
from octavo.http.server.asgi import Event, Receive, Scope, Send, extension_of
from octavo.http.server.request_id import choose_request_id


class RequestContext:
    """What is known of a request until its record is written.

    Args:
        scope: of ASGI, for HTTP or for a WebSocket that is refused.
        receive: of ASGI.
        send: of ASGI.
        new_id: makes the id where the wire gives none.
        memory: counts what is sent piece by piece.
        events: by which the answer is sent.

    Attributes:
        accepted: False when the request's own id is refused.
        call: the call of an operation; None as long as none was found.
        failure: code of the problem that is answered; None for none.
    """

    __slots__ = (
        "_began",
        "_receive",
        "_received",
        "accepted",
        "call",
        "exchange",
        "failure",
        "method",
        "request_id",
        "scope",
        "transmission",
    )

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        new_id: Callable[[], str],
        memory: MemoryBudget,
        events: ResponseEvents = OF_HTTP,
    ) -> None:
        self._began = current_time()
        self._receive = receive
        self._received = 0
        self.scope = scope
        self.exchange = exchange = extension_of(scope)
        if exchange is None:
            self.request_id, self.accepted = choose_request_id(scope["headers"], new_id)
        else:
            self.request_id, self.accepted = exchange.request_id, exchange.request_id_accepted
        self.method: str = scope.get("method", "GET")
        head_only = self.method == "HEAD"
        self.transmission = ResponseWriter(
            send, self.request_id, memory, scope, events, exchange, head_only=head_only
        )
        self.call: Call | None = None
        self.failure: str | None = None

    def refused(self, code: str) -> None:
        """Note that the answer is the problem ``code``."""
        self.failure = code

    async def receive(self) -> Event:
        """Return the next event of the request. Cancelling loses none."""
        event = await self._receive()
        if event["type"] == "http.request":
            self._received += len(event.get("body", b""))
        return event

    def record(self) -> RequestRecord:
        """Return what the log is told of the request, which is over now."""
        call = self.call
        status, failure = self.transmission.status, self.failure
        if not self.transmission.begun and self.exchange is not None:
            # The wire ended the request, and answers in place of this application.
            status, failure = self.exchange.refused or (status, failure)
        principal = None if call is None else call.principal
        return RequestRecord(
            request_id=self.request_id,
            method=self.method,
            path=self.scope["path"],
            operation=None if call is None else call.operation.id,
            status=status,
            duration=current_time() - self._began,
            client=client_of(self.scope),
            request_bytes=self._received,
            response_bytes=self.transmission.sent,
            principal=None if principal is None else principal.name,
            failure=failure,
        )
