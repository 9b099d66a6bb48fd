"""Secrets of the installation: of published links, of known devices, and of forms."""

from __future__ import annotations

from typing import Literal, NamedTuple

from octavo.store.transaction import Script, Transaction

Purpose = Literal["device", "form", "report", "ticket"]


class SigningKey(NamedTuple):
    """A secret; ``number`` counts those of a purpose. ``created_at`` is in milliseconds."""

    number: int
    secret: bytes
    created_at: int


def keys_of(purpose: Purpose) -> Script[list[SigningKey]]:
    """Return the keys of a purpose, the newest first."""

    async def read_keys(transaction: Transaction) -> list[SigningKey]:
        return await _keys(transaction, purpose)

    return read_keys


def newest_key(
    purpose: Purpose, secret: bytes, now: int, renewed_before: int, kept_since: int
) -> Script[list[SigningKey]]:
    """Return the keys of a purpose, with a new one if the newest is too old.

    Concurrent calls, also of several processes, create one key.

    Args:
        purpose: what the keys are for.
        secret: of the new key.
        now: in milliseconds, as the other times.
        renewed_before: a key that was created before is replaced by a new one.
        kept_since: replaced keys from before are deleted.
    """

    async def renew_key(transaction: Transaction) -> list[SigningKey]:
        keys = await _keys(transaction, purpose)
        if not keys or keys[0].created_at < renewed_before:
            number = keys[0].number + 1 if keys else 1
            await transaction.execute(
                "INSERT INTO signing_keys (purpose, number, secret, created_at)"
                " VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
                purpose,
                number,
                secret,
                now,
            )
            await transaction.execute(
                "DELETE FROM signing_keys WHERE purpose = $1 AND number < $2 AND created_at < $3",
                purpose,
                number,
                kept_since,
            )
            keys = await _keys(transaction, purpose)
        return keys

    return renew_key


def only_secret(purpose: Purpose, secret: bytes, now: int) -> Script[bytes]:
    """Return the secret of a purpose whose key is never replaced: ``secret`` if it has none yet.

    ``now`` is in milliseconds. Concurrent calls as for `newest_key`.
    """
    newest = newest_key(purpose, secret, now, 0, 0)

    async def read_secret(transaction: Transaction) -> bytes:
        return (await newest(transaction))[0].secret

    return read_secret


async def _keys(transaction: Transaction, purpose: Purpose) -> list[SigningKey]:
    rows = await transaction.fetch_all(
        "SELECT number, secret, created_at FROM signing_keys WHERE purpose = $1"
        " ORDER BY number DESC",
        purpose,
    )
    return [SigningKey(row[0], bytes(row[1]), row[2]) for row in rows]
