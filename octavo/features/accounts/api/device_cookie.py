"""Read and set the cookie by which a browser is recognized that has signed in before.

It stays when its person signs out, and allows nothing but attempts of its own.
"""

from collections.abc import Sequence

from octavo.features.accounts.rules.device_token import DEVICE_TOKEN_SECONDS
from octavo.http.contract.problems import Header
from octavo.http.session_cookie import cookie_values

_NAME = b"__Host-octavo-device"
_ATTRIBUTES = b"Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=%d" % DEVICE_TOKEN_SECONDS
_CLEARED = b"Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0"
_LONGEST = 1_000


def device_tokens(headers: Sequence[Header]) -> str:
    """Return the value of the cookie in ``headers`` (names in lower case); empty without one."""
    values = cookie_values(headers, _NAME)
    return next((each.decode("latin-1") for each in values if len(each) <= _LONGEST), "")


def device_cookie(tokens: str) -> Header:
    """Return the header that sets the cookie, for as long as browsers keep one.

    Without tokens, it clears the cookie.
    """
    attributes = _ATTRIBUTES if tokens else _CLEARED
    return (b"set-cookie", b"%b=%b; %b" % (_NAME, tokens.encode(), attributes))
