"""The account of the caller."""

from typing import Annotated

from attrs import define
from octavo_rules.problems import CredentialRefused, InvalidRequest, NotFound
from pydantic import Field
from pydantic_core import MISSING

from octavo.features.accounts.api.authentication import device_cookie, device_tokens
from octavo.features.accounts.own_account import OwnAccount, OwnConsent, OwnPassword
from octavo.features.accounts.removal import AccountRemoval
from octavo.features.accounts.rules.decisions import Controls
from octavo.features.accounts.rules.portal import LONGEST_PAGE
from octavo.features.accounts.rules.refusal import LastAdministrator
from octavo.features.accounts.sign_in import KnownDevices, Portal
from octavo.features.accounts.sql.accounts import AccountDetails
from octavo.features.legal.api import ConsentInput, account_consent, consent_recorded, versions_of
from octavo.features.legal.rules import ConsentDue, LegalTexts
from octavo.http import account_schemas as schemas
from octavo.http import contract
from octavo.http.callers import SET_COOKIE, caller_of, cleared_cookie
from octavo.http.file_schemas import label
from octavo.model.access import account as model
from octavo.model.label import parse_label
from octavo.model.usage import AccountUsage

_LONGEST_BODY = 4_096


class PortalOpen(contract.Model):
    """A page of the account portal."""

    path: str = Field(max_length=LONGEST_PAGE)
    """The name of the page, which the operator of the installation chose."""


class PortalOpened(contract.Model):
    """Where the browser goes."""

    address: str = Field(repr=False)
    """The address of the page, with a token in its query that works once, for 60 seconds."""


class AccountUpdate(contract.Model):
    """A change of one's own account."""

    display_name: Annotated[str, Field(json_schema_extra=label(model.LONGEST_NAME))]
    """1 to 100 characters on one line."""


class AccountRemovalSchema(contract.Model):
    """The proof that the person wants the account removed."""

    password: str = Field(repr=False)


class PreferencesUpdate(contract.Model):
    """Preferences to change; a member that is left out keeps its value."""

    theme_family: model.ThemeFamily | MISSING = MISSING
    appearance: model.Appearance | MISSING = MISSING
    spell_check: bool | MISSING = MISSING


def controls_schema(controls: Controls) -> schemas.ControlsSchema:
    """Return controls in their API form."""
    return schemas.ControlsSchema(
        revision=controls.revision,
        locked=controls.locked,
        lock_reason=controls.lock_reason,
        storage_bytes=controls.storage.maximum,
        download_bytes_per_month=controls.downloads.size,
        download_objects_per_month=controls.downloads.objects,
        publishing=controls.publishing,
    )


def usage_schema(usage: AccountUsage) -> schemas.UsageSchema:
    """Return the usage of an account in its API form."""
    return schemas.UsageSchema(
        storage_bytes=usage.storage,
        download_bytes=usage.downloads.size,
        download_objects=usage.downloads.objects,
        month=usage.month,
    )


def account_schema(details: AccountDetails, legal: LegalTexts) -> schemas.AccountSchema:
    """Return an account in its API form, where the documents ``legal`` are in force."""
    account = details.account
    return schemas.AccountSchema(
        id=account.account_id,
        address=account.address,
        display_name=account.display_name,
        role=account.role,
        state=account.state,
        lock_reason=details.decisions.effective_reason,
        preferences=_preferences(details.preferences),
        usage=usage_schema(details.usage),
        limit=schemas.LimitSchema(storage_bytes=details.decisions.storage.maximum),
        controls=controls_schema(details.decisions.controls),
        consent=account_consent(account.consent, legal),
        created_at=contract.timestamp(account.created_at),
    )


