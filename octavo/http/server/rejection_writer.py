"""How the wire answers by itself, in place of an application, and how that is logged."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from octavo.http.server.asgi import SocketAddress
from octavo.http.server.http1.head import Head, Headers, PartialHead
from octavo.http.server.problem_details import MEDIA_TYPE, problem_document
from octavo.http.server.proxies import Peer
from octavo.http.server.rejection import RequestRejected
from octavo.http.server.response import encode_head

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RejectedRequest:
    """A request that the wire answered by itself, for the log.

    ``method`` and ``path`` are as far as they could be read; ``size`` is the body's of the
    answer, in bytes. ``seen`` says that the application had the request, and may have logged it.
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
    """The answers that one wire gives by itself.

    Args:
        new_id: makes request ids.
        client_of: answers address and scheme of the client behind a peer, by its headers.
        date: the line of the date header now.
        problem_base: the public address that the types of problems begin with.
        log_refused: is told of each.
    """

    def __init__(
        self,
        *,
        new_id: Callable[[], str],
        client_of: Callable[[Peer, Headers], tuple[SocketAddress | None, str]],
        date: Callable[[], bytes],
        problem_base: str,
        log_refused: Callable[[RejectedRequest], None],
    ) -> None:
        self._new_id = new_id
        self._client_of = client_of
        self._date = date
        self._problem_base = problem_base
        self._log_refused = log_refused

    def answer_unseen(
        self,
        refusal: RequestRejected,
        peer: Peer,
        asked: Head | PartialHead | None = None,
        *,
        head_only: bool = False,
    ) -> bytes:
        """Answer, as bytes for HTTP/1.1, the refusal of what no application saw; have it logged."""
        request_id = self._new_id()
        self.log(refusal, request_id, peer, asked)
        return self.answer(refusal, request_id, head_only=head_only)

    def log(
        self,
        refusal: RequestRejected,
        request_id: str,
        peer: Peer,
        asked: Head | PartialHead | None,
        *,
        seen: bool = False,
    ) -> None:
        """Have it logged that the wire answered ``refusal``, also in place of an application."""
        try:
            self._tell(refusal, request_id, peer, asked, seen=seen)
        except Exception as error:  # noqa: BLE001  # a log that fails costs no answer
            _log.error("the log of refusals failed for %s", request_id, exc_info=error)

    def answer(self, refusal: RequestRejected, request_id: str, *, head_only: bool) -> bytes:
        """Answer, as bytes for HTTP/1.1, what tells of ``refusal`` and of the close behind it."""
        headers, body = self.parts(refusal, request_id)
        head = encode_head(
            refusal.status,
            headers,
            self._date(),
            head_only=head_only,
            modern=True,
            whole=len(body),
            close=True,
        )
        return head.data if head_only else head.data + body

    def parts(self, refusal: RequestRejected, request_id: str) -> tuple[Headers, bytes]:
        """Return headers and body that tell of ``refusal``."""
        body = problem_document(
            refusal.status,
            refusal.code,
            refusal.detail,
            request_id,
            base=self._problem_base,
        )
        headers = [
            (b"content-type", MEDIA_TYPE.encode()),
            (b"cache-control", b"no-store"),
            (b"x-request-id", request_id.encode()),
            (b"x-content-type-options", b"nosniff"),
            *refusal.headers,
        ]
        return headers, body

    def _tell(
        self,
        refusal: RequestRejected,
        request_id: str,
        peer: Peer,
        asked: Head | PartialHead | None,
        *,
        seen: bool,
    ) -> None:
        client = peer.client if asked is None else self._client_of(peer, asked.headers)[0]
        self._log_refused(
            RejectedRequest(
                request_id,
                refusal.status,
                refusal.code,
                None if client is None else client[0],
                len(self.parts(refusal, request_id)[1]),
                "" if asked is None else asked.method,
                "" if asked is None else asked.path,
                seen,
            )
        )
