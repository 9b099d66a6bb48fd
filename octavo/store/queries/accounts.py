"""The rows of accounts."""

from __future__ import annotations

from dataclasses import replace

from octavo_rules.identity import AccountId

from octavo.model.access.account import Account, Address, Preferences, State
from octavo.store.queries import consents
from octavo.store.transaction import Row, Script, Transaction

_EFFECTIVE_STATE = (
    "CASE WHEN accounts.state = 'enabled' AND accounts.controls_locked = 1 "
    "THEN 'locked' ELSE accounts.state END"
)


COLUMNS = (
    "accounts.id, accounts.address, accounts.display_name, accounts.role, "
    f"{_EFFECTIVE_STATE}, accounts.created_at, accounts.updated_at, "
    f"{consents.COLUMNS}"
)
"""In the order of the fields of `Account`; the state is the effective one."""


COUNT = 7 + consents.COUNT


PREFERENCES = "accounts.theme_family, accounts.appearance, accounts.spell_check"


def by_id(account_id: AccountId) -> Script[Account | None]:
    """Return the account, or None."""

    async def find_account(transaction: Transaction) -> Account | None:
        row = await transaction.fetch_one(
            f"SELECT {COLUMNS} FROM accounts WHERE id = $1::uuid", account_id
        )
        return None if row is None else account_of(row)

    return find_account


async def at(transaction: Transaction, address: Address) -> Account | None:
    """Return the account with the address, or None."""
    row = await transaction.fetch_one(f"SELECT {COLUMNS} FROM accounts WHERE address = $1", address)
    return None if row is None else account_of(row)


def state_of(account_id: AccountId) -> Script[State | None]:
    """Return the effective state of an account; None without it."""

    async def read_state(transaction: Transaction) -> State | None:
        row = await transaction.fetch_one(
            f"SELECT {_EFFECTIVE_STATE} FROM accounts WHERE id = $1::uuid", account_id
        )
        return None if row is None else row[0]

    return read_state


async def is_open(transaction: Transaction, account_id: AccountId) -> bool:
    """Return whether the account exists and is not disabled."""
    row = await transaction.fetch_one(
        "SELECT 1 FROM accounts WHERE id = $1::uuid AND state <> 'disabled'", account_id
    )
    return row is not None


def account_of(row: Row) -> Account:
    """Return the account that a row begins with."""
    stored = COUNT - consents.COUNT
    account = Account(*row[:stored])
    consent = consents.consent_of(row[stored:COUNT])
    return account if consent is None else replace(account, consent=consent)


def preferences_of(row: Row) -> Preferences:
    """Return the preferences of an account from the columns `PREFERENCES`."""
    theme_family, appearance, spell_check = row
    return Preferences(theme_family, appearance, bool(spell_check))


def had_any() -> Script[bool]:
    """Return whether there is an account, or was one: a start alone makes an invitation."""

    async def look(transaction: Transaction) -> bool:
        return (
            await has_any()(transaction)
            or await transaction.fetch_one(
                "SELECT 1 FROM audit WHERE kind <> 'invitation_created' LIMIT 1"
            )
            is not None
        )

    return look


def has_any() -> Script[bool]:
    """Return whether there is an account in any state."""

    async def find_any(transaction: Transaction) -> bool:
        return await transaction.fetch_one("SELECT 1 FROM accounts LIMIT 1") is not None

    return find_any