@define(eq=False)
class AccountOperations:
    """The account of the caller.

    Args:
        own: the use case that reads and changes it.
        own_password: the use case that verifies its password.
        removal: the use case that removes it.
        devices: forgets the account in the browser that removes it.
        own_consent: the use case that records its consent.
        portal: the use case that hands it to the operator's portal.
        legal: the documents in force.
    """

    _own: OwnAccount
    _own_password: OwnPassword
    _removal: AccountRemoval
    _devices: KnownDevices
    _own_consent: OwnConsent
    _portal: Portal
    _legal: LegalTexts

    @contract.operation(
        id="getAccount",
        method="GET",
        path="/api/account",
        tag="accounts",
        summary="Get your account",
        locked=contract.Locked.ALLOWED,
    )
    async def get_account(self, call: contract.Call) -> schemas.AccountSchema:
        """Return the account of the caller."""
        details = await self._own.read(caller_of(call).account_id)
        return account_schema(details, self._legal)

    @contract.operation(
        id="updateOwnAccount",
        method="PATCH",
        path="/api/account",
        tag="accounts",
        summary="Change your display name",
        description="Other members of your workspaces see it.",
        body=contract.json_body(AccountUpdate, limit=_LONGEST_BODY),
    )
    async def update_own_account(
        self, call: contract.Call, body: AccountUpdate
    ) -> schemas.AccountSchema:
        """Change the display name."""
        try:
            display_name = parse_label(body.display_name, model.LONGEST_NAME)
        except ValueError as error:
            raise InvalidRequest(errors=[("/displayName", str(error))]) from None
        account_id = caller_of(call).account_id
        return account_schema(await self._own.rename(account_id, display_name), self._legal)

    @contract.operation(
        id="updatePreferences",
        method="PUT",
        path="/api/account/preferences",
        tag="accounts",
        summary="Change your preferences",
        description="A member that is left out keeps its value.",
        body=contract.json_body(PreferencesUpdate, limit=_LONGEST_BODY),
    )
    async def update_preferences(
        self, call: contract.Call, body: PreferencesUpdate
    ) -> schemas.PreferencesSchema:
        """Change preferences."""
        preferences = await self._own.update_preferences(
            caller_of(call).account_id,
            theme_family=None if body.theme_family is MISSING else body.theme_family,
            appearance=None if body.appearance is MISSING else body.appearance,
            spell_check=None if body.spell_check is MISSING else body.spell_check,
        )
        return _preferences(preferences)

    @contract.operation(
        id="acceptLegalDocuments",
        method="POST",
        path="/api/account/consent",
        tag="accounts",
        summary="Accept the legal documents",
        description="Names the versions that the person has read, which must be those in force; "
        "with others, nothing is recorded. getAccount says what is due.",
        locked=contract.Locked.ALLOWED,
        problems=(ConsentDue,),
        body=contract.json_body(ConsentInput, limit=_LONGEST_BODY),
    )
    async def accept_legal_documents(
        self, call: contract.Call, body: ConsentInput
    ) -> schemas.ConsentRecorded:
        """Record the consent."""
        account_id = caller_of(call).account_id
        return consent_recorded(
            await self._own_consent.accept(
                account_id, versions_of(body), remote_address=call.remote_address
            )
        )

    @contract.operation(
        id="openAccountPortal",
        method="POST",
        path="/api/account/portal",
        tag="accounts",
        summary="Open a page of the operator's account portal",
        description="The portal learns from the token in the address who the person is. Which "
        "pages there are is up to the operator of the installation.",
        locked=contract.Locked.ALLOWED,
        problems=(NotFound,),
        body=contract.json_body(PortalOpen, limit=_LONGEST_BODY),
    )
    async def open_account_portal(self, call: contract.Call, body: PortalOpen) -> PortalOpened:
        """Return the address of a page, with a token."""
        account_id = caller_of(call).account_id
        return PortalOpened(address=await self._portal.open(account_id, body.path))

    @contract.operation(
        id="removeOwnAccount",
        method="POST",
        path="/api/account/removal",
        tag="accounts",
        summary="Remove your account",
        description="Takes the password again. Your sessions, keys and memberships end, and your "
        "preferences are erased. A workspace that only you own passes to the administrator who has "
        "been its member for the longest time, else to such an editor; without either, it is "
        "deleted with its content. In the workspaces of others, your revisions stay.",
        locked=contract.Locked.ALLOWED,
        problems=(CredentialRefused, LastAdministrator),
        body=contract.json_body(AccountRemovalSchema, limit=_LONGEST_BODY),
        rate="password",
        finish_when_client_leaves=True,
        headers=SET_COOKIE,
    )
    async def remove_own_account(
        self, call: contract.Call, body: AccountRemovalSchema
    ) -> contract.Reply[contract.Removed]:
        """Remove the account."""
        account_id = caller_of(call).account_id
        # Read first: a failure after the removal would hide that the account was removed.
        own = await self._own.read(account_id)
        others = await self._devices.forget(device_tokens(call.headers), own.account.address)
        proof = await self._own_password.prove(
            account_id, body.password, "removeOwnAccount", remote_address=call.remote_address
        )
        await self._removal.remove_own(account_id, proof.encoded)
        return contract.Reply(contract.REMOVED, (cleared_cookie(), device_cookie(others)))


def _preferences(preferences: model.Preferences) -> schemas.PreferencesSchema:
    return schemas.PreferencesSchema(
        theme_family=preferences.theme_family,
        appearance=preferences.appearance,
        spell_check=preferences.spell_check,
    )
