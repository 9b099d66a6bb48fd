"""An account, as it reads itself."""

from octavo.model.account import Account
from octavo.model.identity import AccountId
from octavo.model.identity_refusal import AccountGone
from octavo.store import Store
from octavo.store.scripts import accounts


class OwnAccount:
    """Reads the account of who calls; ``store`` is where it is kept."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def read(self, account_id: AccountId) -> Account:
        """Answer the account. Raises `AccountGone` and `StoreUnavailable`."""
        account = await self._store.read(accounts.by_id(account_id))
        if account is None or not account.open:
            raise AccountGone
        return account
