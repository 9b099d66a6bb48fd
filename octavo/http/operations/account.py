"""The account of who calls."""

from octavo.accounts.caller import Caller
from octavo.accounts.injected import Clock
from octavo.accounts.own_account import OwnAccount
from octavo.http.account_document import Account, account_document
from octavo.http.call import Call
from octavo.http.identity_problems import refusals_as_problems
from octavo.http.operation import Locked, Security, operation


class AccountOperations:
    """The account of who calls.

    Args:
        own: reads it.
        now: the clock, in seconds of Unix time.
    """

    def __init__(self, own: OwnAccount, *, now: Clock) -> None:
        self._own = own
        self._now = now

    @operation(
        id="getAccount",
        method="GET",
        path="/api/account",
        tag="accounts",
        summary="Your account",
        security=Security.SESSION_OR_KEY,
        locked=Locked.ALLOWED,
    )
    async def get_account(self, call: Call) -> Account:
        """Answer the account."""
        with refusals_as_problems():
            account = await self._own.read(call.principal_as(Caller).account_id)
        return account_document(account, self._now())
