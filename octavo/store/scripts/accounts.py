"""Find accounts, insert and change them."""

from __future__ import annotations

from dataclasses import dataclass, field

from octavo.model.accounts.account import Account, Appearance, Preferences, ThemeFamily
from octavo.model.accounts.address import Address
from octavo.model.accounts.refusal import AccountGone
from octavo.model.identity import AccountId
from octavo.store.transaction import Row, Script, Transaction

COLUMNS = (
    "accounts.id, accounts.address, accounts.display_name, accounts.role, accounts.state, "
    "accounts.created_at, accounts.updated_at"
)
"""In the order of the fields of `Account`."""
COUNT = 7
_PREFERENCES = "accounts.theme_family, accounts.appearance, accounts.spell_check"


@dataclass(frozen=True, slots=True)
class StoredPassword:
    """An account and its password, as argon2 encodes it."""

    account: Account
    encoded: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class AccountDetails:
    """An account with everything that its owner may read about it."""

    account: Account
    preferences: Preferences


def by_id(account_id: AccountId) -> Script[Account | None]:
    """Return the account, or None."""

    async def find_account(transaction: Transaction) -> Account | None:
        row = await transaction.fetch_one(
            f"SELECT {COLUMNS} FROM accounts WHERE id = $1::uuid", account_id
        )
        return None if row is None else account_of(row)

    return find_account


def details_of(account_id: AccountId) -> Script[AccountDetails | None]:
    """Return the account with its details, or None."""

    async def find_details(transaction: Transaction) -> AccountDetails | None:
        return await _details(transaction, account_id)

    return find_details


async def _details(transaction: Transaction, account_id: AccountId) -> AccountDetails | None:
    row = await transaction.fetch_one(
        f"SELECT {COLUMNS}, {_PREFERENCES} FROM accounts WHERE id = $1::uuid", account_id
    )
    return None if row is None else AccountDetails(account_of(row), _preferences(row[COUNT:]))


def rename(account_id: AccountId, display_name: str, now: int) -> Script[AccountDetails]:
    """Change the display name, and return the account. Raises `AccountGone`."""

    async def rename_account(transaction: Transaction) -> AccountDetails:
        renamed = await transaction.execute(
            "UPDATE accounts SET display_name = $2, updated_at = $3"
            " WHERE id = $1::uuid AND state <> 'disabled'",
            account_id,
            display_name,
            now,
        )
        found = await _details(transaction, account_id)
        if renamed != 1 or found is None:
            raise AccountGone
        return found

    return rename_account


def update_preferences(
    account_id: AccountId,
    *,
    theme_family: ThemeFamily | None,
    appearance: Appearance | None,
    spell_check: bool | None,
) -> Script[Preferences]:
    """Change the preferences that are given, and return all of them. Raises `AccountGone`."""

    async def change_preferences(transaction: Transaction) -> Preferences:
        row = await transaction.fetch_one(
            "UPDATE accounts SET theme_family = COALESCE($2, theme_family),"
            " appearance = COALESCE($3, appearance), spell_check = COALESCE($4, spell_check)"
            f" WHERE id = $1::uuid AND state <> 'disabled' RETURNING {_PREFERENCES}",
            account_id,
            theme_family,
            appearance,
            None if spell_check is None else int(spell_check),
        )
        if row is None:
            raise AccountGone
        return _preferences(row)

    return change_preferences


def password_of(account_id: AccountId) -> Script[StoredPassword | None]:
    """Return the account and its password; None without the account."""

    async def find_password(transaction: Transaction) -> StoredPassword | None:
        row = await transaction.fetch_one(
            f"SELECT {COLUMNS}, password FROM accounts WHERE id = $1::uuid", account_id
        )
        return None if row is None else StoredPassword(account_of(row), row[COUNT])

    return find_password


def replace_password(
    account_id: AccountId, *, verified: str, encoded: str, now: int
) -> Script[bool]:
    """Replace the password ``verified`` of an account by ``encoded``.

    Returns False, and does nothing, when the password was replaced or the account closed meanwhile.
    """

    async def replace_one(transaction: Transaction) -> bool:
        replaced = await transaction.execute(
            "UPDATE accounts SET password = $3, updated_at = $4"
            " WHERE id = $1::uuid AND password = $2 AND state <> 'disabled'",
            account_id,
            verified,
            encoded,
            now,
        )
        return replaced == 1

    return replace_one


def password_at(address: Address) -> Script[StoredPassword | None]:
    """Return the account with the address, and its password; None without one."""

    async def find_password(transaction: Transaction) -> StoredPassword | None:
        row = await transaction.fetch_one(
            f"SELECT {COLUMNS}, password FROM accounts WHERE address = $1", address
        )
        return None if row is None else StoredPassword(account_of(row), row[COUNT])

    return find_password


def has_any() -> Script[bool]:
    """Return whether there is an account in any state."""

    async def find_any(transaction: Transaction) -> bool:
        return await transaction.fetch_one("SELECT 1 FROM accounts LIMIT 1") is not None

    return find_any


async def is_open(transaction: Transaction, account_id: AccountId) -> bool:
    """Return whether the account exists and is not disabled."""
    row = await transaction.fetch_one(
        "SELECT 1 FROM accounts WHERE id = $1::uuid AND state <> 'disabled'", account_id
    )
    return row is not None


async def insert(transaction: Transaction, account: Account, encoded: str) -> bool:
    """Insert an account; return False, and do nothing, when its address is taken."""
    inserted = await transaction.execute(
        "INSERT INTO accounts (id, address, display_name, password, role, state, created_at, "
        "updated_at) VALUES ($1::uuid, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING",
        account.account_id,
        account.address,
        account.display_name,
        encoded,
        account.role,
        account.state,
        account.created_at,
        account.updated_at,
    )
    return inserted == 1


def account_of(row: Row) -> Account:
    """Return the account that a row begins with."""
    return Account(*row[:COUNT])


def _preferences(row: Row) -> Preferences:
    theme_family, appearance, spell_check = row
    return Preferences(theme_family, appearance, bool(spell_check))
