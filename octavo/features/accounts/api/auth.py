"""The tag ``auth``, in the protocol of better-auth: signing in, new and forgotten passwords."""

from typing import Literal

from attrs import define
from octavo_rules import problems
from pydantic import Field
from pydantic_core import MISSING

from octavo.features.accounts.api import auth_protocol
from octavo.features.accounts.api.auth_protocol import AUTH_PROBLEMS, protocol_body, protocol_errors
from octavo.features.accounts.api.authentication import NewPassword, device_cookie, device_tokens
from octavo.features.accounts.own_account import OwnPassword
from octavo.features.accounts.password_reset import PasswordReset, PasswordUnsuitable
from octavo.features.accounts.rules.password import password_fault
from octavo.features.accounts.rules.refusal import InvalidResetToken
from octavo.features.accounts.rules.session import SessionLife
from octavo.features.accounts.sign_in import KnownDevices, SignIn
from octavo.features.legal.rules import NO_TEXTS, ConsentDue, LegalTexts
from octavo.http import callers, contract
from octavo.http.pages.redirects import is_external_redirect
from octavo.model.access.account import Address, parse_address
from octavo.model.label import device_of

_LONGEST_BODY = 16_384
_LONGEST_URL = 2_000


class AuthPasswordSignIn(contract.Model):
    """An address and its password."""

    email: str = Field(max_length=1_000)
    password: str = Field(repr=False)
    callback_url: str | None = Field(None, alias="callbackURL", max_length=_LONGEST_URL)
    """Where the browser goes after signing in: an address of this installation."""
    remember_me: bool = True
    """If false, the browser discards the session when it is closed. Otherwise it also gets a cookie
    for 400 days, which proves that this account has signed in with it before."""


class AuthSession(contract.Model):
    """The new session; the cookie holds its token."""

    redirect: bool
    """Whether to redirect to ``url``."""
    url: str | MISSING = MISSING
    user: auth_protocol.AuthUser


class AuthSessionState(contract.Model):
    """The session of the request, and its account."""

    session: auth_protocol.AuthSessionDetails
    user: auth_protocol.AuthUser


class AuthPasswordChange(contract.Model):
    """A new password, and the present one."""

    new_password: NewPassword
    """10 to 256 characters; not a commonly guessed password."""
    current_password: str = Field(repr=False)
    revoke_other_sessions: bool = False
    """Whether every other browser is signed out."""


class AuthPasswordChanged(contract.Model):
    """The password is changed; the session of the request continues."""

    token: None = None
    """Always null: only the cookie holds the token."""
    user: auth_protocol.AuthUser


class AuthSignOut(contract.Model):
    """An empty object."""


class AuthSignOutResult(contract.Model):
    """Any session has ended."""

    success: Literal[True] = True


class SessionQuery(contract.Model):
    """Parameters of the library's client, which have no effect."""

    disable_cookie_cache: bool = False
    """Sessions are never read from a cookie cache."""
    disable_refresh: bool = False
    """Reading the session does not extend it."""


