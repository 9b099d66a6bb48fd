"""The API for an external service of the operator, for example one that bills."""

from octavo_rules.problems import InvalidRequest, NotFound
from pydantic import Field

from octavo.features.accounts.api.account import controls_schema, usage_schema
from octavo.features.accounts.removal import AccountRemoval
from octavo.features.accounts.rules.decisions import DecisionsChange
from octavo.features.accounts.rules.refusal import ControlsChanged, LastAdministrator
from octavo.features.accounts.sign_in import Portal
from octavo.features.accounts.sql.accounts import AccountSummary
from octavo.features.administration.administration import Administration
from octavo.features.administration.api.administration import (
    AccountControlsInput,
    AccountPath,
    controls_change,
)
from octavo.http import contract
from octavo.http.account_schemas import ControlsSchema, LimitSchema, UsageSchema
from octavo.http.file_schemas import EmailAddress
from octavo.model.access.account import State, parse_address

_LONGEST_BODY = 8_192
_NO_CONTENT = "It never reads or changes notes or workspaces."


class AddressQuery(contract.Model):
    """An account by its address."""

    address: EmailAddress


class OperatorAccount(contract.Model):
    """An account as the operator sees it."""

    id: contract.Identifier
    address: str
    effective_state: State
    controls: ControlsSchema
    usage: UsageSchema
    limit: LimitSchema


class PortalRedeem(contract.Model):
    """The token from the query of a page of the portal."""

    token: str = Field(repr=False, max_length=1_000)


class OperatorOperations:
    """The accounts of the installation, for the operator.

    Args:
        administration: the use case that finds and changes them.
        removal: the use case that removes them.
        portal: the use case that redeems the tokens of the account portal.
    """

    def __init__(
        self, administration: Administration, removal: AccountRemoval, portal: Portal
    ) -> None:
        self._administration = administration
        self._removal = removal
        self._portal = portal

    @contract.operation(
        id="findOperatorAccount",
        method="GET",
        path="/api/operator/accounts",
        tag="operator",
        summary="Find an account by its address",
        description=f"{_NO_CONTENT} The case of the address is ignored.",
        security=contract.Security.OPERATOR,
        problems=(NotFound,),
        rate="operator",
    )
    async def find_account(self, call: contract.Call, query: AddressQuery) -> OperatorAccount:
        """Return the account with an address."""
        try:
            address = parse_address(query.address)
        except ValueError as error:
            raise InvalidRequest(errors=[("/query/address", str(error))]) from None
        return _schema(await self._administration.find(address))

    @contract.operation(
        id="readOperatorAccount",
        method="GET",
        path="/api/operator/accounts/{accountId}",
        tag="operator",
        summary="Read the controls and the usage of an account",
        description=_NO_CONTENT,
        security=contract.Security.OPERATOR,
        problems=(NotFound,),
        rate="operator",
    )
    async def read_account(self, call: contract.Call, path: AccountPath) -> OperatorAccount:
        """Return an account."""
        return _schema(await self._administration.read(path.account_id))

    @contract.operation(
        id="setOperatorAccountControls",
        method="PATCH",
        path="/api/operator/accounts/{accountId}/controls",
        tag="operator",
        summary="Change the controls of an account",
        description=f"{_NO_CONTENT} The change names the revision that was read; with another, "
        "nothing changes. The last enabled administrator can't be locked.",
        security=contract.Security.OPERATOR,
        problems=(NotFound, ControlsChanged, LastAdministrator),
        body=contract.json_body(AccountControlsInput, limit=_LONGEST_BODY),
        rate="operator",
        finish_when_client_leaves=True,
    )
    async def set_controls(
        self, call: contract.Call, path: AccountPath, body: AccountControlsInput
    ) -> OperatorAccount:
        """Change the controls of an account."""
        change = DecisionsChange(controls=controls_change(body, below=""))
        account_id = path.account_id
        return _schema(
            await self._administration.decide(
                account_id, change, actor="operator", remote_address=call.remote_address
            )
        )

    @contract.operation(
        id="removeOperatorAccount",
        method="DELETE",
        path="/api/operator/accounts/{accountId}",
        tag="operator",
        summary="Remove an account",
        description="What happens to its workspaces is described at removeOwnAccount. Its id and "
        "the time are kept.",
        security=contract.Security.OPERATOR,
        problems=(NotFound, LastAdministrator),
        rate="operator",
        finish_when_client_leaves=True,
    )
    async def remove_account(self, call: contract.Call, path: AccountPath) -> contract.Removed:
        """Remove an account."""
        await self._removal.remove_by_operator(path.account_id, remote_address=call.remote_address)
        return contract.REMOVED

    @contract.operation(
        id="redeemPortalToken",
        method="POST",
        path="/api/operator/portal/redeem",
        tag="operator",
        summary="Redeem the token of a person who opens the account portal",
        description=f"{_NO_CONTENT} A token works once, within 60 seconds of its creation; one "
        "that is unknown, used or expired is treated as missing.",
        security=contract.Security.OPERATOR,
        problems=(NotFound,),
        body=contract.json_body(PortalRedeem, limit=_LONGEST_BODY),
        rate="operator",
        finish_when_client_leaves=True,
    )
    async def redeem_portal_token(self, call: contract.Call, body: PortalRedeem) -> OperatorAccount:
        """Return the account of a portal token."""
        return _schema(await self._portal.redeem(body.token))


def _schema(summary: AccountSummary) -> OperatorAccount:
    return OperatorAccount(
        id=summary.account.account_id,
        address=summary.account.address,
        effective_state=summary.decisions.effective_state,
        controls=controls_schema(summary.decisions.controls),
        usage=usage_schema(summary.usage),
        limit=LimitSchema(storage_bytes=summary.decisions.storage.maximum),
    )
