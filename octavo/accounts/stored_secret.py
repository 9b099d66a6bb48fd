"""A secret of the installation, which is made when it is first needed."""

from octavo.accounts.ports import Clock, NewEntropy, milliseconds
from octavo.store import Store
from octavo.store.scripts.signing_keys import Purpose, newest_key


class StoredSecret:
    """The one secret for a purpose, the same in every process and after every start.

    Args:
        store: the database.
        purpose: what it is for.
        now: the clock.
        new_secret: returns the entropy of the secret.
    """

    def __init__(
        self, store: Store, purpose: Purpose, *, now: Clock, new_secret: NewEntropy
    ) -> None:
        self._store = store
        self._purpose: Purpose = purpose
        self._now = now
        self._new_secret = new_secret
        self._secret: bytes | None = None

    async def get(self) -> bytes:
        """Return the secret. Raises `StoreUnavailable`.

        The first call of a process may store it, also if it is cancelled.
        """
        if self._secret is None:
            script = newest_key(self._purpose, self._new_secret(), milliseconds(self._now()), 0, 0)
            self._secret = (await self._store.write(script))[0].secret
        return self._secret
