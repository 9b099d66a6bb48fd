"""Recognize the browsers that have signed in to an account before."""

from octavo.access.ports import Clock, NewEntropy, milliseconds
from octavo.features.accounts.rules.device_token import (
    DEVICE_BYTES,
    DeviceOwner,
    KnownDevice,
    claimed_device,
    device_token,
    with_token,
    without_address,
)
from octavo.features.accounts.sign_in import SignedIn
from octavo.features.accounts.sql import accounts
from octavo.model.access.account import Address
from octavo.store import Store
from octavo.store.queries.signing_keys import only_secret


class KnownDevices:
    """Issues and recognizes device tokens.

    Every method raises `StoreUnavailable`. The first call of a process may store the secret, also
    if it is cancelled; nothing else is stored.

    Args:
        store: has the accounts, and the secret that signs the tokens.
        now: the clock.
        new_entropy: returns entropy for a secret, and for a browser.
    """

    def __init__(self, store: Store, *, now: Clock, new_entropy: NewEntropy) -> None:
        self._store = store
        self._now = now
        self._new_entropy = new_entropy
        self._secret: bytes | None = None

    async def recognize(self, tokens: str, address: Address) -> KnownDevice | None:
        """Return the browser of ``tokens`` if it has signed in to ``address`` before.

        It has not if the account was disabled or removed, or has another password. The account is
        looked up only for the token of a browser that signed in to the address once: nobody else
        can learn from the time whether there is one.
        """
        if not tokens:
            return None
        secret = await self._key()
        claim = claimed_device(tokens, address, milliseconds(self._now()), secret)
        if claim is None:
            return None
        stored = await self._store.read(accounts.password_at(address))
        if stored is None or not stored.account.open:
            return None
        owner = DeviceOwner(stored.account.account_id, address, stored.encoded)
        return (
            KnownDevice(claim.device, owner.account_id) if claim.holds_for(owner, secret) else None
        )

    async def remember(self, tokens: str, signed_in: SignedIn) -> str:
        """Return the tokens of a browser that has signed in and sent ``tokens``.

        It keeps its number, also with another password.
        """
        secret, now = await self._key(), milliseconds(self._now())
        account = signed_in.account
        owner = DeviceOwner(account.account_id, account.address, signed_in.encoded)
        claim = claimed_device(tokens, owner.address, now, secret)
        device = self._new_entropy()[:DEVICE_BYTES] if claim is None else claim.device
        others = without_address(tokens, owner.address, secret)
        return with_token(device_token(device, owner, now, secret), others)

    async def forget(self, tokens: str, address: Address) -> str:
        """Return those of ``tokens`` that are not for ``address``; empty for none."""
        return without_address(tokens, address, await self._key()) if tokens else ""

    async def _key(self) -> bytes:
        if self._secret is None:
            script = only_secret("device", self._new_entropy(), milliseconds(self._now()))
            self._secret = await self._store.write(script)
        return self._secret
