"""The state of identity in a database, as the simulation compares it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from octavo.features.oauth.rules.authorization_request import TokenKind
from octavo.store.transaction import Transaction


class StoredSecret(NamedTuple):
    """A code or a token of a grant; ``used_at`` is None for what can still be used."""

    grant_id: str
    kind: TokenKind | Literal["code"]
    used_at: int | None


class StoredAccount(NamedTuple):
    """An account as stored."""

    address: str
    password: str
    role: str
    state: str
    locked: int
    revision: int
    consent_at: int | None

    @property
    def administers(self) -> bool:
        """Whether it is an enabled administrator."""
        return (self.role, self.state, self.locked) == ("administrator", "enabled", 0)


@dataclass(frozen=True, slots=True)
class State:
    """The tables of identity, by their keys.

    Attributes:
        accounts: the accounts.
        workspaces: the workspaces.
        members: the role of each account in each workspace.
        invitations: when each was used and revoked.
        sessions: the account of each session.
        keys: the account of each API key.
        resets: the account of each token to choose a new password, by its digest.
        portal: the account of each portal token, by its digest.
        grants: the account of each grant to a program.
        policy: who may register, as chosen.
        secrets: the codes and tokens of grants, by their digests.
    """

    accounts: dict[str, StoredAccount]
    workspaces: frozenset[str]
    members: dict[tuple[str, str], str]
    invitations: dict[str, tuple[int | None, int | None]]
    sessions: dict[str, str]
    keys: dict[str, str]
    resets: dict[bytes, str]
    portal: dict[bytes, str]
    grants: dict[str, str]
    policy: str
    secrets: dict[bytes, StoredSecret]

    @property
    def recorded(self) -> tuple[object, ...]:
        """Everything whose changes the audit records."""
        return (
            self.accounts,
            self.members,
            self.invitations,
            self.sessions,
            self.keys,
            self.grants,
            self.policy,
        )


async def state_of(transaction: Transaction) -> State:
    """Return the state that a transaction sees."""
    accounts = await transaction.fetch_all(
        "SELECT id, address, password, role, state, controls_locked, controls_revision, consent_at"
        " FROM accounts"
    )
    members = await transaction.fetch_all("SELECT workspace_id, account_id, role FROM members")
    invitations = await transaction.fetch_all("SELECT id, used_at, revoked_at FROM invitations")
    secrets = await transaction.fetch_all(
        "SELECT digest, grant_id, 'code', used_at FROM oauth_codes UNION ALL"
        " SELECT digest, grant_id, kind, used_at FROM oauth_tokens"
    )
    policies = await transaction.fetch_all("SELECT registration_policy FROM installation")
    return State(
        {row[0]: StoredAccount(*row[1:]) for row in accounts},
        frozenset(row[0] for row in await transaction.fetch_all("SELECT id FROM workspaces")),
        {(row[0], row[1]): row[2] for row in members},
        {row[0]: (row[1], row[2]) for row in invitations},
        dict(await _pairs(transaction, "SELECT id, account_id FROM sessions")),
        dict(await _pairs(transaction, "SELECT id, account_id FROM api_keys")),
        dict(await _pairs(transaction, "SELECT digest, account_id FROM password_resets")),
        dict(await _pairs(transaction, "SELECT digest, account_id FROM portal_tokens")),
        dict(await _pairs(transaction, "SELECT id, account_id FROM oauth_grants")),
        policies[0][0],
        {row[0]: StoredSecret(*row[1:]) for row in secrets},
    )


async def _pairs(transaction: Transaction, sql: str) -> list[tuple[Any, Any]]:
    return [(row[0], row[1]) for row in await transaction.fetch_all(sql)]
