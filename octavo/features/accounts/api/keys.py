"""The API keys and the sessions of the caller's account."""

from functools import partial
from typing import Annotated

from octavo_rules.identity import SCOPES, Scope, WorkspaceId
from octavo_rules.problems import InvalidRequest, NotFound
from octavo_rules.schemas import ApiKey, ApiKeyCreated
from pydantic import Field

from octavo.access.attempts import GRANTS
from octavo.access.caller import Caller
from octavo.access.ports import Clock
from octavo.features.accounts.own_credentials import NotAMember, OwnKeys, OwnSessions
from octavo.features.accounts.rules.refusal import TooManyKeys
from octavo.features.accounts.rules.session import LONGEST_NAME, MAX_CHOSEN, Session, SessionLife
from octavo.features.accounts.rules.session import ApiKey as StoredKey
from octavo.http import contract
from octavo.http.callers import caller_of
from octavo.http.file_schemas import label
from octavo.model.access.account import AccessLimits, KeyId, SessionId, parse_scopes
from octavo.model.files.path import check_path
from octavo.model.label import parse_label
from octavo.model.refusal import InvalidPath


class SessionPath(contract.Model):
    """One session."""

    session_id: Annotated[SessionId, contract.IN_PATH]


class AccountSession(contract.Model):
    """A signed-in browser."""

    id: contract.Identifier
    device: str
    """The user agent of the browser when it signed in; may be empty."""
    client: str | None
    """The network address that it signed in from."""
    created_at: contract.Timestamp
    last_active_at: contract.Timestamp
    """To the minute."""
    expires_at: contract.Timestamp
    """When it ends without activity."""
    current: bool
    """Whether this request belongs to it."""


class SessionList(contract.ListPage[AccountSession]):
    """Sessions, newest first."""


class SessionsEnded(contract.Model):
    """Other sessions have ended."""

    ended: int
    """The number of sessions that ended."""


class SessionOperations:
    """The sessions of the caller's account.

    Args:
        own: the use case that lists and ends them.
        life: their lifetime.
    """

    def __init__(self, own: OwnSessions, *, life: SessionLife) -> None:
        self._own = own
        self._life = life

    @contract.operation(
        id="listSessions",
        method="GET",
        path="/api/account/sessions",
        tag="accounts",
        summary="List your sessions",
        locked=contract.Locked.ALLOWED,
    )
    async def list_sessions(self, call: contract.Call, query: contract.PageQuery) -> SessionList:
        """Return the sessions."""
        caller = caller_of(call)
        page, following = await contract.page_by_id(
            query, partial(self._own.list, caller.account_id), lambda session: session.session_id
        )
        items = [self._schema(session, caller) for session in page]
        return SessionList(items=tuple(items), next=following)

    @contract.operation(
        id="revokeSession",
        method="DELETE",
        path="/api/account/sessions/{sessionId}",
        tag="accounts",
        summary="Sign out one browser",
        description="This may be the session of the request itself.",
        locked=contract.Locked.ALLOWED,
        problems=(NotFound,),
        finish_when_client_leaves=True,
    )
    async def revoke_session(self, call: contract.Call, path: SessionPath) -> contract.Removed:
        """End a session."""
        caller = caller_of(call)
        await self._own.end(caller.account_id, path.session_id, remote_address=call.remote_address)
        return contract.REMOVED

    @contract.operation(
        id="revokeOtherSessions",
        method="POST",
        path="/api/account/sessions/revoke-others",
        tag="accounts",
        summary="Sign out every other browser",
        description="With an API key, all browsers are signed out.",
        finish_when_client_leaves=True,
    )
    async def revoke_other_sessions(self, call: contract.Call) -> SessionsEnded:
        """End every session except that of the request."""
        caller = caller_of(call)
        ended = await self._own.end_others(
            caller.account_id, caller.session_id, remote_address=call.remote_address
        )
        return SessionsEnded(ended=ended)

    def _schema(self, session: Session, caller: Caller) -> AccountSession:
        return AccountSession(
            id=session.session_id,
            device=session.device,
            client=session.client or None,
            created_at=contract.timestamp(session.created_at),
            last_active_at=contract.timestamp(session.active_at),
            expires_at=contract.timestamp(self._life.expires_at(session)),
            current=session.session_id == caller.session_id,
        )


_LONGEST_BODY = 16_384
_SCOPELESS = "A key with full access has no other limits: give scopes, too."


class KeyPath(contract.Model):
    """An API key."""

    key_id: Annotated[KeyId, contract.IN_PATH]


class ApiKeyCreateInput(contract.Model):
    """A new key."""

    name: Annotated[str, Field(json_schema_extra=label(LONGEST_NAME))]
    """A label of 1 to 100 characters on one line."""
    expires_at: contract.GivenTime | None = None
    """When the key expires; null for never."""
    scopes: Annotated[list[Scope], Field(min_length=1)] | None = None
    """What the key may do with notes; ``notes:write`` includes reading. Null for full access."""
    workspace_ids: (
        Annotated[list[contract.Identifier], Field(min_length=1, max_length=MAX_CHOSEN)] | None
    ) = None
    """The workspaces that the key is limited to, with scopes; null for all."""
    folder: str | None = None
    """The folder that the key is limited to, in exactly one workspace; null for all files."""


