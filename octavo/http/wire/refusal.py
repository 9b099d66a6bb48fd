"""What the wire itself refuses, before or beside the application: the tree of its errors.

::

    Refusal       the request can't be taken: it is answered, and its connection closed
    ClientGone    the client left, or its connection broke: there is nobody to answer
"""

from typing import ClassVar


class Refusal(Exception):
    """A request that can't be taken; nothing of it was done.

    ``status`` and ``code`` are for programs, ``detail`` is for people and says what was wrong
    and what to send instead. ``headers`` go with the answer.
    """

    #: The codes that the wire answers, each with the status that it always has.
    STATUSES: ClassVar[dict[str, int]] = {
        "invalid_request": 400,
        "head_timeout": 408,
        "body_timeout": 408,
        "target_too_long": 414,
        "expectation_failed": 417,
        "websocket_version": 426,
        "head_too_large": 431,
        "internal_error": 500,
        "not_implemented": 501,
        "request_timeout": 503,
        "too_many_connections": 503,
        "http_version_not_supported": 505,
    }

    def __init__(
        self, code: str, detail: str, *, headers: tuple[tuple[bytes, bytes], ...] = ()
    ) -> None:
        super().__init__(detail)
        self.status = self.STATUSES[code]
        self.code = code
        self.detail = detail
        self.headers = headers


class ClientGone(OSError):
    """The client left: what it asked for may have been done, and nobody learns of it.

    An application that sends meets it (an OSError, as ASGI 3.0 version 2.4 has it).
    """


def malformed(detail: str) -> Refusal:
    """Answer the refusal of a request that is no HTTP, or HTTP that could be read in two ways."""
    return Refusal("invalid_request", detail)
