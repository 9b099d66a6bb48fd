"""The id under which a request is known: in its answer, in its problem, in the log."""

import re
from collections.abc import Callable, Iterable

_ACCEPTED = re.compile(rb"[A-Za-z0-9._-]{1,128}")

RULE = "The header x-request-id takes one value of 1 to 128 letters, digits, '.', '_', '-'."
"""What to tell a client whose header is refused."""


def choose_request_id(
    headers: Iterable[tuple[bytes, bytes]], new_id: Callable[[], str]
) -> tuple[str, bool]:
    """Return the id of a request, and whether its ``x-request-id`` can be accepted.

    ``headers`` are those of the request, names in lower case. A single value within the pattern
    is the id. With none given the id comes from ``new_id``; so it does for one outside the
    pattern and for several, which are to be answered with 400.
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
