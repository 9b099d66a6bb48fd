"""Create, find, list and revoke API keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from octavo_rules.identity import AccountId, WorkspaceId

from octavo.features.accounts.rules.refusal import TooManyKeys
from octavo.features.accounts.rules.session import MAX_KEYS, ApiKey
from octavo.model.access.account import AccessLimits, Account, AccountGone, KeyId, parse_scopes
from octavo.store.queries import accounts as account_rows
from octavo.store.queries.revision_rows import select_in
from octavo.store.transaction import Row, Script, Transaction, Value, single_statement

_COLUMNS = (
    "api_keys.id, api_keys.account_id, api_keys.name, api_keys.created_at, api_keys.expires_at, "
    "api_keys.used_at, api_keys.scopes, api_keys.workspaces, api_keys.folder"
)
_COUNT = 9
# The first digest twice, as the scope and among the names.
_BY_DIGEST = f"""
    SELECT {_COLUMNS}, {account_rows.COLUMNS}, api_keys.digest FROM api_keys
    JOIN accounts ON accounts.id = api_keys.account_id WHERE api_keys.digest IN ($1, $names)
"""
_LIMITS = 6


@dataclass(frozen=True, slots=True)
class KeyOfAccount:
    """A key and its account, in any state."""

    key: ApiKey
    account: Account


def create(key: ApiKey, digest: bytes) -> Script[None]:
    """Insert a key whose secret has ``digest``.

    Raises `TooManyKeys` and `AccountGone`.
    """

    async def create_key(transaction: Transaction) -> None:
        if not await account_rows.is_open(transaction, key.account_id):
            raise AccountGone
        row = await transaction.fetch_one(
            "SELECT COUNT(*) FROM api_keys WHERE account_id = $1::uuid", key.account_id
        )
        if row is not None and row[0] >= MAX_KEYS:
            raise TooManyKeys
        await transaction.execute(
            "INSERT INTO api_keys (id, account_id, name, created_at, expires_at, used_at, digest,"
            " scopes, workspaces, folder)"
            " VALUES ($1::uuid, $2::uuid, $3, $4, $5, $6, $7, $8, $9, $10)",
            key.key_id,
            key.account_id,
            key.name,
            key.created_at,
            key.expires_at,
            key.used_at,
            digest,
            *_limit_columns(key.limits),
        )

    return create_key


def by_digests(digests: Sequence[bytes]) -> Script[Mapping[bytes, KeyOfAccount]]:
    """Return the keys whose secrets have these digests, at most 100, expired or not."""

    @single_statement
    async def find_keys(transaction: Transaction) -> Mapping[bytes, KeyOfAccount]:
        rows = await select_in(transaction, _BY_DIGEST, digests[0], digests)
        return {
            bytes(row[-1]): KeyOfAccount(_key(row), account_rows.account_of(row[_COUNT:-1]))
            for row in rows
        }

    return find_keys


def list_of(account_id: AccountId) -> Script[list[ApiKey]]:
    """Return every key of the account, the newest first; there are `MAX_KEYS` at most."""

    async def read_keys(transaction: Transaction) -> list[ApiKey]:
        rows = await transaction.fetch_all(
            f"SELECT {_COLUMNS} FROM api_keys WHERE account_id = $1::uuid ORDER BY id DESC",
            account_id,
        )
        return [_key(row) for row in rows]

    return read_keys


def revoke(account_id: AccountId, key_id: KeyId) -> Script[bool]:
    """Revoke a key of the account; return False when it has none of this id."""

    async def revoke_key(transaction: Transaction) -> bool:
        revoked = await transaction.execute(
            "DELETE FROM api_keys WHERE id = $1::uuid AND account_id = $2::uuid", key_id, account_id
        )
        return revoked == 1

    return revoke_key


def revoke_all(account_id: AccountId) -> Script[int]:
    """Revoke every key of the account; return how many were revoked."""

    async def revoke_keys(transaction: Transaction) -> int:
        return await transaction.execute(
            "DELETE FROM api_keys WHERE account_id = $1::uuid", account_id
        )

    return revoke_keys


def record_use(times: Mapping[str, int]) -> Script[None]:
    """Record when keys were last used, in milliseconds; ignore times before recorded ones."""

    async def update_times(transaction: Transaction) -> None:
        await transaction.execute_many(
            "UPDATE api_keys SET used_at = $2"
            " WHERE id = $1::uuid AND (used_at IS NULL OR used_at < $2)",
            sorted(times.items()),
        )

    return update_times


def _key(row: Row) -> ApiKey:
    values = (*row[:_LIMITS], _limits(*row[_LIMITS:_COUNT]))
    return ApiKey(*values)


def _limit_columns(limits: AccessLimits | None) -> tuple[Value, ...]:
    if limits is None:
        return None, None, None
    chosen = None if limits.workspaces is None else " ".join(sorted(limits.workspaces))
    return " ".join(sorted(limits.scopes)), chosen, limits.folder


def _limits(scopes: str | None, workspaces: str | None, folder: str | None) -> AccessLimits | None:
    if scopes is None:
        return None
    chosen = None if workspaces is None else frozenset(map(WorkspaceId, workspaces.split()))
    return AccessLimits(parse_scopes(scopes.split()), chosen, folder)
