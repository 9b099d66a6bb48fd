"""Read one cookie of a request (RFC 6265 section 4.2); the others are not parsed."""

from collections.abc import Iterator, Sequence

from octavo.http.contract.problems import Header


def cookie_values(headers: Sequence[Header], name: bytes) -> Iterator[bytes]:
    """Yield each value of the cookie ``name`` in ``headers``, whose names are in lower case."""
    for header, value in headers:
        if header == b"cookie" and name in value:
            for pair in value.split(b";"):
                cookie, _, content = pair.strip().partition(b"=")
                if cookie == name:
                    yield content