@define(eq=False)
class AuthOperations:
    """Sessions by password.

    Args:
        signing_in: the use case that begins and ends them.
        devices: recognizes browsers that have signed in before.
        own_password: the use case that changes passwords.
        life: their lifetime.
        origin: of the installation, such as ``https://notes.example.org``.
        legal: the documents that accounts must have accepted.
    """

    _signing_in: SignIn
    _devices: KnownDevices
    _own_password: OwnPassword
    _life: SessionLife
    _origin: str
    _legal: LegalTexts = NO_TEXTS

    @contract.operation(
        id="signInWithPassword",
        method="POST",
        path="/api/auth/sign-in/email",
        tag="auth",
        summary="Sign in with address and password",
        description="Sets the session cookie. The header `origin` must be that of this "
        "installation; programs other than browsers must set it themselves.",
        security=contract.Security.NONE,
        problems=(*AUTH_PROBLEMS, *problems.STORE_PROBLEMS),
        body=protocol_body(AuthPasswordSignIn, limit=_LONGEST_BODY),
        rate="sign-in",
        headers=callers.SET_COOKIE,
    )
    async def sign_in(
        self, call: contract.Call, body: AuthPasswordSignIn
    ) -> contract.Reply[AuthSession]:
        """Begin a session."""
        with protocol_errors():
            callers.require_origin(call.headers, self._origin)
            address = self._checked(body)
            max_age = int(self._life.absolute) if body.remember_me else None
            tokens = device_tokens(call.headers)
            signed_in = await self._signing_in.sign_in(
                address,
                body.password,
                device_of(call.header(b"user-agent")),
                call.remote_address,
                known=await self._devices.recognize(tokens, address),
            )
            cookies = [callers.session_cookie(signed_in.token, max_age)]
            if body.remember_me:
                cookies.append(device_cookie(await self._devices.remember(tokens, signed_in)))
            elif tokens:
                # On a shared computer, forget the account.
                cookies.append(device_cookie(await self._devices.forget(tokens, address)))
        url = body.callback_url
        return contract.Reply(
            AuthSession(
                redirect=url is not None,
                url=MISSING if url is None else url,
                user=auth_protocol.user_of(signed_in.account),
            ),
            tuple(cookies),
        )

    def _checked(self, body: AuthPasswordSignIn) -> Address:
        if body.callback_url is not None and is_external_redirect(body.callback_url, self._origin):
            message = "This address is outside the installation: use a path, such as /notes."
            raise problems.InvalidRequest(errors=[("/callbackURL", message)])
        try:
            return parse_address(body.email)
        except ValueError as error:
            raise problems.InvalidRequest(errors=[("/email", str(error))]) from None

    @contract.operation(
        id="getAuthSession",
        method="GET",
        path="/api/auth/get-session",
        tag="auth",
        summary="Get the session of this request",
        description="Null when the request has no cookie of a valid session.",
        security=contract.Security.NONE,
        problems=(*AUTH_PROBLEMS, *problems.READ_PROBLEMS),
    )
    async def get_session(
        self, call: contract.Call, query: SessionQuery
    ) -> AuthSessionState | None:
        """Return the session of the cookie; None without a valid one."""
        with protocol_errors():
            callers.refuse_other_origin(call.headers, self._origin)
            token = callers.session_token(call.headers)
            open_session = None if token is None else await self._signing_in.session_of(token)
        if open_session is None:
            return None
        return AuthSessionState(
            session=auth_protocol.details_of(open_session.session, self._life),
            user=auth_protocol.user_of(open_session.account),
        )

    @contract.operation(
        id="signOut",
        method="POST",
        path="/api/auth/sign-out",
        tag="auth",
        summary="Sign out",
        description="Ends the session of the cookie, if any, and clears the cookie.",
        security=contract.Security.NONE,
        problems=(*AUTH_PROBLEMS, *problems.STORE_PROBLEMS),
        body=protocol_body(AuthSignOut, limit=_LONGEST_BODY),
        finish_when_client_leaves=True,
        headers=callers.SET_COOKIE,
    )
    async def sign_out(
        self, call: contract.Call, body: AuthSignOut
    ) -> contract.Reply[AuthSignOutResult]:
        """End the session."""
        with protocol_errors():
            callers.require_origin(call.headers, self._origin)
            token = callers.session_token(call.headers)
            if token is not None:
                await self._signing_in.sign_out(token, remote_address=call.remote_address)
        return contract.Reply(AuthSignOutResult(), (callers.cleared_cookie(),))

    @contract.operation(
        id="changePassword",
        method="POST",
        path="/api/auth/change-password",
        tag="auth",
        summary="Change your password",
        description="Requires the cookie of a session and the present password. API keys stay "
        "valid.",
        security=contract.Security.NONE,
        problems=(
            *AUTH_PROBLEMS,
            problems.NotSignedIn,
            ConsentDue,
            problems.AccountLocked,
            *problems.STORE_PROBLEMS,
        ),
        body=protocol_body(AuthPasswordChange, limit=_LONGEST_BODY),
        rate="password",
        finish_when_client_leaves=True,
    )
    async def change_password(
        self, call: contract.Call, body: AuthPasswordChange
    ) -> AuthPasswordChanged:
        """Change the password."""
        with protocol_errors():
            callers.require_origin(call.headers, self._origin)
            token = callers.session_token(call.headers)
            open_session = None if token is None else await self._signing_in.session_of(token)
            if open_session is None:
                raise problems.NotSignedIn
            if open_session.account.state == "locked":
                raise problems.AccountLocked
            if self._legal.due_from(open_session.account.consent):
                raise ConsentDue(self._legal)
            fault = password_fault(body.new_password, open_session.account.address)
            if fault is not None:
                raise problems.InvalidRequest(errors=[("/newPassword", fault)])
            account = await self._own_password.change(
                open_session.account.account_id,
                body.current_password,
                body.new_password,
                session=open_session.session.session_id,
                end_others=body.revoke_other_sessions,
                remote_address=call.remote_address,
            )
        return AuthPasswordChanged(user=auth_protocol.user_of(account))


