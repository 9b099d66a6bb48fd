"""Access of programs that is broken on purpose, as identity in accounts."""

from functools import partial

import pytest
from octavo_rules.identity import AccountId

from octavo.features.accounts.credentials import Credentials
from octavo.features.oauth.authorization import IssuedTokens, Tokens
from octavo.features.oauth.rules.authorization_request import Grant
from octavo.features.oauth.sql import oauth_clients, oauth_grants
from octavo.features.oauth.sql.oauth_grants import NewToken
from octavo.model.access.account import ClientId, GrantId
from octavo.model.access.token import digest_of, is_access_token
from octavo.store import Script, Transaction
from tests.features.accounts.simulation.service import simulate_identity
from tests.simulation.simulation import Broken, Simulation


def use_up_nothing(patch: pytest.MonkeyPatch) -> None:
    """Codes and refresh tokens stay as they were when they give tokens."""

    def replace(use: str, digest: bytes, tokens: tuple[NewToken, ...], now: int) -> Script[bool]:
        table = "oauth_codes" if "oauth_codes" in use else "oauth_tokens"

        async def insert_tokens(transaction: Transaction) -> bool:
            row = await transaction.fetch_one(
                f"SELECT grant_id FROM {table} WHERE digest = $1", digest
            )
            if row is not None:
                await oauth_grants._insert(transaction, row[0], tokens)
            return row is not None

        return insert_tokens

    patch.setattr(oauth_grants, "_replace", replace)


def check_uses_before(patch: pytest.MonkeyPatch) -> None:
    """Whether a code or a refresh token was used is read before the transaction of its use."""
    replace = oauth_grants._replace

    def use_again(use: str, digest: bytes, tokens: tuple[NewToken, ...], now: int) -> Script[bool]:
        return replace(use.replace("AND used_at IS NULL", ""), digest, tokens, now)

    patch.setattr(oauth_grants, "_replace", use_again)


def forgive_replays(patch: pytest.MonkeyPatch) -> None:
    """A code or a refresh token that is used again is refused, and its grant remains."""
    end = Tokens._end

    async def forgive(self: Tokens, grant: Grant, reason: str, remote_address: str | None) -> None:
        if reason == "program":
            await end(self, grant, reason, remote_address)

    patch.setattr(Tokens, "_end", forgive)


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

    async def end(self: Tokens, account_id: AccountId, grant_id: GrantId, *_: object) -> bool:
        ended = await self._store.write(oauth_grants.revoke(account_id, grant_id))
        self._audit.after.access_changed(account_id, None)
        return ended

    patch.setattr(Tokens, "_revoke", end)


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
