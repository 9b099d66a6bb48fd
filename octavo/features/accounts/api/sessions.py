"""The sessions of the caller's account."""

from typing import Annotated

from octavo_rules.problems import NotFound

from octavo.access.caller import Caller
from octavo.features.accounts.own_credentials import OwnSessions
from octavo.features.accounts.rules.session import Session, SessionLife
from octavo.http import contract
from octavo.http.callers import caller_of
from octavo.model.access.account import SessionId


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
        security=contract.Security.SESSION_OR_KEY,
        locked=contract.Locked.ALLOWED,
    )
    async def list_sessions(self, call: contract.Call, query: contract.PageQuery) -> SessionList:
        """Return the sessions."""
        caller = caller_of(call)
        after = contract.read_cursor(query.after, 1, identifier=0)
        before = None if after is None else after[0]
        found = await self._own.list(caller.account_id, before, query.limit + 1)
        page, following = contract.split_page(found, query.limit, lambda each: (each.session_id,))
        items = [self._schema(session, caller) for session in page]
        return SessionList(items=items, next=following)

    @contract.operation(
        id="revokeSession",
        method="DELETE",
        path="/api/account/sessions/{sessionId}",
        tag="accounts",
        summary="Sign out one browser",
        description="This may be the session of the request itself.",
        security=contract.Security.SESSION_OR_KEY,
        locked=contract.Locked.ALLOWED,
        problems=(NotFound,),
        finish_when_client_leaves=True,
    )
    async def revoke_session(self, call: contract.Call, path: SessionPath) -> contract.Removed:
        """End a session."""
        caller = caller_of(call)
        await self._own.end(caller.account_id, path.session_id, client=call.client)
        return contract.REMOVED

    @contract.operation(
        id="revokeOtherSessions",
        method="POST",
        path="/api/account/sessions/revoke-others",
        tag="accounts",
        summary="Sign out every other browser",
        description="With an API key, all browsers are signed out.",
        security=contract.Security.SESSION_OR_KEY,
        finish_when_client_leaves=True,
    )
    async def revoke_other_sessions(self, call: contract.Call) -> SessionsEnded:
        """End every session except that of the request."""
        caller = caller_of(call)
        ended = await self._own.end_others(caller.account_id, caller.session_id, client=call.client)
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
