"""The tag ``auth``: sign in with a password, and out, in the form of an authentication library."""

from typing import Literal

from pydantic import Field
from pydantic_core import MISSING

from octavo.accounts.sign_in import SignIn
from octavo.http.api.auth_protocol import (
    AuthSessionDetails,
    AuthUser,
    details_of,
    leads_elsewhere,
    protocol_body,
    protocol_errors,
    user_of,
)
from octavo.http.api.authentication import refuse_other_origin, require_origin
from octavo.http.api.session_cookie import SET_COOKIE, cleared_cookie, session_cookie, session_token
from octavo.http.contract.call import Call
from octavo.http.contract.contract_model import ContractModel
from octavo.http.contract.operation import Security, operation
from octavo.http.contract.problems import CredentialRefused, InvalidRequest, WrongOrigin
from octavo.http.contract.reply import Reply
from octavo.http.contract.unavailable import OF_READING, OF_STORE
from octavo.model.accounts.address import Address, parse_address
from octavo.model.accounts.session import SessionLife
from octavo.model.label import device_of

_LONGEST_BODY = 16_384
_LONGEST_URL = 2_000


class AuthPasswordSignIn(ContractModel):
    """An address and its password."""

    email: str = Field(max_length=1_000)
    password: str = Field(repr=False)
    callback_url: str | None = Field(None, alias="callbackURL", max_length=_LONGEST_URL)
    """Where the browser wants to go then: an address of this installation."""
    remember_me: bool = True
    """False: the browser forgets the session when it is closed."""


class AuthSession(ContractModel):
    """Somebody signed in: the cookie holds the session."""

    redirect: bool
    """Whether ``url`` says where to go."""
    url: str | MISSING = MISSING
    user: AuthUser


class AuthSessionState(ContractModel):
    """The session of the request, and its account."""

    session: AuthSessionDetails
    user: AuthUser


class AuthSignOut(ContractModel):
    """Nothing is told to sign out."""


class AuthSignOutResult(ContractModel):
    """The session has ended, if there was one."""

    success: Literal[True] = True


class SessionQuery(ContractModel):
    """What the library's client may ask for; nothing hangs on it here."""

    disable_cookie_cache: bool = False
    """No session is ever answered from a cookie alone."""
    disable_refresh: bool = False
    """Asking for the session does not make it last longer."""


class AuthOperations:
    """Sessions by password.

    Args:
        signing_in: begins and ends them.
        life: how long they last.
        origin: of the installation, such as ``https://notes.example.org``.
    """

    def __init__(self, signing_in: SignIn, *, life: SessionLife, origin: str) -> None:
        self._signing_in = signing_in
        self._life = life
        self._origin = origin

    @operation(
        id="signInWithPassword",
        method="POST",
        path="/api/auth/sign-in/email",
        tag="auth",
        summary="Sign in with address and password",
        description="Sets the cookie of the session. The header `origin` has to name this "
        "installation; a program that is no browser sets it itself.",
        security=Security.NONE,
        problems=(CredentialRefused, WrongOrigin, *OF_STORE),
        body=protocol_body(AuthPasswordSignIn, limit=_LONGEST_BODY),
        rate="sign-in",
        headers=SET_COOKIE,
    )
    async def sign_in(self, call: Call, body: AuthPasswordSignIn) -> Reply[AuthSession]:
        """Begin a session."""
        with protocol_errors():
            require_origin(call.headers, self._origin)
            address = self._checked(body)
            signed_in = await self._signing_in.sign_in(
                address, body.password, device_of(call.header(b"user-agent")), call.client
            )
        max_age = int(self._life.absolute) if body.remember_me else None
        url = body.callback_url
        return Reply(
            AuthSession(
                redirect=url is not None,
                url=MISSING if url is None else url,
                user=user_of(signed_in.account),
            ),
            (session_cookie(signed_in.token, max_age),),
        )

    def _checked(self, body: AuthPasswordSignIn) -> Address:
        if body.callback_url is not None and leads_elsewhere(body.callback_url, self._origin):
            message = "This leads away from the installation: give a path, such as /notes."
            raise InvalidRequest(errors=[("/callbackURL", message)])
        try:
            return parse_address(body.email)
        except ValueError as error:
            raise InvalidRequest(errors=[("/email", str(error))]) from None

    @operation(
        id="getAuthSession",
        method="GET",
        path="/api/auth/get-session",
        tag="auth",
        summary="The session of this request",
        description="Null when the request has no cookie, or one that opens nothing.",
        security=Security.NONE,
        problems=(WrongOrigin, *OF_READING),
    )
    async def get_session(self, call: Call, query: SessionQuery) -> AuthSessionState | None:
        """Return the session that the cookie names; None for none."""
        with protocol_errors():
            refuse_other_origin(call.headers, self._origin)
            token = session_token(call.headers)
            found = None if token is None else await self._signing_in.session_of(token)
        if found is None:
            return None
        return AuthSessionState(
            session=details_of(found.session, self._life), user=user_of(found.account)
        )

    @operation(
        id="signOut",
        method="POST",
        path="/api/auth/sign-out",
        tag="auth",
        summary="Sign out",
        description="Ends the session of the cookie, if it names one, and clears the cookie.",
        security=Security.NONE,
        problems=(WrongOrigin, *OF_STORE),
        body=protocol_body(AuthSignOut, limit=_LONGEST_BODY),
        finish_when_client_leaves=True,
        headers=SET_COOKIE,
    )
    async def sign_out(self, call: Call, body: AuthSignOut) -> Reply[AuthSignOutResult]:
        """End the session."""
        with protocol_errors():
            require_origin(call.headers, self._origin)
            token = session_token(call.headers)
            if token is not None:
                await self._signing_in.sign_out(token)
        return Reply(AuthSignOutResult(), (cleared_cookie(),))
