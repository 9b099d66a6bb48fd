"""Recognize the browsers that have signed in to an account before."""

from octavo.accounts.ports import Clock, NewEntropy, milliseconds
from octavo.model.accounts.address import Address
from octavo.model.accounts.device_token import (
    DEVICE_BYTES,
    device_token,
    known_device,
    with_token,
)
from octavo.store import Store
from octavo.store.scripts.signing_keys import newest_key


class KnownDevices:
    """Issues and recognizes device tokens.

    Every method raises `StoreUnavailable`. The first call of a process may store the secret, also
    if it is cancelled; nothing else is stored.

    Args:
        store: has the secret that signs them.
        now: the clock.
        new_entropy: returns entropy for a secret, and for a browser.
    """

    def __init__(self, store: Store, *, now: Clock, new_entropy: NewEntropy) -> None:
        self._store = store
        self._now = now
        self._new_entropy = new_entropy
        self._secret: bytes | None = None

    async def recognize(self, tokens: str, address: Address) -> bytes | None:
        """Return the browser of ``tokens`` if it has signed in to ``address`` before."""
        return known_device(tokens, address, await self._key()) if tokens else None

    async def remember(self, tokens: str, address: Address) -> str:
        """Return the tokens of a browser that has signed in to ``address`` and sent ``tokens``."""
        secret = await self._key()
        device = known_device(tokens, address, secret) or self._new_entropy()[:DEVICE_BYTES]
        return with_token(device_token(device, address, secret), tokens)

    async def _key(self) -> bytes:
        if self._secret is None:
            script = newest_key("device", self._new_entropy(), milliseconds(self._now()), 0, 0)
            self._secret = (await self._store.write(script))[0].secret
        return self._secret
