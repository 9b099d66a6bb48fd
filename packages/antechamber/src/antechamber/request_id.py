"""The request id, which appears in the response, in problem details and in the log."""

import re
from collections.abc import Callable, Iterable

_ACCEPTED = re.compile(rb"[A-Za-z0-9._-]{1,128}")

RULE = "The header x-request-id must be one value of 1 to 128 letters, digits, '.', '_', '-'."
"""The detail of the error for an invalid header."""


def choose_request_id(
    headers: Iterable[tuple[bytes, bytes]], new_id: Callable[[], str]
) -> tuple[str, bool]:
    """Return the id of a request, and whether its ``x-request-id`` is valid.

    ``headers`` are those of the request, names in lower case. A single valid value is the id.
    Without one the id comes from ``new_id``; an invalid value, or several, must be rejected with
    400.
    """
    given: bytes | None = None
    for name, value in headers:
        if name == b"x-request-id":
            if given is not None:
                return new_id(), False
            given = value
    if given is None:
        return new_id(), True
    if _ACCEPTED.fullmatch(given) is None:
        return new_id(), False
    return given.decode("ascii"), True
