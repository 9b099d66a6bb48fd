"""Sessions: begin, find, list and end them."""

from __future__ import annotations

from dataclasses import dataclass

from octavo.model.accounts.account import Account
from octavo.model.accounts.refusal import InvalidCredentials
from octavo.model.accounts.session import Session, SessionId
from octavo.model.identity import AccountId
from octavo.store.scripts import accounts
from octavo.store.transaction import Row, Script, Transaction

_COLUMNS = (
    "sessions.id, sessions.account_id, sessions.device, sessions.client, sessions.created_at, "
    "sessions.active_at"
)
_COUNT = 6


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session and its account, whatever the state of either."""

    session: Session
    account: Account


def begin(
    session: Session, digest: bytes, *, verified: str, rehashed: str | None, alive: tuple[int, int]
) -> Script[Account]:
    """Begin a session of an account whose password ``verified`` (encoded) was proven.

    ``rehashed`` takes its place when given. Sessions of the account that are not alive since the
    two times of ``alive`` (`SessionLife.alive_since`) are removed. Raises `InvalidCredentials`
    when the password was replaced or the account closed meanwhile.
    """

    async def script(transaction: Transaction) -> Account:
        row = await transaction.fetch_one(
            f"SELECT {accounts.COLUMNS} FROM accounts WHERE id = $1 AND password = $2",
            session.account_id,
            verified,
        )
        if row is None or not accounts.account_of(row).open:
            raise InvalidCredentials
        if rehashed is not None:
            await transaction.execute(
                "UPDATE accounts SET password = $2 WHERE id = $1", session.account_id, rehashed
            )
        active_after, created_after = alive
        await transaction.execute(
            "DELETE FROM sessions WHERE account_id = $1 AND (active_at <= $2 OR created_at <= $3)",
            session.account_id,
            active_after,
            created_after,
        )
        await insert(transaction, session, digest)
        return accounts.account_of(row)

    return script


async def insert(transaction: Transaction, session: Session, digest: bytes) -> None:
    """Insert a session of an account that is there; ``digest`` is that of its token."""
    await transaction.execute(
        "INSERT INTO sessions (id, account_id, device, client, created_at, active_at, digest) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7)",
        session.session_id,
        session.account_id,
        session.device,
        session.client,
        session.created_at,
        session.active_at,
        digest,
    )


def by_digest(digest: bytes) -> Script[OpenSession | None]:
    """Answer the session with the token of this digest, expired or not; None for none."""

    async def script(transaction: Transaction) -> OpenSession | None:
        row = await transaction.fetch_one(
            f"SELECT {_COLUMNS}, {accounts.COLUMNS} FROM sessions "
            "JOIN accounts ON accounts.id = sessions.account_id WHERE sessions.digest = $1",
            digest,
        )
        if row is None:
            return None
        return OpenSession(_session(row), accounts.account_of(row[_COUNT:]))

    return script


def list_of(
    account_id: AccountId, alive: tuple[int, int], before: str | None, limit: int
) -> Script[list[Session]]:
    """Answer living sessions of an account, the newest first, at most ``limit``.

    ``alive`` is of `SessionLife.alive_since`. With ``before``, those that follow the session of
    that id alone, whether or not there still is one.
    """

    async def script(transaction: Transaction) -> list[Session]:
        rows = await transaction.fetch_all(
            f"SELECT {_COLUMNS} FROM sessions WHERE account_id = $1 AND active_at > $2 "
            "AND created_at > $3 AND id < $4 ORDER BY id DESC LIMIT $5",
            account_id,
            *alive,
            # Identifiers are hexadecimal digits and hyphens: all of them are less.
            "g" if before is None else before,
            limit,
        )
        return [_session(row) for row in rows]

    return script


def end(account_id: AccountId, session_id: SessionId) -> Script[bool]:
    """End a session of the account; False when it has none of this id."""

    async def script(transaction: Transaction) -> bool:
        ended = await transaction.execute(
            "DELETE FROM sessions WHERE id = $1 AND account_id = $2", session_id, account_id
        )
        return ended == 1

    return script


def end_all(account_id: AccountId, *, but: SessionId | None = None) -> Script[int]:
    """End every session of the account ``but`` one; answer how many were ended."""

    async def script(transaction: Transaction) -> int:
        return await transaction.execute(
            "DELETE FROM sessions WHERE account_id = $1 AND id <> $2",
            account_id,
            "" if but is None else but,
        )

    return script


def _session(row: Row) -> Session:
    return Session(*row[:_COUNT])
