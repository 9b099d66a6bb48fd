"""Who calls: by an API key or by the cookie of a session, and from which pages.

A key goes before a cookie. A program shows it on purpose, while a browser sends its cookie along
with whatever a page asks for; so with the cookie, and only then, a change must come from the
pages of the installation itself, by the ``origin`` header that browsers set and pages can't
(Fetch, section 3.2).

The rate classes of the contract, counted for each client.
"""

from collections.abc import Sequence

from octavo.accounts.attempts import Attempts
from octavo.accounts.caller import Caller
from octavo.accounts.credentials import Credentials
from octavo.http.api.auth_protocol import is_protocol, protocol_errors
from octavo.http.api.session_cookie import session_token
from octavo.http.contract.call import Call
from octavo.http.contract.problems import Header, KeyRefused, NotSignedIn, WrongOrigin
from octavo.http.server.client_network import client_network

_BEARER = b"bearer "
_HARMLESS = frozenset({"GET", "HEAD", "OPTIONS"})


class SessionOrKey:
    """Authenticates the operations of `Security.SESSION_OR_KEY`.

    Args:
        credentials: knows sessions and keys.
        origin: of the installation, such as ``https://notes.example.org``.
    """

    def __init__(self, credentials: Credentials, *, origin: str) -> None:
        self._credentials = credentials
        self._origin = origin

    async def authenticate(self, call: Call) -> Caller:
        """Return who calls.

        Raises as `identify`, and `StoreUnavailable`. Cancelling changes nothing.
        """
        scope = call.scope
        return await self.identify(scope["headers"], changes=scope["method"] not in _HARMLESS)

    async def identify(self, headers: Sequence[Header], *, changes: bool) -> Caller:
        """Return who sent ``headers``, names in lower case.

        ``changes`` says that the request is one that another site must not be able to cause: a
        change, or the handshake of a WebSocket. An ``authorization`` of another scheme than
        Bearer, which may belong to a proxy in between, is passed over.

        Raises:
            NotSignedIn: there is no key, and no cookie that opens an account.
            KeyRefused: the key opens none, whatever the cookie does.
            WrongOrigin: the cookie counts, and the request comes from elsewhere.
        """
        for name, value in headers:
            if name == b"authorization" and value[:7].lower() == _BEARER:
                caller = await self._credentials.of_key(value[7:])
                if caller is None:
                    raise KeyRefused
                return caller
        token = session_token(headers)
        if token is None:
            raise NotSignedIn
        if changes:
            require_origin(headers, self._origin)
        caller = await self._credentials.of_session(token)
        if caller is None:
            raise NotSignedIn
        return caller


def origin_of(headers: Sequence[Header]) -> bytes | None:
    """Return the one ``origin`` of ``headers``; None for none, and for several."""
    found = [value for name, value in headers if name == b"origin"]
    return found[0] if len(found) == 1 else None


def require_origin(headers: Sequence[Header], origin: str) -> None:
    """Raise `WrongOrigin` unless ``headers`` say that the request comes from ``origin``.

    For what nobody is signed in for yet, so that another site can't sign a visitor in to an
    account of its own. A program that is no browser sends the header itself.
    """
    found = origin_of(headers)
    if found != origin.encode():
        came = "names no origin" if found is None else "comes from elsewhere"
        raise WrongOrigin(
            f"This installation is used at {origin}, and the request {came}: open it there.",
            members={"publicUrl": origin},
        )


def refuse_other_origin(headers: Sequence[Header], origin: str) -> None:
    """Raise `WrongOrigin` when ``headers`` name another origin; they may name none.

    For reading: browsers leave the header out where a page asks its own origin.
    """
    if any(name == b"origin" for name, _ in headers):
        require_origin(headers, origin)


class AttemptLimiter:
    """Holds back clients that call operations of a rate class too often.

    Args:
        attempts: counts them; it has a rate for each rate class that the contract has.
    """

    def __init__(self, attempts: Attempts) -> None:
        self._attempts = attempts

    async def admit(self, rate_class: str, call: Call) -> None:
        """Count ``call`` in ``rate_class``; raises `RateLimited`, and KeyError for no class."""
        with protocol_errors(told=is_protocol(call)):
            self._attempts.admit_client(rate_class, client_network(call.client))
