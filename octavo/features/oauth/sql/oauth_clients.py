"""Register, find, change and remove the programs that may ask people for access."""

from __future__ import annotations

import json

from octavo_rules.identity import AccountId

from octavo.features.oauth.rules.client import ClientMetadata, OAuthClient
from octavo.model.access.account import ClientId, GrantId
from octavo.store.queries.expiry import MAX_ROWS
from octavo.store.queries.process_notices import notify_access
from octavo.store.transaction import Row, Script, Transaction

MAX_CLIENTS = 10_000
"""Registered programs that are kept before anybody has allowed them anything; the newest stay.

Anybody can register programs, so that their number must be limited.
"""


def register(client: OAuthClient, management_digest: bytes) -> Script[None]:
    """Insert a client; ``management_digest`` is of the token that manages it."""

    async def insert_client(transaction: Transaction) -> None:
        await transaction.execute(
            "INSERT INTO oauth_clients (id, metadata, secret_digest, management_digest, created_at)"
            " VALUES ($1::uuid, $2, $3, $4, $5)",
            client.client_id,
            _written(client.metadata),
            client.secret_digest,
            management_digest,
            client.created_at,
        )
        await transaction.execute(
            "DELETE FROM oauth_clients WHERE id IN (SELECT id FROM oauth_clients"
            " WHERE granted_at IS NULL ORDER BY created_at DESC, id DESC"
            " LIMIT $2 OFFSET $1)",
            MAX_CLIENTS,
            MAX_ROWS,
        )

    return insert_client


def by_id(client_id: ClientId) -> Script[OAuthClient | None]:
    """Return a registered client; None if there is none with this id, which is a UUID."""

    async def find_client(transaction: Transaction) -> OAuthClient | None:
        row = await transaction.fetch_one(
            "SELECT id, metadata, secret_digest, created_at FROM oauth_clients WHERE id = $1::uuid",
            client_id,
        )
        return None if row is None else _client(row)

    return find_client


def managed_by(client_id: ClientId, management_digest: bytes) -> Script[OAuthClient | None]:
    """Return the client that a token with this digest manages; None if it manages another."""

    async def find_managed(transaction: Transaction) -> OAuthClient | None:
        row = await transaction.fetch_one(
            "SELECT id, metadata, secret_digest, created_at FROM oauth_clients"
            " WHERE id = $1::uuid AND management_digest = $2",
            client_id,
            management_digest,
        )
        return None if row is None else _client(row)

    return find_managed


def change(client: OAuthClient) -> Script[bool]:
    """Replace the metadata and the secret of a client; return False if it is gone."""

    async def update_client(transaction: Transaction) -> bool:
        changed = await transaction.execute(
            "UPDATE oauth_clients SET metadata = $2, secret_digest = $3 WHERE id = $1::uuid",
            client.client_id,
            _written(client.metadata),
            client.secret_digest,
        )
        return changed == 1

    return update_client


def remove(client_id: ClientId) -> Script[dict[GrantId, AccountId]]:
    """Remove a registration with all of its grants; return these with their accounts."""

    async def remove_client(transaction: Transaction) -> dict[GrantId, AccountId]:
        rows = await transaction.fetch_all(
            "DELETE FROM oauth_grants WHERE program IN"
            " (SELECT pk FROM oauth_programs WHERE client = $1) RETURNING id, account_id",
            client_id,
        )
        await transaction.execute("DELETE FROM oauth_clients WHERE id = $1::uuid", client_id)
        ended = {GrantId(row[0]): AccountId(row[1]) for row in rows}
        for account_id in sorted({*ended.values()}):
            await notify_access(transaction, account_id)
        return ended

    return remove_client


def mark_granted(client_id: ClientId, now: int) -> Script[None]:
    """Record that a person allowed a registered client something, so that it is kept."""

    async def mark_client(transaction: Transaction) -> None:
        await transaction.execute(
            "UPDATE oauth_clients SET granted_at = $2 WHERE id = $1::uuid AND granted_at IS NULL",
            client_id,
            now,
        )

    return mark_client


def expire(registered_before: int) -> Script[bool]:
    """Delete some clients that nobody has allowed anything; return whether there may be more.

    ``registered_before`` is in milliseconds of Unix time.
    """

    async def delete_clients(transaction: Transaction) -> bool:
        deleted = await transaction.execute(
            "DELETE FROM oauth_clients WHERE id IN (SELECT id FROM oauth_clients"
            " WHERE granted_at IS NULL AND created_at < $1 LIMIT $2)",
            registered_before,
            MAX_ROWS,
        )
        return deleted == MAX_ROWS

    return delete_clients


def _written(metadata: ClientMetadata) -> str:
    return json.dumps([metadata.name, metadata.redirect_uris, metadata.auth_method, metadata.home])


def _client(row: Row) -> OAuthClient:
    name, redirect_uris, auth_method, home = json.loads(row[1])
    metadata = ClientMetadata(name, tuple(redirect_uris), auth_method, home)
    return OAuthClient(ClientId(row[0]), metadata, row[2], row[3])
