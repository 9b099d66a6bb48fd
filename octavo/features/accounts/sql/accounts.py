"""Find accounts, insert and change them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from octavo_rules.identity import AccountId

from octavo.features.accounts.rules.decisions import Controls, Decisions, DecisionsChange, changed
from octavo.features.accounts.rules.refusal import LastAdministrator, NotAdministrator
from octavo.features.usage.sql import USAGE_COUNT, usage_columns, usage_of
from octavo.model.access import account as model
from octavo.model.access.account import Account, AccountGone, AccountMissing
from octavo.model.usage import AccountUsage, DownloadLimits, Month, StorageLimit, month_of
from octavo.store.queries import consents
from octavo.store.queries.accounts import COLUMNS, COUNT, PREFERENCES, account_of, preferences_of
from octavo.store.queries.revision_rows import select_in
from octavo.store.transaction import Row, Script, Transaction

_DECISIONS = (
    "accounts.role, accounts.state, accounts.lock_reason, accounts.storage_limit, "
    "accounts.controls_revision, accounts.controls_locked, accounts.controls_lock_reason, "
    "accounts.controls_storage_limit, accounts.controls_download_bytes, "
    "accounts.controls_download_objects, accounts.controls_publishing"
)
_DECISIONS_COUNT = 11
_DECIDED = COUNT + _DECISIONS_COUNT
_ACTIVE = """(
    SELECT MAX(sessions.active_at) FROM sessions WHERE sessions.account_id = accounts.id
), (
    SELECT MAX(api_keys.used_at) FROM api_keys WHERE api_keys.account_id = accounts.id
)"""
# The first argument is the month of the usage.
_SUMMARY = f"SELECT {COLUMNS}, {_DECISIONS}, {usage_columns('$1')}, {_ACTIVE} FROM accounts"
_ENDED_WITH_ACCESS = ("sessions", "password_resets", "portal_tokens")
"""Tables whose rows of an account are deleted when it is disabled. Its keys are refused, and valid
again when it is enabled."""


@dataclass(frozen=True, slots=True)
class StoredPassword:
    """An account and its password, as argon2 encodes it."""

    account: Account
    encoded: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class AccountDetails:
    """An account with everything that its owner may read about it."""

    account: Account
    preferences: model.Preferences
    decisions: Decisions
    usage: AccountUsage


@dataclass(frozen=True, slots=True)
class AccountSummary:
    """An account as administrators see it.

    ``active_at`` is the last use of a session or a key, in milliseconds of Unix time.
    """

    account: Account
    decisions: Decisions
    usage: AccountUsage
    active_at: int | None


def details_of(account_id: AccountId, month: Month) -> Script[AccountDetails | None]:
    """Return the account with its details and its usage in ``month``, or None."""

    async def find_details(transaction: Transaction) -> AccountDetails | None:
        row = await transaction.fetch_one(
            f"SELECT {COLUMNS}, {_DECISIONS}, {usage_columns('$1')}, {PREFERENCES} FROM accounts"
            " WHERE id = $2::uuid",
            month,
            account_id,
        )
        if row is None:
            return None
        preferences = preferences_of(row[_DECIDED + USAGE_COUNT :])
        return AccountDetails(account_of(row), preferences, *_decisions_and_usage(row, month))

    return find_details


def display_names(account_ids: Sequence[AccountId]) -> Script[dict[AccountId, str]]:
    """Return the display names of the accounts with these ids that exist."""

    async def read_names(transaction: Transaction) -> dict[AccountId, str]:
        # `select_in` needs a scope: here, an address that no account has.
        rows = await select_in(
            transaction,
            "SELECT id, display_name FROM accounts WHERE address <> $1 AND id IN ($ids)",
            "",
            account_ids,
        )
        return {AccountId(row[0]): row[1] for row in rows}

    return read_names


def list_of(after: AccountId, limit: int, text: str, month: Month) -> Script[list[AccountSummary]]:
    """Return accounts whose id is greater than ``after``, at most ``limit``, in their order.

    Their usage is that of ``month``.

    With ``text``, return those whose address or display name contains it. Case is ignored; SQLite
    knows only that of ASCII letters.
    """
    pattern = "%" + re.sub(r"([%_\\])", r"\\\1", text) + "%"

    async def read_accounts(transaction: Transaction) -> list[AccountSummary]:
        rows = await transaction.fetch_all(
            f"{_SUMMARY} WHERE accounts.id > $2::uuid"
            " AND (accounts.address LIKE $5 ESCAPE '\\'"
            " OR LOWER(accounts.display_name) LIKE $5 ESCAPE '\\'"
            " OR accounts.display_name LIKE $4 ESCAPE '\\')"
            " ORDER BY accounts.id LIMIT $3",
            month,
            after,
            limit,
            pattern,
            pattern.lower(),
        )
        return [_summary(row, month) for row in rows]

    return read_accounts


def summary_at(address: model.Address, month: Month) -> Script[AccountSummary | None]:
    """Return the account with the address as administrators see it; None without one."""
    return _summary_where("accounts.address = $2", address, month)


def summary_of(account_id: AccountId, month: Month) -> Script[AccountSummary | None]:
    """Return an account as administrators see it; None without it."""
    return _summary_where("accounts.id = $2::uuid", account_id, month)


def _summary_where(condition: str, value: str, month: Month) -> Script[AccountSummary | None]:
    async def find_summary(transaction: Transaction) -> AccountSummary | None:
        row = await transaction.fetch_one(f"{_SUMMARY} WHERE {condition}", month, value)
        return None if row is None else _summary(row, month)

    return find_summary


def decide(
    account_id: AccountId, change: DecisionsChange, now: int, *, actor: AccountId | None
) -> Script[AccountSummary]:
    """Change what was decided about an account; ``now`` is in milliseconds.

    The sessions, reset tokens and portal tokens of a disabled account end, and so do the
    invitations of a former administrator. ``actor`` is the administrator who decides; None for the
    operator.

    Raises `NotAdministrator`, `AccountMissing`, `ControlsChanged` and `LastAdministrator`.
    """

    async def change_decisions(transaction: Transaction) -> AccountSummary:
        await require_administrator(transaction, actor)
        before = await decisions_of(transaction, account_id)
        if before is None:
            raise AccountMissing
        after = changed(before, change)
        if before.administers and not after.administers:
            await require_administrator_besides(transaction, account_id)
        await transaction.execute(
            "UPDATE accounts SET role = $2, state = $3, storage_limit = $4, controls_revision = $5,"
            " controls_locked = $6, controls_lock_reason = $7, controls_storage_limit = $8,"
            " updated_at = $9, lock_reason = $10, controls_download_bytes = $11,"
            " controls_download_objects = $12, controls_publishing = $13 WHERE id = $1::uuid",
            account_id,
            after.role,
            after.state,
            after.storage.maximum,
            after.controls.revision,
            int(after.controls.locked),
            after.controls.lock_reason,
            after.controls.storage.maximum,
            now,
            after.lock_reason,
            *after.controls.downloads,
            int(after.controls.publishing),
        )
        if after.role != "administrator" or after.state == "disabled":
            # Revoke what the account may not grant any more. A locked administrator keeps these
            # invitations, which are valid again when the account is unlocked.
            await transaction.execute(
                "UPDATE invitations SET revoked_at = $2 WHERE created_by_id = $1::uuid"
                " AND (workspace_id IS NULL OR role = 'administrator')"
                " AND used_at IS NULL AND revoked_at IS NULL",
                account_id,
                now,
            )
        if after.state == "disabled":
            for table in _ENDED_WITH_ACCESS:
                await transaction.execute(
                    f"DELETE FROM {table} WHERE account_id = $1::uuid", account_id
                )
        summary = await summary_of(account_id, month_of(now / 1000))(transaction)
        if summary is None:
            raise AccountMissing
        return summary

    return change_decisions


async def require_administrator(transaction: Transaction, actor: AccountId | None) -> None:
    """Raise `NotAdministrator` unless ``actor`` is an enabled administrator, or None."""
    if actor is None:
        return
    decisions = await decisions_of(transaction, actor)
    if decisions is None or not decisions.administers:
        raise NotAdministrator


async def decisions_of(transaction: Transaction, account_id: AccountId) -> Decisions | None:
    """Return what was decided about an account; None without the account."""
    row = await transaction.fetch_one(
        f"SELECT {_DECISIONS} FROM accounts WHERE id = $1::uuid", account_id
    )
    return None if row is None else _decisions(row)


async def require_administrator_besides(transaction: Transaction, account_id: AccountId) -> None:
    """Raise `LastAdministrator` unless another account is an enabled administrator."""
    other = await transaction.fetch_one(
        "SELECT 1 FROM accounts WHERE role = 'administrator' AND state = 'enabled'"
        " AND controls_locked = 0 AND id <> $1::uuid LIMIT 1",
        account_id,
    )
    if other is None:
        raise LastAdministrator


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
        details = await details_of(account_id, month_of(now / 1000))(transaction)
        if renamed != 1 or details is None:
            raise AccountGone
        return details

    return rename_account


def update_preferences(
    account_id: AccountId,
    *,
    theme_family: model.ThemeFamily | None,
    appearance: model.Appearance | None,
    spell_check: bool | None,
) -> Script[model.Preferences]:
    """Change the preferences that are not None; return all of them. Raises `AccountGone`."""

    async def change_preferences(transaction: Transaction) -> model.Preferences:
        row = await transaction.fetch_one(
            "UPDATE accounts SET theme_family = COALESCE($2, theme_family),"
            " appearance = COALESCE($3, appearance), spell_check = COALESCE($4, spell_check)"
            f" WHERE id = $1::uuid AND state <> 'disabled' RETURNING {PREFERENCES}",
            account_id,
            theme_family,
            appearance,
            None if spell_check is None else int(spell_check),
        )
        if row is None:
            raise AccountGone
        return preferences_of(row)

    return change_preferences


def password_of(account_id: AccountId) -> Script[StoredPassword | None]:
    """Return the account and its password; None without the account."""
    return _password_where("id = $1::uuid", account_id)


def password_at(address: model.Address) -> Script[StoredPassword | None]:
    """Return the account with the address, and its password; None without one."""
    return _password_where("address = $1", address)


def _password_where(condition: str, value: str) -> Script[StoredPassword | None]:
    async def find_password(transaction: Transaction) -> StoredPassword | None:
        row = await transaction.fetch_one(
            f"SELECT {COLUMNS}, password FROM accounts WHERE {condition}", value
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


async def insert(transaction: Transaction, account: Account, encoded: str, *, proven: bool) -> bool:
    """Insert an account; return False, and do nothing, when its address is taken.

    ``encoded`` is its password; ``proven`` says whether the address is known to be that of the
    person.
    """
    inserted = await transaction.execute(
        "INSERT INTO accounts (id, address, display_name, password, role, state, created_at, "
        "updated_at, address_proven, consent_terms, consent_privacy, consent_at)"
        " VALUES ($1::uuid, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING",
        account.account_id,
        account.address,
        account.display_name,
        encoded,
        account.role,
        account.state,
        account.created_at,
        account.updated_at,
        int(proven),
        *consents.columns_of(account.consent),
    )
    return inserted == 1


def _decisions(row: Row) -> Decisions:
    role, state, lock_reason, limit, revision, locked, reason, storage, *others = row
    size, objects, publishing = others
    downloads = DownloadLimits(size, objects)
    controls = Controls(
        revision, bool(locked), reason, StorageLimit(storage), downloads, bool(publishing)
    )
    return Decisions(role, state, StorageLimit(limit), controls, lock_reason)


def _decisions_and_usage(row: Row, month: Month) -> tuple[Decisions, AccountUsage]:
    decisions = _decisions(row[COUNT:_DECIDED])
    return decisions, usage_of(row[_DECIDED : _DECIDED + USAGE_COUNT], month)


def _summary(row: Row, month: Month) -> AccountSummary:
    times = [time for time in row[_DECIDED + USAGE_COUNT :] if time is not None]
    active_at = max(times, default=None)
    return AccountSummary(account_of(row), *_decisions_and_usage(row, month), active_at)
