"""The account of the caller."""

from octavo.accounts.caller import Caller
from octavo.accounts.own_account import OwnAccount
from octavo.http.contract.call import Call
from octavo.http.contract.contract_model import ContractModel, Identifier, Timestamp, timestamp
from octavo.http.contract.operation import Locked, Security, operation
from octavo.model.accounts import account as model


class AccountSchema(ContractModel):
    """An account."""

    id: Identifier
    address: str
    """The address to sign in with, in lower case."""
    display_name: str
    role: model.Role
    state: model.State
    created_at: Timestamp


def account_schema(account: model.Account) -> AccountSchema:
    """Return ``account`` in its API form."""
    return AccountSchema(
        id=account.account_id,
        address=account.address,
        display_name=account.display_name,
        role=account.role,
        state=account.state,
        created_at=timestamp(account.created_at),
    )


class AccountOperations:
    """The account of the caller.

    Args:
        own: the use case that reads it.
    """

    def __init__(self, own: OwnAccount) -> None:
        self._own = own

    @operation(
        id="getAccount",
        method="GET",
        path="/api/account",
        tag="accounts",
        summary="Get your account",
        security=Security.SESSION_OR_KEY,
        locked=Locked.ALLOWED,
    )
    async def get_account(self, call: Call) -> AccountSchema:
        """Return the account of the caller."""
        account = await self._own.read(call.principal_as(Caller).account_id)
        return account_schema(account)
