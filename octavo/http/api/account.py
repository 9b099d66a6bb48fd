"""The account of the caller."""

from typing import Annotated

from pydantic import Field
from pydantic_core import MISSING

from octavo.accounts.caller import Caller
from octavo.accounts.own_account import OwnAccount
from octavo.http.api.fields import label
from octavo.http.contract.bodies import json_body
from octavo.http.contract.call import Call
from octavo.http.contract.contract_model import ContractModel, Identifier, Timestamp, timestamp
from octavo.http.contract.operation import Locked, Security, operation
from octavo.http.contract.problems import InvalidRequest
from octavo.model.accounts import account as model
from octavo.model.label import parse_label
from octavo.store.scripts.accounts import AccountDetails

_LONGEST_BODY = 4_096


class PreferencesSchema(ContractModel):
    """Settings that follow the account to every device."""

    theme_family: model.ThemeFamily
    """The palette."""
    appearance: model.Appearance
    """`system` follows the device."""
    spell_check: bool
    """Whether the editor marks misspelled words."""


class AccountSchema(ContractModel):
    """An account."""

    id: Identifier
    address: str
    """The address to sign in with, in lower case."""
    display_name: str
    role: model.Role
    state: model.State
    preferences: PreferencesSchema
    created_at: Timestamp


class AccountUpdate(ContractModel):
    """A change of one's own account."""

    display_name: Annotated[str, Field(json_schema_extra=label(model.LONGEST_NAME))]
    """1 to 100 characters on one line."""


class PreferencesUpdate(ContractModel):
    """Preferences to change; a member that is left out keeps its value."""

    theme_family: model.ThemeFamily | MISSING = MISSING
    appearance: model.Appearance | MISSING = MISSING
    spell_check: bool | MISSING = MISSING


def account_schema(details: AccountDetails) -> AccountSchema:
    """Return an account in its API form."""
    account = details.account
    return AccountSchema(
        id=account.account_id,
        address=account.address,
        display_name=account.display_name,
        role=account.role,
        state=account.state,
        preferences=_preferences(details.preferences),
        created_at=timestamp(account.created_at),
    )


class AccountOperations:
    """The account of the caller.

    Args:
        own: the use case that reads and changes it.
    """

    def __init__(self, own: OwnAccount) -> None:
        self._own = own

    @operation(
        id="getAccount",
        method="GET",
        path="/api/account",
        tag="accounts",
        summary="Get your account",
        security=Security.SESSION_OR_KEY,
        locked=Locked.ALLOWED,
    )
    async def get_account(self, call: Call) -> AccountSchema:
        """Return the account of the caller."""
        return account_schema(await self._own.read(call.principal_as(Caller).account_id))

    @operation(
        id="updateOwnAccount",
        method="PATCH",
        path="/api/account",
        tag="accounts",
        summary="Change your display name",
        description="Other members of your workspaces see it.",
        security=Security.SESSION_OR_KEY,
        body=json_body(AccountUpdate, limit=_LONGEST_BODY),
    )
    async def update_own_account(self, call: Call, body: AccountUpdate) -> AccountSchema:
        """Change the display name."""
        try:
            display_name = parse_label(body.display_name, model.LONGEST_NAME)
        except ValueError as error:
            raise InvalidRequest(errors=[("/displayName", str(error))]) from None
        account_id = call.principal_as(Caller).account_id
        return account_schema(await self._own.rename(account_id, display_name))

    @operation(
        id="updatePreferences",
        method="PUT",
        path="/api/account/preferences",
        tag="accounts",
        summary="Change your preferences",
        description="A member that is left out keeps its value.",
        security=Security.SESSION_OR_KEY,
        body=json_body(PreferencesUpdate, limit=_LONGEST_BODY),
    )
    async def update_preferences(self, call: Call, body: PreferencesUpdate) -> PreferencesSchema:
        """Change preferences."""
        found = await self._own.update_preferences(
            call.principal_as(Caller).account_id,
            theme_family=None if body.theme_family is MISSING else body.theme_family,
            appearance=None if body.appearance is MISSING else body.appearance,
            spell_check=None if body.spell_check is MISSING else body.spell_check,
        )
        return _preferences(found)


def _preferences(preferences: model.Preferences) -> PreferencesSchema:
    return PreferencesSchema(
        theme_family=preferences.theme_family,
        appearance=preferences.appearance,
        spell_check=preferences.spell_check,
    )
