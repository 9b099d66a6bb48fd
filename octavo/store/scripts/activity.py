"""When sessions were active last, and keys used."""

from __future__ import annotations

from collections.abc import Mapping

from octavo.model.accounts.api_key import KeyId
from octavo.model.accounts.session import SessionId
from octavo.store.transaction import Script, Transaction


def record(sessions: Mapping[SessionId, int], keys: Mapping[KeyId, int]) -> Script[None]:
    """Record times, in milliseconds; those that are no later than the recorded ones are left."""

    async def script(transaction: Transaction) -> None:
        await transaction.execute_many(
            "UPDATE sessions SET active_at = $2 WHERE id = $1 AND active_at < $3",
            [(session_id, at, at) for session_id, at in sessions.items()],
        )
        await transaction.execute_many(
            "UPDATE api_keys SET used_at = $2 WHERE id = $1 AND (used_at IS NULL OR used_at < $3)",
            [(key_id, at, at) for key_id, at in keys.items()],
        )

    return script
