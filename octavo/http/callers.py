"""What operations require of their caller, and the session cookie that names one.

With its prefix ``__Host-`` browsers accept the cookie only from this host, over HTTPS and for all
paths (RFC 6265bis section 4.1.3.2), so other hosts of the domain cannot set one.
"""

from collections.abc import Iterator, Sequence

from octavo_rules.problems import Forbidden, Header, WrongOrigin

from octavo.access.caller import Caller
from octavo.http import contract

_NAME = b"__Host-octavo"
_ATTRIBUTES = b"Path=/; Secure; HttpOnly; SameSite=Lax"

SET_COOKIE = {
    "set-cookie": "The session cookie, and one by which the browser is recognized at its next "
    "sign-in."
}
"""Declares that the response sets or clears the cookies."""


def cookie_values(headers: Sequence[Header], name: bytes) -> Iterator[bytes]:
    """Yield each value of the cookie ``name`` in ``headers``, whose names are in lower case."""
    for header, value in headers:
        if header == b"cookie" and name in value:
            for pair in value.split(b";"):
                cookie, _, content = pair.strip().partition(b"=")
                if cookie == name:
                    yield content


def session_token(headers: Sequence[Header]) -> bytes | None:
    """Return the token in the cookie of ``headers`` (names in lower case); None without one.

    Two cookies of the name with different values are ambiguous, and count as none.
    """
    tokens = set(cookie_values(headers, _NAME))
    return tokens.pop() or None if len(tokens) == 1 else None


def session_cookie(token: str, max_age: int | None) -> Header:
    """Return the header that sets the cookie, for ``max_age`` seconds unless None.

    The browser keeps it for the maximum lifetime of the session. The server enforces the idle
    timeout, so the cookie need not be set again with each request.
    """
    lasting = b"" if max_age is None else b"; Max-Age=%d" % max_age
    return (b"set-cookie", b"%b=%b; %b%b" % (_NAME, token.encode(), _ATTRIBUTES, lasting))


def cleared_cookie() -> Header:
    """Return the header that clears the cookie."""
    return (b"set-cookie", b"%b=; %b; Max-Age=0" % (_NAME, _ATTRIBUTES))


def token_that_is_set(headers: Sequence[Header]) -> bytes | None:
    """Return the token in a header that sets the cookie; None without one."""
    for name, value in headers:
        if name == b"set-cookie" and value.startswith(_NAME + b"="):
            return value.partition(b";")[0].partition(b"=")[2] or None
    return None


def caller_of(call: contract.Call) -> Caller:
    """Return the caller of an operation."""
    return call.principal_as(Caller)


def require_administrator(call: contract.Call) -> Caller:
    """Return the caller. Raises `Forbidden` unless that is an administrator."""
    caller = caller_of(call)
    if caller.role != "administrator":
        raise Forbidden("This requires an administrator of the installation.")
    return caller


def origin_of(headers: Sequence[Header]) -> bytes | None:
    """Return the ``origin`` of ``headers``; None when it is missing or repeated."""
    origins = [value for name, value in headers if name == b"origin"]
    return origins[0] if len(origins) == 1 else None


def require_origin(headers: Sequence[Header], origin: str) -> None:
    """Raise `WrongOrigin` unless ``headers`` name ``origin``.

    For operations before signing in, so that another site cannot sign a visitor in to its own
    account. Programs other than browsers set the header themselves.
    """
    sent = origin_of(headers)
    if sent != origin.encode():
        came = "has no origin header" if sent is None else "comes from another origin"
        raise WrongOrigin(
            f"This installation is used at {origin}, and the request {came}. Use that address.",
            members={"publicUrl": origin},
        )


def refuse_other_origin(headers: Sequence[Header], origin: str) -> None:
    """Raise `WrongOrigin` when ``headers`` name another origin; the header may be missing.

    For reading: browsers omit the header in requests to the page's own origin.
    """
    if any(name == b"origin" for name, _ in headers):
        require_origin(headers, origin)
