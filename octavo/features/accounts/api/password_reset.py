"""Forgotten passwords: the part of the tag ``auth`` that needs no session."""

from typing import Literal

from octavo_rules.problems import STORE_PROBLEMS, InvalidRequest
from pydantic import Field
from pydantic_core import MISSING

from octavo.features.accounts.api.auth_protocol import AUTH_PROBLEMS, protocol_body, protocol_errors
from octavo.features.accounts.api.authentication import NewPassword
from octavo.features.accounts.password_reset import PasswordReset, PasswordUnsuitable
from octavo.features.accounts.rules.refusal import InvalidResetToken
from octavo.http import contract
from octavo.http.callers import require_origin
from octavo.http.pages.redirects import is_external_redirect
from octavo.model.access.account import parse_address

_LONGEST_BODY = 16_384
_LONGEST_TOKEN = 1_000
_LONGEST_URL = 2_000
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
        problems=(*AUTH_PROBLEMS, *STORE_PROBLEMS),
        body=protocol_body(AuthPasswordResetRequest, limit=_LONGEST_BODY),
        rate="password-reset-request",
    )
    async def request_reset(
        self, call: contract.Call, body: AuthPasswordResetRequest
    ) -> AuthOutcome:
        """Add the message to the outbox."""
        with protocol_errors():
            require_origin(call.headers, self._origin)
            if body.redirect_to is not None and is_external_redirect(
                body.redirect_to, self._origin
            ):
                message = "This address is outside the installation: use a path, such as /notes."
                raise InvalidRequest(errors=[("/redirectTo", message)])
            try:
                address = parse_address(body.email)
            except ValueError as error:
                raise InvalidRequest(errors=[("/email", str(error))]) from None
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
        problems=(*AUTH_PROBLEMS, InvalidResetToken, *STORE_PROBLEMS),
        body=protocol_body(AuthPasswordReset, limit=_LONGEST_BODY),
        rate="password-reset",
        finish_when_client_leaves=True,
    )
    async def reset(
        self, call: contract.Call, query: AuthResetQuery, body: AuthPasswordReset
    ) -> AuthOutcome:
        """Replace the password."""
        with protocol_errors():
            require_origin(call.headers, self._origin)
            token = query.token if body.token is None else body.token
            if token is None:
                raise InvalidResetToken
            try:
                await self._password_reset.perform(token, body.new_password, client=call.client)
            except PasswordUnsuitable as fault:
                raise InvalidRequest(errors=[("/newPassword", str(fault))]) from None
        return AuthOutcome()
