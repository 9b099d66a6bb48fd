"""Hand people to the operator's account portal with single-use tokens."""

from collections.abc import Mapping

from octavo_rules.identity import AccountId

from octavo.access.ports import Clock, NewEntropy, milliseconds
from octavo.features.accounts.rules import portal as rules
from octavo.features.accounts.sql import portal_tokens
from octavo.features.accounts.sql.accounts import AccountSummary
from octavo.model.access.token import digest_of, is_opaque_token, opaque_token
from octavo.store import Store


class Portal:
    """Issues and redeems portal tokens.

    Args:
        store: the store of tokens.
        addresses: the address of each page of the portal, by its name.
        now: the clock.
        new_token: returns entropy for a token.
    """

    def __init__(
        self, store: Store, addresses: Mapping[str, str], *, now: Clock, new_token: NewEntropy
    ) -> None:
        self._store = store
        self._addresses = dict(addresses)
        self._now = now
        self._new_token = new_token

    async def open(self, account_id: AccountId, page: str) -> str:
        """Return the address of a page, with a new token for the account in its query.

        Only the digest of the token is stored. Earlier tokens of the account stay valid. Raises
        `PortalMissing`, `AccountGone` and `StoreUnavailable`. If cancelled, a token that is lost
        may have been created; it expires.
        """
        address = self._addresses.get(page)
        if address is None:
            raise rules.PortalMissing
        token = opaque_token(self._new_token())
        now = milliseconds(self._now())
        expires_at = now + milliseconds(rules.TOKEN_SECONDS)
        await self._store.write(
            portal_tokens.create(digest_of(token.encode()), account_id, now, expires_at)
        )
        return rules.with_token(address, token)

    async def redeem(self, token: str) -> AccountSummary:
        """Return the account of a token, which can't be used again.

        Of concurrent calls one succeeds. Raises `PortalTokenUnusable` and `StoreUnavailable`. If
        cancelled, the token may have been used.
        """
        secret = token.encode()
        if not is_opaque_token(secret):
            raise rules.PortalTokenUnusable
        now = milliseconds(self._now())
        return await self._store.write(portal_tokens.redeem(digest_of(secret), now))
