"""Create an account from an invitation, or without one under an open policy."""

from collections.abc import Sequence
from typing import Annotated

from attrs import define
from octavo_rules.problems import STORE_PROBLEMS, Header, InvalidRequest
from pydantic import Field

from octavo.features.accounts.api.account import account_schema
from octavo.features.accounts.api.auth_protocol import AUTH_PROBLEMS
from octavo.features.accounts.api.authentication import NewPassword, device_cookie, device_tokens
from octavo.features.accounts.rules.decisions import Controls, Decisions
from octavo.features.accounts.rules.password import password_fault
from octavo.features.accounts.rules.refusal import AddressTaken
from octavo.features.accounts.rules.session import SessionLife
from octavo.features.accounts.sign_in import KnownDevices, SignedIn
from octavo.features.accounts.sql.accounts import AccountDetails
from octavo.features.legal.api import ConsentInput, versions_of
from octavo.features.legal.rules import NO_TEXTS, ConsentDue, LegalTexts
from octavo.features.members.registration import Registration
from octavo.http import contract
from octavo.http.account_schemas import AccountSchema
from octavo.http.callers import SET_COOKIE, require_origin, session_cookie
from octavo.http.file_schemas import EmailAddress, label
from octavo.http.refusals import failures_as_problems
from octavo.model.access.account import LONGEST_NAME, Address, Preferences, parse_address
from octavo.model.label import device_of, parse_label
from octavo.model.usage import NOTHING, AccountUsage, StorageLimit, month_of

_LONGEST_BODY = 16_384


class RegistrationInput(contract.Model):
    """A new account."""

    invitation: str | None = Field(None, repr=False, max_length=1_000)
    """The token of the invitation; null only where everybody may register."""
    address: EmailAddress
    """The address to sign in with; case is ignored."""
    password: NewPassword
    """10 to 256 characters; not a commonly guessed password."""
    display_name: Annotated[str, Field(json_schema_extra=label(LONGEST_NAME))]
    """1 to 100 characters on one line."""
    consent: ConsentInput | None = None
    """The legal documents that the person accepts; required where there are any."""
    remember_me: bool = True
    """If false, the browser discards the session when it is closed."""


@define(eq=False)
class RegistrationOperations:
    """New accounts.

    Args:
        registration: the use case that creates them.
        devices: recognizes the browser at its next sign-in.
        life: the lifetime of their sessions.
        origin: of the installation, such as ``https://notes.example.org``.
        legal: the documents that people must accept.
    """

    _registration: Registration
    _devices: KnownDevices
    _life: SessionLife
    _origin: str
    _legal: LegalTexts = NO_TEXTS

    @contract.operation(
        id="registerAccount",
        method="POST",
        path="/api/registrations",
        tag="auth",
        summary="Create an account",
        description="Also signs in: the response sets a session cookie. The header `origin` must "
        "be that of this installation. An invitation that is unknown, used, expired, "
        "revoked or for another address is treated as missing. Without an invitation, the "
        "registration policy must be open. Where the installation has legal documents, the "
        "request accepts their versions in force.",
        security=contract.Security.NONE,
        status=201,
        problems=(*AUTH_PROBLEMS, ConsentDue, AddressTaken, *STORE_PROBLEMS),
        body=contract.json_body(RegistrationInput, limit=_LONGEST_BODY),
        rate="registration",
        headers=SET_COOKIE,
    )
    async def register(
        self, call: contract.Call, body: RegistrationInput
    ) -> contract.Reply[AccountSchema]:
        """Create the account and begin its first session."""
        made = await self._make(body, call.headers, call.remote_address)
        max_age = int(self._life.absolute) if body.remember_me else None
        cookies = [session_cookie(made.token, max_age)]
        if body.remember_me:
            # Not on a shared computer.
            tokens = await self._devices.remember(device_tokens(call.headers), made)
            cookies.append(device_cookie(tokens))
        decisions = Decisions(made.account.role, made.account.state, StorageLimit(), Controls())
        usage = AccountUsage(0, NOTHING, month_of(made.account.created_at / 1000))
        created = AccountDetails(made.account, Preferences(), decisions, usage)
        return contract.Reply(account_schema(created, self._legal), tuple(cookies))

    async def _make(
        self, body: RegistrationInput, headers: Sequence[Header], remote_address: str | None
    ) -> SignedIn:
        require_origin(headers, self._origin)
        address, display_name = _checked(body)
        agent = next((value for name, value in headers if name == b"user-agent"), None)
        with failures_as_problems():
            return await self._registration.register(
                body.invitation,
                address,
                body.password,
                display_name,
                device_of(agent),
                remote_address,
                accepted=None if body.consent is None else versions_of(body.consent),
            )


def _checked(body: RegistrationInput) -> tuple[Address, str]:
    """Return the normalised address and display name. Raises `InvalidRequest`."""
    errors: list[tuple[str, str]] = []
    address, display_name = Address(""), ""
    try:
        address = parse_address(body.address)
    except ValueError as error:
        errors.append(("/address", str(error)))
    try:
        display_name = parse_label(body.display_name, LONGEST_NAME)
    except ValueError as error:
        errors.append(("/displayName", str(error)))
    fault = password_fault(body.password, address)
    if fault is not None:
        errors.append(("/password", fault))
    if errors:
        raise InvalidRequest(errors=errors)
    return address, display_name
