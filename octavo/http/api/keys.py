"""The API keys of the caller's account."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from octavo.accounts.attempts import GRANTS
from octavo.accounts.caller import Caller
from octavo.accounts.own_credentials import OwnKeys
from octavo.accounts.ports import Clock
from octavo.http.api.fields import label
from octavo.http.api.refusals import refused_with
from octavo.http.contract.bodies import json_body
from octavo.http.contract.call import Call
from octavo.http.contract.contract_model import (
    LATEST,
    REMOVED,
    ContractModel,
    GivenTime,
    Identifier,
    Removed,
    Timestamp,
    milliseconds_of,
    timestamp,
)
from octavo.http.contract.operation import Locked, Security, operation
from octavo.http.contract.problems import InvalidRequest, NotFound
from octavo.model.accounts.api_key import LONGEST_NAME, KeyId
from octavo.model.accounts.api_key import ApiKey as StoredKey
from octavo.model.accounts.refusal import TooManyKeys
from octavo.model.label import parse_label

_LONGEST_BODY = 4_096


class KeyPath(ContractModel):
    """An API key."""

    key_id: UUID


class ApiKeyCreateInput(ContractModel):
    """A new key."""

    name: Annotated[str, Field(json_schema_extra=label(LONGEST_NAME))]
    """A label of 1 to 100 characters on one line."""
    expires_at: GivenTime | None = None
    """When the key expires; null for never."""


class ApiKeySchema(ContractModel):
    """A key, without its secret."""

    id: Identifier
    name: str
    created_at: Timestamp
    expires_at: Timestamp | None
    """Null for never."""
    last_used_at: Timestamp | None
    """To the minute; null if it was never used."""


class ApiKeyCreated(ApiKeySchema):
    """A new key."""

    secret: str = Field(repr=False)
    """The secret that programs send as ``authorization: Bearer …``. It cannot be read again."""


class ApiKeyList(ContractModel):
    """All keys, newest first."""

    items: tuple[ApiKeySchema, ...]


class KeyOperations:
    """The API keys of the caller's account.

    Args:
        own: the use case that lists, creates and revokes them.
        now: the clock, in seconds of Unix time.
    """

    def __init__(self, own: OwnKeys, *, now: Clock) -> None:
        self._own = own
        self._now = now

    @operation(
        id="listApiKeys",
        method="GET",
        path="/api/account/keys",
        tag="accounts",
        summary="List your API keys",
        security=Security.SESSION_OR_KEY,
        locked=Locked.ALLOWED,
    )
    async def list_keys(self, call: Call) -> ApiKeyList:
        """Return the keys."""
        keys = await self._own.list(call.principal_as(Caller).account_id)
        return ApiKeyList(items=tuple(_schema(key) for key in keys))

    @operation(
        id="createApiKey",
        method="POST",
        path="/api/account/keys",
        tag="accounts",
        summary="Create an API key",
        description="It has full access to the account, with the current rights of the account. "
        "Only this response contains the secret. An account has at most 25 keys, including "
        "expired ones.",
        security=Security.SESSION_OR_KEY,
        status=201,
        problems=refused_with(TooManyKeys),
        body=json_body(ApiKeyCreateInput, limit=_LONGEST_BODY),
        rate=GRANTS,
    )
    async def create_key(self, call: Call, body: ApiKeyCreateInput) -> ApiKeyCreated:
        """Create a key."""
        name, expires_at = self._checked(body)
        account_id = call.principal_as(Caller).account_id
        key, secret = await self._own.create(account_id, name, expires_at, client=call.client)
        return ApiKeyCreated(**_schema(key).model_dump(), secret=secret)

    @operation(
        id="revokeApiKey",
        method="DELETE",
        path="/api/account/keys/{keyId}",
        tag="accounts",
        summary="Revoke an API key",
        description="The next request with it is refused.",
        security=Security.SESSION_OR_KEY,
        locked=Locked.ALLOWED,
        problems=(NotFound,),
        finish_when_client_leaves=True,
    )
    async def revoke_key(self, call: Call, path: KeyPath) -> Removed:
        """Revoke a key."""
        account_id = call.principal_as(Caller).account_id
        await self._own.revoke(account_id, KeyId(str(path.key_id)), client=call.client)
        return REMOVED

    def _checked(self, body: ApiKeyCreateInput) -> tuple[str, int | None]:
        """Return the validated name and expiry. Raises `InvalidRequest`."""
        errors: list[tuple[str, str]] = []
        name = ""
        expires_at = None if body.expires_at is None else milliseconds_of(body.expires_at)
        try:
            name = parse_label(body.name, LONGEST_NAME)
        except ValueError as error:
            errors.append(("/name", str(error)))
        if expires_at is not None and expires_at <= self._now() * 1000:
            errors.append(("/expiresAt", "This time has passed: give a future time, or omit it."))
        if expires_at is not None and expires_at > LATEST:
            errors.append(("/expiresAt", "Give a time before the year 10000, or omit it."))
        if errors:
            raise InvalidRequest(errors=errors)
        return name, expires_at


def _schema(key: StoredKey) -> ApiKeySchema:
    return ApiKeySchema(
        id=key.key_id,
        name=key.name,
        created_at=timestamp(key.created_at),
        expires_at=None if key.expires_at is None else timestamp(key.expires_at),
        last_used_at=None if key.used_at is None else timestamp(key.used_at),
    )
