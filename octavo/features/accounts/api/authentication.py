"""Authenticate by API key, session cookie or operator token, and limit attempts per client.

A key takes precedence over a cookie. Programs send a key deliberately, while browsers attach the
cookie to every request, whatever page causes it. Therefore requests that change something with a
cookie must come from the pages of the installation, according to the ``origin`` header, which
browsers set and pages cannot change (Fetch, section 3.2).
"""

from collections.abc import Sequence
from typing import Annotated

from antechamber.network_prefix import network_prefix
from octavo_rules.problems import CredentialRefused, Header, KeyRefused, NotSignedIn, OperatorOff
from pydantic import Field

from octavo.access.attempts import Attempts
from octavo.access.audit import RefusedAttempts
from octavo.access.caller import Caller, Operator
from octavo.features.accounts.api.auth_protocol import is_protocol, protocol_errors
from octavo.features.accounts.credentials import Credentials
from octavo.features.accounts.rules.device_token import DEVICE_TOKEN_SECONDS
from octavo.features.accounts.rules.password import LONGEST as LONGEST_PASSWORD
from octavo.features.accounts.rules.password import SHORTEST as SHORTEST_PASSWORD
from octavo.features.legal.rules import NO_TEXTS, ConsentDue, LegalTexts
from octavo.http import contract
from octavo.http.callers import cookie_values, require_origin, session_token
from octavo.model.access.token import digest_of, is_operator_token

NewPassword = Annotated[
    str,
    Field(
        repr=False,
        json_schema_extra={"minLength": SHORTEST_PASSWORD, "maxLength": LONGEST_PASSWORD},
    ),
]
"""A new password; its length is counted in Unicode form NFKC."""


_NAME = b"__Host-octavo-device"
_ATTRIBUTES = b"Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=%d" % DEVICE_TOKEN_SECONDS
_CLEARED = b"Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0"
_LONGEST = 1_000


def device_tokens(headers: Sequence[Header]) -> str:
    """Return the value of the cookie in ``headers`` (names in lower case); empty without one."""
    values = cookie_values(headers, _NAME)
    return next((value.decode("latin-1") for value in values if len(value) <= _LONGEST), "")


def device_cookie(tokens: str) -> Header:
    """Return the header that sets the cookie, for as long as browsers keep one.

    Without tokens, it clears the cookie.
    """
    attributes = _ATTRIBUTES if tokens else _CLEARED
    return (b"set-cookie", b"%b=%b; %b" % (_NAME, tokens.encode(), attributes))


_BEARER = b"bearer "
_CREDENTIALS = frozenset({b"authorization", b"cookie", b"origin"})
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class SessionOrKey:
    """Authenticates the operations of `Security.SESSION_OR_KEY`.

    Args:
        credentials: verifies sessions and keys.
        origin: of the installation, such as ``https://notes.example.org``.
        legal: the documents that accounts must have accepted.
    """

    def __init__(
        self, credentials: Credentials, *, origin: str, legal: LegalTexts = NO_TEXTS
    ) -> None:
        self._credentials = credentials
        self._origin = origin
        self._legal = legal

    async def authenticate(self, call: contract.Call) -> Caller:
        """Return the caller.

        Raises what `identify` raises, `StoreUnavailable`, and `ConsentDue` when the caller must
        accept documents before this operation. Cancellation changes nothing.
        """
        scope = call.scope
        caller = await self.identify(scope["headers"], changes=scope["method"] not in _SAFE_METHODS)
        # The pipeline refuses locked accounts, whatever they accept.
        restricted = call.operation.locked is contract.Locked.REFUSED and not caller.locked
        if restricted and caller.consent_due:
            raise ConsentDue(self._legal)
        return caller

    async def identify(self, headers: Sequence[Header], *, changes: bool) -> Caller:
        """Return the caller that sent ``headers``, names in lower case.

        ``changes`` is whether other sites must not be able to cause the request: a change, or a
        WebSocket handshake. An ``authorization`` header of a scheme other than Bearer, perhaps
        meant for a proxy, is ignored.

        Raises:
            NotSignedIn: there is no key, and no cookie of a valid session.
            KeyRefused: the key is invalid, whatever the cookie.
            WrongOrigin: the session is valid, and the request comes from another origin.
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


def credential_headers(headers: Sequence[Header]) -> list[Header]:
    """Return those of ``headers`` that `SessionOrKey.identify` looks at."""
    return [header for header in headers if header[0] in _CREDENTIALS]


class OperatorTokens:
    """Authenticates the operations of `Security.OPERATOR`.

    Args:
        digests: the SHA-256 digests of the tokens, in hexadecimal; several while tokens change.
            Without any, the operator API is off.
        refused: counts refused tokens.
    """

    def __init__(self, digests: Sequence[str], refused: RefusedAttempts) -> None:
        self._refused = refused
        self._digests = frozenset(bytes.fromhex(digest) for digest in digests)

    async def authenticate(self, call: contract.Call) -> Operator:
        """Return the operator. Raises `OperatorOff`, `NotSignedIn` and `CredentialRefused`."""
        if not self._digests:
            raise OperatorOff
        header = call.header(b"authorization") or b""
        if header[:7].lower() != _BEARER:
            raise NotSignedIn("Send the operator token as authorization: Bearer.")
        token = header[7:]
        if not is_operator_token(token) or digest_of(token) not in self._digests:
            self._refused.note(
                CredentialRefused.code, call.operation.id, remote_address=call.remote_address
            )
            raise CredentialRefused("The operator token is not one of this installation.")
        return Operator()


class AttemptLimiter:
    """Limits the attempts of clients per rate class.

    Args:
        attempts: counts them, with a rate for each rate class of the contract.
    """

    def __init__(self, attempts: Attempts) -> None:
        self._attempts = attempts

    async def admit(self, rate_class: str, call: contract.Call) -> None:
        """Count ``call`` in ``rate_class``. Raises `RateLimited`; KeyError for an unknown class."""
        with protocol_errors(enabled=is_protocol(call)):
            self._attempts.admit_client(rate_class, network_prefix(call.remote_address))
