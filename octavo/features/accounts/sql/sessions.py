"""Begin, find, list and end sessions, and record when sessions and API keys were used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from octavo_rules.identity import AccountId

from octavo.features.accounts.rules.refusal import InvalidCredentials
from octavo.features.accounts.rules.session import Session
from octavo.model.access.account import Account, SessionId
from octavo.store.identifiers import LAST
from octavo.store.queries import accounts as account_rows
from octavo.store.queries.expiry import delete_ended
from octavo.store.queries.revision_rows import select_in
from octavo.store.transaction import Row, Script, Transaction, single_statement

_COLUMNS = (
    "sessions.id, sessions.account_id, sessions.device, sessions.client, sessions.created_at, "
    "sessions.active_at"
)
_COUNT = 6
# The first digest twice, as the scope and among the names.
_BY_DIGEST = f"""
    SELECT {_COLUMNS}, {account_rows.COLUMNS}, sessions.digest FROM sessions
    JOIN accounts ON accounts.id = sessions.account_id WHERE sessions.digest IN ($1, $names)
"""


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session and its account, in any state."""

    session: Session
    account: Account


def begin(
    session: Session, digest: bytes, *, verified: str, rehashed: str | None, alive: tuple[int, int]
) -> Script[Account]:
    """Begin a session of an account whose password ``verified`` (encoded) was proven.

    ``rehashed`` replaces it when given. Sessions of the account that ended by the two times of
    ``alive`` (`SessionLife.alive_since`) are deleted. Raises `InvalidCredentials` when the password
    was replaced or the account closed in the meantime.
    """

    async def begin_session(transaction: Transaction) -> Account:
        row = await transaction.fetch_one(
            f"SELECT {account_rows.COLUMNS} FROM accounts WHERE id = $1::uuid AND password = $2",
            session.account_id,
            verified,
        )
        if row is None or not account_rows.account_of(row).open:
            raise InvalidCredentials
        if rehashed is not None:
            await transaction.execute(
                "UPDATE accounts SET password = $2 WHERE id = $1::uuid",
                session.account_id,
                rehashed,
            )
        active_after, created_after = alive
        await transaction.execute(
            "DELETE FROM sessions WHERE account_id = $1::uuid"
            " AND (active_at <= $2 OR created_at <= $3)",
            session.account_id,
            active_after,
            created_after,
        )
        await insert(transaction, session, digest)
        return account_rows.account_of(row)

    return begin_session


async def insert(transaction: Transaction, session: Session, digest: bytes) -> None:
    """Insert a session of an existing account; ``digest`` is that of its token."""
    await transaction.execute(
        "INSERT INTO sessions (id, account_id, device, client, created_at, active_at, digest) "
        "VALUES ($1::uuid, $2::uuid, $3, $4, $5, $6, $7)",
        session.session_id,
        session.account_id,
        session.device,
        session.client,
        session.created_at,
        session.active_at,
        digest,
    )


def by_digest(digest: bytes) -> Script[OpenSession | None]:
    """Return the session whose token has this digest, expired or not; None without one."""

    @single_statement
    async def find_session(transaction: Transaction) -> OpenSession | None:
        row = await transaction.fetch_one(
            f"SELECT {_COLUMNS}, {account_rows.COLUMNS} FROM sessions "
            "JOIN accounts ON accounts.id = sessions.account_id WHERE sessions.digest = $1",
            digest,
        )
        if row is None:
            return None
        return OpenSession(_session(row), account_rows.account_of(row[_COUNT:]))

    return find_session


def by_digests(digests: Sequence[bytes]) -> Script[Mapping[bytes, OpenSession]]:
    """Return the sessions whose tokens have these digests, at most 100, expired or not."""

    @single_statement
    async def find_sessions(transaction: Transaction) -> Mapping[bytes, OpenSession]:
        rows = await select_in(transaction, _BY_DIGEST, digests[0], digests)
        return {
            bytes(row[-1]): OpenSession(_session(row), account_rows.account_of(row[_COUNT:-1]))
            for row in rows
        }

    return find_sessions


def list_of(
    account_id: AccountId, alive: tuple[int, int], before: str | None, limit: int
) -> Script[list[Session]]:
    """Return live sessions of an account, the newest first, at most ``limit``.

    ``alive`` is the result of `SessionLife.alive_since`. With ``before``, return those that follow
    the session of that id, whether or not it still exists.
    """

    async def read_sessions(transaction: Transaction) -> list[Session]:
        rows = await transaction.fetch_all(
            f"SELECT {_COLUMNS} FROM sessions WHERE account_id = $1::uuid AND active_at > $2 "
            "AND created_at > $3 AND id < $4::uuid ORDER BY id DESC LIMIT $5",
            account_id,
            *alive,
            LAST if before is None else before,
            limit,
        )
        return [_session(row) for row in rows]

    return read_sessions


def end(account_id: AccountId, session_id: SessionId) -> Script[bool]:
    """End a session of the account; return False when it has none of this id."""

    async def end_session(transaction: Transaction) -> bool:
        ended = await transaction.execute(
            "DELETE FROM sessions WHERE id = $1::uuid AND account_id = $2::uuid",
            session_id,
            account_id,
        )
        return ended == 1

    return end_session


def end_all(account_id: AccountId, *, but: SessionId | None = None) -> Script[int]:
    """End every session of the account except ``but``; return how many were ended."""

    async def end_sessions(transaction: Transaction) -> int:
        return await transaction.execute(
            "DELETE FROM sessions WHERE account_id = $1::uuid AND id <> $2::uuid",
            account_id,
            "" if but is None else but,
        )

    return end_sessions


def record_activity(times: Mapping[str, int]) -> Script[None]:
    """Record when sessions were active, in milliseconds; ignore times before recorded ones."""

    async def update_times(transaction: Transaction) -> None:
        await transaction.execute_many(
            "UPDATE sessions SET active_at = $2 WHERE id = $1::uuid AND active_at < $2",
            sorted(times.items()),
        )

    return update_times


def _session(row: Row) -> Session:
    return Session(*row[:_COUNT])


def expire_sessions(active_before: int, created_before: int) -> Script[bool]:
    """Delete some sessions that ended by either time; return whether there may be more."""
    ended = "created_at < $1 OR active_at < $2"
    return delete_ended("sessions", "id", ended, created_before, active_before)
