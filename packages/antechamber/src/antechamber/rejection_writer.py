"""Write and log the responses that the server sends instead of the application."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from antechamber.asgi import SocketAddress
from antechamber.head import NOTHING_READ, Head, Headers, PartialHead
from antechamber.proxies import Peer
from antechamber.rejection import MEDIA_TYPE, RequestRejected, problem_document
from antechamber.response import encode_head

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RejectedRequest:
    """A rejected request, for the log.

    ``method`` and ``path`` are empty where they could not be read; ``size`` is the size of the
    response body in bytes. ``seen`` is whether the application received the request and may have
    logged it.
    """

    request_id: str
    status: int
    code: str
    client: str | None
    size: int
    method: str = ""
    path: str = ""
    seen: bool = False


class RejectionWriter:
    """Writes the rejections of one server.

    Args:
        new_id: generates request ids.
        client_of: returns the client's address and scheme for a peer and its headers.
        date: returns the current line of the date header.
        problem_base: the public address that problem types begin with.
        log_rejected: receives each rejected request.
    """

    def __init__(
        self,
        *,
        new_id: Callable[[], str],
        client_of: Callable[[Peer, Headers], tuple[SocketAddress | None, str]],
        date: Callable[[], bytes],
        problem_base: str,
        log_rejected: Callable[[RejectedRequest], None],
    ) -> None:
        self._new_id = new_id
        self._client_of = client_of
        self._date = date
        self._problem_base = problem_base
        self._log_rejected = log_rejected

    def reject(
        self,
        rejection: RequestRejected,
        peer: Peer,
        requested: PartialHead = NOTHING_READ,
        *,
        head_only: bool = False,
    ) -> bytes:
        """Log a rejection before the application saw the request; return its response."""
        request_id = self._new_id()
        self.log(rejection, request_id, peer, requested)
        return self.response(rejection, request_id, head_only=head_only)

    def log(
        self,
        rejection: RequestRejected,
        request_id: str,
        peer: Peer,
        requested: Head | PartialHead,
        *,
        seen: bool = False,
    ) -> None:
        """Log that the server responded with ``rejection``, possibly instead of the application."""
        try:
            self._log_rejection(rejection, request_id, peer, requested, seen=seen)
        except Exception as error:  # noqa: BLE001  # a failing log must not prevent the response
            _log.error("the rejection log failed for %s", request_id, exc_info=error)

    def response(self, rejection: RequestRejected, request_id: str, *, head_only: bool) -> bytes:
        """Return the response of ``rejection``, which announces the close."""
        body = self._body(rejection, request_id)
        headers = (
            (b"content-type", MEDIA_TYPE.encode()),
            (b"cache-control", b"no-store"),
            (b"x-request-id", request_id.encode()),
            (b"x-content-type-options", b"nosniff"),
            *rejection.headers,
        )
        head, *_ = encode_head(
            rejection.status,
            headers,
            self._date(),
            head_only=head_only,
            is_http_1_1=True,
            whole=len(body),
            close=True,
        )
        return head if head_only else head + body

    def _body(self, rejection: RequestRejected, request_id: str) -> bytes:
        return problem_document(
            rejection.status,
            rejection.code,
            rejection.detail,
            request_id,
            base=self._problem_base,
        )

    def _log_rejection(
        self,
        rejection: RequestRejected,
        request_id: str,
        peer: Peer,
        requested: Head | PartialHead,
        *,
        seen: bool,
    ) -> None:
        client, _ = self._client_of(peer, requested.headers)
        self._log_rejected(
            RejectedRequest(
                request_id,
                rejection.status,
                rejection.code,
                None if client is None else client[0],
                len(self._body(rejection, request_id)),
                requested.method,
                requested.path,
                seen,
            )
        )
