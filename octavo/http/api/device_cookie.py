"""Read and set the cookie by which a browser is recognized that has signed in before.

It stays when its person signs out, and allows nothing but attempts of its own.
"""

from collections.abc import Sequence

from octavo.http.contract.problems import Header

_NAME = b"__Host-octavo-device"
DEVICE_COOKIE_SECONDS = 400 * 86_400
"""Browsers keep no cookie for longer."""
_ATTRIBUTES = b"Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=%d" % DEVICE_COOKIE_SECONDS
_CLEARED = b"Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0"
_LONGEST = 1_000


def device_tokens(headers: Sequence[Header]) -> str:
    """Return the value of the cookie in ``headers`` (names in lower case); empty without one."""
    for name, value in headers:
        if name == b"cookie" and _NAME in value:
            for pair in value.split(b";"):
                cookie, _, tokens = pair.strip().partition(b"=")
                if cookie == _NAME and len(tokens) <= _LONGEST:
                    return tokens.decode("latin-1")
    return ""


def device_cookie(tokens: str) -> Header:
    """Return the header that sets the cookie, for as long as browsers keep one."""
    return (b"set-cookie", b"%b=%b; %b" % (_NAME, tokens.encode(), _ATTRIBUTES))


def cleared_device_cookie() -> Header:
    """Return the header that clears the cookie."""
    return (b"set-cookie", b"%b=; %b" % (_NAME, _CLEARED))
