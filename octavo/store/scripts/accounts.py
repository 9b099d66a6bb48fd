"""Find accounts, and insert them."""

from __future__ import annotations

from dataclasses import dataclass, field

from octavo.model.accounts.account import Account
from octavo.model.accounts.address import Address
from octavo.model.identity import AccountId
from octavo.store.transaction import Row, Script, Transaction

COLUMNS = (
    "accounts.id, accounts.address, accounts.display_name, accounts.role, accounts.state, "
    "accounts.created_at, accounts.updated_at"
)
"""In the order of the fields of `Account`."""
COUNT = 7


@dataclass(frozen=True, slots=True)
class StoredPassword:
    """An account and its password, as argon2 encodes it."""

    account: Account
    encoded: str = field(repr=False)


def by_id(account_id: AccountId) -> Script[Account | None]:
    """Return the account, or None."""

    async def find_account(transaction: Transaction) -> Account | None:
        row = await transaction.fetch_one(
            f"SELECT {COLUMNS} FROM accounts WHERE id = $1::uuid", account_id
        )
        return None if row is None else account_of(row)

    return find_account


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
