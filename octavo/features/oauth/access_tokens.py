"""Access tokens of programs, as a kind of credential."""

from dataclasses import replace

from octavo.features.accounts.credentials import CachedCaller, CredentialKind, Credentials
from octavo.features.oauth.sql import oauth_grants
from octavo.model.access.token import is_access_token
from octavo.store import Store


def add_access_tokens(credentials: Credentials, store: Store) -> CredentialKind:
    """Add access tokens to ``credentials``: their callers are limited to the scopes of the token.

    Returns the kind of credential, by which they are looked up.
    """

    async def look_up(digest: bytes) -> CachedCaller | None:
        stored = await store.read(oauth_grants.token_of(digest, "access"))
        if stored is None or not stored.account.open:
            return None
        grant = stored.grant
        caller = replace(
            credentials.caller_for(stored.account),
            limits=replace(grant.limits, scopes=stored.scopes),
            grant_id=grant.grant_id,
            program=grant.program,
        )
        return CachedCaller(caller, grant.grant_id, stored.expires_at, grant.used_at)

    return credentials.add_kind(is_access_token, look_up, oauth_grants.record_use)
