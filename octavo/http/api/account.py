"""The account of who calls.

An account, as its own account is told of it.
"""

from datetime import UTC, datetime
from typing import Literal

from octavo.accounts.caller import Caller
from octavo.accounts.own_account import OwnAccount
from octavo.accounts.ports import Clock
from octavo.http.contract.call import Call
from octavo.http.contract.contract_model import ContractModel, Identifier, Timestamp, timestamp
from octavo.http.contract.operation import Locked, Security, operation
from octavo.model.accounts import account as model


class Preferences(ContractModel):
    """Settings that follow the account to every device."""

    theme_family: Literal["paper", "slate", "sepia"] = "paper"
    """The palette."""
    appearance: Literal["light", "dark", "system"] = "system"
    """``system`` is the one that matches the device."""
    spell_check: bool = True
    """Whether the editor marks spelling."""


class Usage(ContractModel):
    """What the account used."""

    storage_bytes: int = 0
    """What its workspaces hold now."""
    download_bytes: int = 0
    """Read in the month."""
    download_objects: int = 0
    """Attachments read in the month."""
    month: str
    """A calendar month in UTC, as ``2026-01``."""


class UsageLimit(ContractModel):
    """What the administrator lets the account use; null is no bound."""

    storage_bytes: int | None = None


class Controls(ContractModel):
    """What the operator lets the account do; null is no bound."""

    revision: int = 0
    """Grows with each change; a change names the one it was read at."""
    locked: bool = False
    lock_reason: str | None = None
    storage_bytes: int | None = None
    download_bytes_per_month: int | None = None
    download_objects_per_month: int | None = None
    publishing: bool = True


class ConsentRecord(ContractModel):
    """The legal documents that were accepted."""

    terms_version: str | None
    privacy_version: str | None
    accepted_at: Timestamp


class AccountSchema(ContractModel):
    """An account."""

    id: Identifier
    address: str
    """What it signs in with, in lower case."""
    display_name: str
    role: model.Role
    state: model.State
    preferences: Preferences
    usage: Usage
    limit: UsageLimit
    controls: Controls
    consent: ConsentRecord | None
    """Null as long as nothing was accepted."""
    created_at: Timestamp


def account_schema(account: model.Account, now: float) -> AccountSchema:
    """Return ``account`` as it is told at ``now``, in seconds of Unix time."""
    return AccountSchema(
        id=account.account_id,
        address=account.address,
        display_name=account.display_name,
        role=account.role,
        state=account.state,
        preferences=Preferences(),
        usage=Usage(month=f"{datetime.fromtimestamp(now, UTC):%Y-%m}"),
        limit=UsageLimit(),
        controls=Controls(),
        consent=None,
        created_at=timestamp(account.created_at),
    )


class AccountOperations:
    """The account of who calls.

    Args:
        own: reads it.
        now: the clock, in seconds of Unix time.
    """

    def __init__(self, own: OwnAccount, *, now: Clock) -> None:
        self._own = own
        self._now = now

    @operation(
        id="getAccount",
        method="GET",
        path="/api/account",
        tag="accounts",
        summary="Your account",
        security=Security.SESSION_OR_KEY,
        locked=Locked.ALLOWED,
    )
    async def get_account(self, call: Call) -> AccountSchema:
        """Return the account."""
        account = await self._own.read(call.principal_as(Caller).account_id)
        return account_schema(account, self._now())