class ApiKeyList(contract.Model):
    """All keys, newest first."""

    items: tuple[ApiKey, ...]


class KeyOperations:
    """The API keys of the caller's account.

    Args:
        own: the use case that lists, creates and revokes them.
        now: the clock, in seconds of Unix time.
    """

    def __init__(self, own: OwnKeys, *, now: Clock) -> None:
        self._own = own
        self._now = now

    @contract.operation(
        id="listApiKeys",
        method="GET",
        path="/api/account/keys",
        tag="accounts",
        summary="List your API keys",
        locked=contract.Locked.ALLOWED,
    )
    async def list_keys(self, call: contract.Call) -> ApiKeyList:
        """Return the keys."""
        keys = await self._own.list(caller_of(call).account_id)
        return ApiKeyList(items=tuple(_schema(key) for key in keys))

    @contract.operation(
        id="createApiKey",
        method="POST",
        path="/api/account/keys",
        tag="accounts",
        summary="Create an API key",
        description="Without scopes it has full access to the account. With scopes it may call the "
        "operations that declare one of them, in the chosen workspaces, on files below the folder: "
        "for everything else, it gets 403 `insufficient_scope`, or 404. The current rights of the "
        "account limit every key. Only this response contains the secret. An account has at most "
        "25 keys, including expired ones.",
        status=201,
        problems=(TooManyKeys,),
        body=contract.json_body(ApiKeyCreateInput, limit=_LONGEST_BODY),
        rate=GRANTS,
    )
    async def create_key(self, call: contract.Call, body: ApiKeyCreateInput) -> ApiKeyCreated:
        """Create a key."""
        name, expires_at, limits = self._checked(body)
        account_id = caller_of(call).account_id
        try:
            key, secret = await self._own.create(
                account_id, name, expires_at, limits, remote_address=call.remote_address
            )
        except NotAMember as refusal:
            message = "You belong to no workspace with this id."
            chosen = enumerate(body.workspace_ids or ())
            at = [index for index, workspace_id in chosen if workspace_id in refusal.workspace_ids]
            errors = [(f"/workspaceIds/{index}", message) for index in at]
            raise InvalidRequest(errors=errors) from None
        return ApiKeyCreated(**dict(_schema(key)), secret=secret)

    @contract.operation(
        id="revokeApiKey",
        method="DELETE",
        path="/api/account/keys/{keyId}",
        tag="accounts",
        summary="Revoke an API key",
        description="The next request with it is refused.",
        locked=contract.Locked.ALLOWED,
        problems=(NotFound,),
        finish_when_client_leaves=True,
    )
    async def revoke_key(self, call: contract.Call, path: KeyPath) -> contract.Removed:
        """Revoke a key."""
        account_id = caller_of(call).account_id
        await self._own.revoke(account_id, path.key_id, remote_address=call.remote_address)
        return contract.REMOVED

    def _checked(self, body: ApiKeyCreateInput) -> tuple[str, int | None, AccessLimits | None]:
        """Return the validated name, expiry and limits. Raises `InvalidRequest`."""
        errors: list[tuple[str, str]] = []
        name = ""
        expires_at = None if body.expires_at is None else contract.milliseconds_of(body.expires_at)
        try:
            name = parse_label(body.name, LONGEST_NAME)
        except ValueError as error:
            errors.append(("/name", str(error)))
        if expires_at is not None and expires_at <= self._now() * 1000:
            errors.append(("/expiresAt", "This time has passed: give a future time, or omit it."))
        if expires_at is not None and expires_at > contract.LATEST:
            errors.append(("/expiresAt", "Give a time before the year 10000, or omit it."))
        errors += _limit_errors(body)
        if errors:
            raise InvalidRequest(errors=errors)
        return name, expires_at, _limits(body)


def _limit_errors(body: ApiKeyCreateInput) -> list[tuple[str, str]]:
    chosen, folder = body.workspace_ids, body.folder
    if body.scopes is None:
        limits = (("/workspaceIds", chosen), ("/folder", folder))
        return [(pointer, _SCOPELESS) for pointer, value in limits if value is not None]
    if folder is None:
        return []
    if chosen is None or len(set(chosen)) != 1:
        return [("/folder", "A folder is in one workspace: give exactly one in workspaceIds.")]
    try:
        check_path(folder, kept=folder)
    except InvalidPath as refusal:
        return [("/folder", refusal.detail)]
    return []


def _limits(body: ApiKeyCreateInput) -> AccessLimits | None:
    if body.scopes is None:
        return None
    chosen = None if body.workspace_ids is None else frozenset(map(WorkspaceId, body.workspace_ids))
    return AccessLimits(parse_scopes(body.scopes), chosen, body.folder)


def _schema(key: StoredKey) -> ApiKey:
    limits = key.limits
    chosen = None if limits is None else limits.workspaces
    return ApiKey(
        id=key.key_id,
        name=key.name,
        created_at=contract.timestamp(key.created_at),
        expires_at=None if key.expires_at is None else contract.timestamp(key.expires_at),
        last_used_at=None if key.used_at is None else contract.timestamp(key.used_at),
        scopes=None
        if limits is None
        else tuple(scope for scope in SCOPES if scope in limits.scopes),
        workspace_ids=None if chosen is None else tuple(sorted(chosen)),
        folder=None if limits is None else limits.folder,
    )
