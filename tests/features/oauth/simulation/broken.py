"""Access of programs that is broken on purpose, as identity in accounts."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from octavo_rules.identity import AccountId

from octavo.access.audit import Audit
from octavo.features.accounts.credentials import Credentials
from octavo.features.oauth.authorization import IssuedTokens, Tokens
from octavo.features.oauth.sql import oauth_clients, oauth_grants
from octavo.model.access.account import ClientId, GrantId
from octavo.model.access.audit import AuditEntry
from octavo.model.access.token import digest_of, is_access_token
from octavo.store import Script, Transaction
from tests.features.accounts.simulation.service import simulate_identity
from tests.simulation.simulation import Broken, Simulation


def use_up_nothing(patch: pytest.MonkeyPatch) -> None:
    """Codes and refresh tokens stay as they were when they give tokens."""
    _forget_uses(patch, before=False)


def check_uses_before(patch: pytest.MonkeyPatch) -> None:
    """Whether a code or a refresh token was used is read before the transaction of its use."""
    _forget_uses(patch, before=True)


def _forget_uses(patch: pytest.MonkeyPatch, *, before: bool) -> None:
    """Take the use of a code or a refresh token back, before it gives tokens or afterwards."""

    def forgetful(
        use: Callable[..., Script[bool]], table: str, digest: bytes, *given: object
    ) -> Script[bool]:
        sql = f"UPDATE {table} SET used_at = NULL WHERE digest = $1"

        async def use_again(transaction: Transaction) -> bool:
            if before:
                await transaction.execute(sql, digest)
            used = await use(digest, *given)(transaction)
            if not before:
                await transaction.execute(sql, digest)
            return used

        return use_again

    for name, table in (("exchange", "oauth_codes"), ("rotate", "oauth_tokens")):
        patch.setattr(oauth_grants, name, partial(forgetful, getattr(oauth_grants, name), table))


def forgive_replays(patch: pytest.MonkeyPatch) -> None:
    """A code or a refresh token that is used again is refused, and its grant remains."""
    write = Audit.write

    async def forgive(self: Audit, script: Any, entries: Any, **access: Any) -> Any:  # noqa: ANN401
        reused = isinstance(entries, AuditEntry) and "reused" in str(entries.detail.get("reason"))
        return None if reused else await write(self, script, entries, **access)

    patch.setattr(Audit, "write", forgive)


def remember_revoked_tokens(patch: pytest.MonkeyPatch) -> None:
    """The cache of access tokens keeps those of grants that end."""

    def forget(self: Credentials, account_id: AccountId) -> None:
        for kind in self._kinds:
            if kind._is_one is not is_access_token:
                kind.cache.forget(account_id)

    patch.setattr(Credentials, "forget", forget)


def leave_tokens_of_removed_programs(patch: pytest.MonkeyPatch) -> None:
    """The grants of a removed program remain."""

    def remove(client_id: ClientId) -> Script[dict[GrantId, AccountId]]:
        async def remove_client(transaction: Transaction) -> dict[GrantId, AccountId]:
            await transaction.execute("DELETE FROM oauth_clients WHERE id = $1::uuid", client_id)
            return {}

        return remove_client

    patch.setattr(oauth_clients, "remove", remove)


def serve_any_program(patch: pytest.MonkeyPatch) -> None:
    """A code gives tokens to whichever program sends it."""
    exchange = Tokens.exchange

    async def for_anybody(
        self: Tokens,
        client_id: ClientId,
        code: str,
        *,
        verifier: str,
        redirect_uri: str | None,
        resource: str | None,
        remote_address: str | None = None,
    ) -> IssuedTokens:
        found = await self._store.read(oauth_grants.code_of(digest_of(code.encode())))
        return await exchange(
            self,
            client_id if found is None else found.grant.client_id,
            code,
            verifier=verifier,
            redirect_uri=redirect_uri,
            resource=resource,
            remote_address=remote_address,
        )

    patch.setattr(Tokens, "exchange", for_anybody)


def end_grants_unrecorded(patch: pytest.MonkeyPatch) -> None:
    """The end of a grant is not recorded."""
    write = Audit.write

    async def end(self: Audit, script: Any, entries: Any, **access: Any) -> Any:  # noqa: ANN401
        ends = isinstance(entries, AuditEntry) and entries.kind == "grant_revoked"
        return await write(self, script, (lambda _: ()) if ends else entries, **access)

    patch.setattr(Audit, "write", end)


BROKEN = Broken(
    "identity",
    Simulation(partial(simulate_identity, programs=True), 200),
    {
        use_up_nothing: r"the grant .* has \d refresh tokens for \d uses",
        check_uses_before: r"the grant .* has 2 refresh tokens for 1 uses",
        forgive_replays: "a grant remains after the replay",
        remember_revoked_tokens: "a caller was found for a token",
        leave_tokens_of_removed_programs: "a caller was found for a token .*after the removal",
        serve_any_program: "another program got tokens",
        end_grants_unrecorded: "a change has no entry in the audit of its transaction",
    },
)
"""What is left out, and the message of the first failing schedule."""