_LONGEST_TOKEN = 1_000

_MESSAGE = "If an account has this address, a message with a link is on its way to it."


class AuthPasswordResetRequest(contract.Model):
    """The address of an account whose password was forgotten."""

    email: str = Field(max_length=1_000)
    redirect_to: str | None = Field(None, max_length=_LONGEST_URL)
    """An address of this installation, which has no effect: the link in the message leads to the
    page of the installation."""


class AuthOutcome(contract.Model):
    """The request was accepted."""

    status: Literal[True] = True
    message: str | MISSING = MISSING
    """What happens next, for people; only after a request for a link."""


class AuthPasswordReset(contract.Model):
    """A new password, and the token of the message."""

    new_password: NewPassword
    """10 to 256 characters; not a commonly guessed password."""
    token: str | None = Field(None, repr=False, max_length=_LONGEST_TOKEN)
    """The token; it may be in the query instead."""


class AuthResetQuery(contract.Model):
    """The token, if the body has none."""

    token: str | None = Field(None, repr=False, max_length=_LONGEST_TOKEN)


class PasswordResetOperations:
    """The reset of forgotten passwords.

    Args:
        password_reset: the use case.
        origin: of the installation, such as ``https://notes.example.org``.
    """

    def __init__(self, password_reset: PasswordReset, *, origin: str) -> None:
        self._password_reset = password_reset
        self._origin = origin

    @contract.operation(
        id="requestPasswordReset",
        method="POST",
        path="/api/auth/request-password-reset",
        tag="auth",
        summary="Request a link to choose a new password",
        description="Sends a message to the address if an account has it and mail is configured. "
        "The response is the same in every case. The header `origin` must be that of this "
        "installation.",
        security=contract.Security.NONE,
        problems=(*AUTH_PROBLEMS, *problems.STORE_PROBLEMS),
        body=protocol_body(AuthPasswordResetRequest, limit=_LONGEST_BODY),
        rate="password-reset-request",
    )
    async def request_reset(
        self, call: contract.Call, body: AuthPasswordResetRequest
    ) -> AuthOutcome:
        """Add the message to the outbox."""
        with protocol_errors():
            callers.require_origin(call.headers, self._origin)
            if body.redirect_to is not None and is_external_redirect(
                body.redirect_to, self._origin
            ):
                message = "This address is outside the installation: use a path, such as /notes."
                raise problems.InvalidRequest(errors=[("/redirectTo", message)])
            try:
                address = parse_address(body.email)
            except ValueError as error:
                raise problems.InvalidRequest(errors=[("/email", str(error))]) from None
            await self._password_reset.request(address)
        return AuthOutcome(message=_MESSAGE)

    @contract.operation(
        id="resetPassword",
        method="POST",
        path="/api/auth/reset-password",
        tag="auth",
        summary="Choose a new password with a token",
        description="The token works once, within an hour. Every session of the account ends. "
        "The first reset of an account also revokes its API keys, unless it was registered with an "
        "invitation for its address from an administrator or a command; later ones keep them. The "
        "header `origin` must be that of this installation.",
        security=contract.Security.NONE,
        problems=(*AUTH_PROBLEMS, InvalidResetToken, *problems.STORE_PROBLEMS),
        body=protocol_body(AuthPasswordReset, limit=_LONGEST_BODY),
        rate="password-reset",
        finish_when_client_leaves=True,
    )
    async def reset(
        self, call: contract.Call, query: AuthResetQuery, body: AuthPasswordReset
    ) -> AuthOutcome:
        """Replace the password."""
        with protocol_errors():
            callers.require_origin(call.headers, self._origin)
            token = query.token if body.token is None else body.token
            if token is None:
                raise InvalidResetToken
            try:
                await self._password_reset.perform(
                    token, body.new_password, remote_address=call.remote_address
                )
            except PasswordUnsuitable as fault:
                raise problems.InvalidRequest(errors=[("/newPassword", str(fault))]) from None
        return AuthOutcome()
