"""Grants of people to programs, their codes and their tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from octavo_rules.identity import AccountId, ProgramNumber, Scope, WorkspaceId

from octavo.features.oauth.rules.authorization_request import (
    MAX_GRANTS,
    MAX_TOKENS,
    Grant,
    TokenKind,
)
from octavo.features.oauth.sql import oauth_programs
from octavo.model.access.account import (
    AccessLimits,
    Account,
    AccountGone,
    ClientId,
    GrantId,
    parse_scopes,
)
from octavo.store.queries import accounts as account_rows
from octavo.store.queries.expiry import MAX_ROWS
from octavo.store.transaction import Row, Script, Transaction

_COLUMNS = (
    "oauth_grants.id, oauth_grants.account_id, oauth_programs.client, oauth_programs.name, "
    "oauth_grants.scopes, oauth_grants.workspaces, oauth_grants.created_at, "
    "oauth_grants.expires_at, oauth_grants.used_at, oauth_programs.pk"
)
_COUNT = 10
_WITH_PROGRAM = "JOIN oauth_programs ON oauth_programs.pk = oauth_grants.program"
_ENDED = (
    """
    DELETE FROM oauth_codes WHERE digest IN
        (SELECT digest FROM oauth_codes WHERE expires_at <= $1 LIMIT $2)
    """,
    """
    DELETE FROM oauth_tokens WHERE digest IN
        (SELECT digest FROM oauth_tokens WHERE expires_at <= $1 LIMIT $2)
    """,
    """
    DELETE FROM oauth_grants WHERE id IN (
        SELECT id FROM oauth_grants WHERE (expires_at IS NOT NULL AND expires_at <= $1)
        OR NOT EXISTS (SELECT 1 FROM oauth_tokens WHERE grant_id = oauth_grants.id)
            AND NOT EXISTS (SELECT 1 FROM oauth_codes WHERE grant_id = oauth_grants.id)
        LIMIT $2
    )
    """,
)
_TOO_MANY = tuple(
    f"""
    DELETE FROM oauth_tokens WHERE digest IN (
        SELECT digest FROM oauth_tokens WHERE grant_id = $1::uuid AND {which}
        ORDER BY expires_at DESC, digest LIMIT $3 OFFSET $2
    )
    """
    for which in ("kind = 'access'", "kind = 'refresh' AND used_at IS NOT NULL")
)


class NewCode(NamedTuple):
    """A code that a program exchanges for tokens.

    Attributes:
        redirect_uri: where it was sent to, if the request named that; None otherwise.
        challenge: of PKCE.
        expires_at: in milliseconds of Unix time.
    """

    digest: bytes
    redirect_uri: str | None
    challenge: str
    expires_at: int


class NewToken(NamedTuple):
    """A token; ``expires_at`` is in milliseconds of Unix time."""

    digest: bytes
    kind: TokenKind
    scopes: frozenset[Scope]
    expires_at: int


@dataclass(frozen=True, slots=True)
class StoredCode:
    """A code and its grant; ``used`` is whether it was exchanged already."""

    grant: Grant
    redirect_uri: str | None
    challenge: str
    expires_at: int
    used: bool


@dataclass(frozen=True, slots=True)
class StoredToken:
    """A token and its grant, whose account may be in any state.

    Attributes:
        scopes: those of the token, at most those of the grant.
        used: whether it is a refresh token that was used already.
    """

    grant: Grant
    scopes: frozenset[Scope]
    expires_at: int
    used: bool
    account: Account


def create(grant: Grant, code: NewCode) -> Script[tuple[GrantId, ...]]:
    """Insert a grant with its code; return the grants that it ends. Raises `AccountGone`.

    If the account has more than `MAX_GRANTS`, the least recently used one ends.
    """

    async def insert_grant(transaction: Transaction) -> tuple[GrantId, ...]:
        if not await account_rows.is_open(transaction, grant.account_id):
            raise AccountGone
        limits = grant.limits
        await transaction.execute(
            "INSERT INTO oauth_grants (id, account_id, program, scopes, workspaces, created_at,"
            " expires_at) VALUES ($1::uuid, $2::uuid, $3, $4, $5, $6, $7)",
            grant.grant_id,
            grant.account_id,
            await oauth_programs.number_of(transaction, grant.client_id, grant.client_name),
            _scope_text(limits.scopes),
            None if limits.workspaces is None else " ".join(sorted(limits.workspaces)),
            grant.created_at,
            grant.expires_at,
        )
        await transaction.execute(
            "INSERT INTO oauth_codes (digest, grant_id, redirect_uri, challenge, expires_at)"
            " VALUES ($1, $2::uuid, $3, $4, $5)",
            code.digest,
            grant.grant_id,
            code.redirect_uri,
            code.challenge,
            code.expires_at,
        )
        rows = await transaction.fetch_all(
            "DELETE FROM oauth_grants WHERE id IN (SELECT id FROM oauth_grants"
            " WHERE account_id = $1::uuid AND id <> $2::uuid"
            " ORDER BY COALESCE(used_at, created_at) DESC, id DESC LIMIT $4 OFFSET $3)"
            " RETURNING id",
            grant.account_id,
            grant.grant_id,
            MAX_GRANTS - 1,
            MAX_ROWS,
        )
        return tuple(GrantId(row[0]) for row in rows)

    return insert_grant


def code_of(digest: bytes) -> Script[StoredCode | None]:
    """Return the code with this digest, used, expired or not; None without one."""

    async def find_code(transaction: Transaction) -> StoredCode | None:
        row = await transaction.fetch_one(
            f"SELECT {_COLUMNS}, oauth_codes.redirect_uri, oauth_codes.challenge,"
            " oauth_codes.expires_at, oauth_codes.used_at FROM oauth_codes"
            f" JOIN oauth_grants ON oauth_grants.id = oauth_codes.grant_id {_WITH_PROGRAM}"
            " WHERE oauth_codes.digest = $1",
            digest,
        )
        if row is None:
            return None
        redirect_uri, challenge, expires_at, used_at = row[_COUNT:]
        return StoredCode(_grant(row), redirect_uri, challenge, expires_at, used_at is not None)

    return find_code


def exchange(digest: bytes, tokens: tuple[NewToken, ...], now: int) -> Script[bool]:
    """Use up a code, and insert the tokens of its grant; return False if it can't be used.

    Of concurrent exchanges one succeeds.
    """
    return _replace(
        "UPDATE oauth_codes SET used_at = $2 WHERE digest = $1 AND used_at IS NULL"
        " AND expires_at > $2 RETURNING grant_id",
        digest,
        tokens,
        now,
    )


def rotate(digest: bytes, tokens: tuple[NewToken, ...], now: int) -> Script[bool]:
    """Use up a refresh token, and insert those that replace it; return False if it was used.

    Of concurrent uses one succeeds.
    """
    return _replace(
        "UPDATE oauth_tokens SET used_at = $2 WHERE digest = $1 AND kind = 'refresh'"
        " AND used_at IS NULL AND expires_at > $2 RETURNING grant_id",
        digest,
        tokens,
        now,
    )


def _replace(use: str, digest: bytes, tokens: tuple[NewToken, ...], now: int) -> Script[bool]:
    """Use up the code or token of a digest by the statement ``use``; insert tokens for it."""

    async def replace_once(transaction: Transaction) -> bool:
        row = await transaction.fetch_one(use, digest, now)
        if row is None:
            return False
        await _insert(transaction, GrantId(row[0]), tokens)
        for sql in _TOO_MANY:
            await transaction.execute(sql, row[0], MAX_TOKENS, MAX_ROWS)
        return True

    return replace_once


def token_of(digest: bytes, kind: TokenKind) -> Script[StoredToken | None]:
    """Return the token with this digest, used, expired or not; None without one."""

    async def find_token(transaction: Transaction) -> StoredToken | None:
        row = await transaction.fetch_one(
            f"SELECT {_COLUMNS}, oauth_tokens.scopes, oauth_tokens.expires_at,"
            f" oauth_tokens.used_at, {account_rows.COLUMNS} FROM oauth_tokens"
            f" JOIN oauth_grants ON oauth_grants.id = oauth_tokens.grant_id {_WITH_PROGRAM}"
            " JOIN accounts ON accounts.id = oauth_grants.account_id"
            " WHERE oauth_tokens.digest = $1 AND oauth_tokens.kind = $2",
            digest,
            kind,
        )
        if row is None:
            return None
        scopes, expires_at, used_at = row[_COUNT : _COUNT + 3]
        account = account_rows.account_of(row[_COUNT + 3 :])
        return StoredToken(
            _grant(row), parse_scopes(scopes.split()), expires_at, used_at is not None, account
        )

    return find_token


def list_of(account_id: AccountId, now: int) -> Script[list[Grant]]:
    """Return the grants of an account that have not ended, the newest first."""

    async def read_grants(transaction: Transaction) -> list[Grant]:
        rows = await transaction.fetch_all(
            f"SELECT {_COLUMNS} FROM oauth_grants {_WITH_PROGRAM} WHERE account_id = $1::uuid"
            " AND (expires_at IS NULL OR expires_at > $2) ORDER BY oauth_grants.id DESC",
            account_id,
            now,
        )
        return [_grant(row) for row in rows]

    return read_grants


def revoke(account_id: AccountId, grant_id: GrantId) -> Script[bool]:
    """End a grant of the account with all of its tokens; return False if it has no such grant."""

    async def revoke_grant(transaction: Transaction) -> bool:
        revoked = await transaction.execute(
            "DELETE FROM oauth_grants WHERE id = $1::uuid AND account_id = $2::uuid",
            grant_id,
            account_id,
        )
        return revoked == 1

    return revoke_grant


def revoke_all(account_id: AccountId) -> Script[int]:
    """End every grant of the account; return how many ended."""

    async def revoke_grants(transaction: Transaction) -> int:
        return await transaction.execute(
            "DELETE FROM oauth_grants WHERE account_id = $1::uuid", account_id
        )

    return revoke_grants


def revoke_access(digest: bytes) -> Script[None]:
    """Delete an access token."""

    async def delete_token(transaction: Transaction) -> None:
        await transaction.execute(
            "DELETE FROM oauth_tokens WHERE digest = $1 AND kind = 'access'", digest
        )

    return delete_token


def record_use(times: Mapping[str, int]) -> Script[None]:
    """Record when grants were last used, in milliseconds of Unix time."""

    async def update_grants(transaction: Transaction) -> None:
        await transaction.execute_many(
            "UPDATE oauth_grants SET used_at = $2 WHERE id = $1::uuid"
            " AND (used_at IS NULL OR used_at < $2)",
            sorted(times.items()),
        )

    return update_grants


def expire(now: int) -> Script[bool]:
    """Delete some codes, tokens and grants that have ended; return whether there may be more.

    A grant whose tokens have all expired has ended, too.
    """

    async def delete_ended(transaction: Transaction) -> bool:
        more = False
        for sql in _ENDED:
            more |= await transaction.execute(sql, now, MAX_ROWS) == MAX_ROWS
        return more

    return delete_ended


async def _insert(
    transaction: Transaction, grant_id: GrantId, tokens: tuple[NewToken, ...]
) -> None:
    await transaction.execute_many(
        "INSERT INTO oauth_tokens (digest, grant_id, kind, scopes, expires_at)"
        " VALUES ($1, $2::uuid, $3, $4, $5)",
        [
            (token.digest, grant_id, token.kind, _scope_text(token.scopes), token.expires_at)
            for token in tokens
        ],
    )


def _scope_text(scopes: frozenset[Scope]) -> str:
    return " ".join(sorted(scopes))


def _grant(row: Row) -> Grant:
    grant_id, account_id, client, name, scopes, workspaces, *times, program = row[:_COUNT]
    created_at, expires_at, used_at = times
    chosen = None if workspaces is None else frozenset(map(WorkspaceId, workspaces.split()))
    limits = AccessLimits(parse_scopes(scopes.split()), chosen)
    return Grant(
        GrantId(grant_id),
        AccountId(account_id),
        ClientId(client),
        name,
        limits,
        created_at,
        expires_at,
        used_at,
        ProgramNumber(program),
    )
