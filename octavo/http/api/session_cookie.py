"""The cookie of a session: read from a request, set and cleared by an answer.

Its prefix ``__Host-`` makes a browser refuse it from any other host, over plain HTTP and for a
part of the paths (RFC 6265bis section 4.1.3.2), so no neighbour can plant one.
"""

from collections.abc import Sequence

from octavo.http.contract.problems import Header

_NAME = b"__Host-octavo"
_ATTRIBUTES = b"Path=/; Secure; HttpOnly; SameSite=Lax"

SET_COOKIE = {"set-cookie": "The cookie of the session."}
"""How an operation declares that its answer sets or clears the cookie."""


def session_token(headers: Sequence[Header]) -> bytes | None:
    """Return the token that the cookie in ``headers`` (names in lower case) holds; None for none.

    Two cookies of the name with other values are none: nobody can say which one counts.
    """
    found: bytes | None = None
    for name, value in headers:
        if name != b"cookie" or _NAME not in value:
            continue
        for pair in value.split(b";"):
            cookie, _, token = pair.strip().partition(b"=")
            if cookie == _NAME:
                if found is not None and found != token:
                    return None
                found = token
    return found or None


def session_cookie(token: str, max_age: int | None) -> Header:
    """Return the header that sets the cookie for ``max_age`` seconds; None: until the browser ends.

    The browser keeps it as long as the session can last at all. When it was idle too long is the
    server's to say, so that the cookie need not be set anew with each request.
    """
    lasting = b"" if max_age is None else b"; Max-Age=%d" % max_age
    return (b"set-cookie", b"%b=%b; %b%b" % (_NAME, token.encode(), _ATTRIBUTES, lasting))


def cleared_cookie() -> Header:
    """Return the header that removes the cookie."""
    return (b"set-cookie", b"%b=; %b; Max-Age=0" % (_NAME, _ATTRIBUTES))
