"""A person's sessions and API keys."""

from datetime import UTC, datetime

from quart import Response

from octavo.accounts.ports import Clock
from octavo.http.api.keys import ApiKeyCreated, ApiKeyList
from octavo.http.api.sessions import SessionList, SessionsEnded
from octavo.http.contract.contract_model import Removed
from octavo.http.contract.problems import Problem
from octavo.http.pages.responses import redirect, show
from octavo.http.pages.site import Site, Visitor
from octavo.http.pages.trouble import Trouble, trouble_of
from octavo.model.accounts.api_key import MAX_KEYS

_SESSIONS = "/account/sessions"
_KEYS = "/account/keys"
_DAY = 86_400
DAYS = ("30", "90", "365", "")
"""The lifetimes that a person can choose for a key, in days; empty for no end."""


def add_session_pages(site: Site) -> None:
    """Serve the pages of one's own sessions."""

    @site.page(_SESSIONS)
    async def show_sessions(visitor: Visitor) -> Response:
        page = await visitor.api.get(SessionList, "/api/account/sessions", **visitor.page)
        return await show("account/sessions.html", page=page)

    @site.form(f"{_SESSIONS}/<uuid:session_id>/end")
    async def end(visitor: Visitor, session_id: str) -> Response:
        await visitor.api.send(Removed, "DELETE", f"/api/account/sessions/{session_id}")
        return redirect(_SESSIONS, "session-ended")

    @site.form(f"{_SESSIONS}/end-others")
    async def end_others(visitor: Visitor) -> Response:
        path = "/api/account/sessions/revoke-others"
        await visitor.api.send(SessionsEnded, "POST", path)
        return redirect(_SESSIONS, "sessions-ended")


def add_key_pages(site: Site, now: Clock) -> None:
    """Serve the pages of one's own keys; ``now`` is in seconds of Unix time."""

    @site.page(_KEYS)
    async def show_keys(visitor: Visitor) -> Response:
        return await _keys(visitor)

    @site.form(_KEYS, once=True)
    async def create(visitor: Visitor) -> Response:
        days = visitor.given.get("days", "")
        expires_at = None
        if days.isdigit() and days in DAYS:
            moment = datetime.fromtimestamp(int(now()) + int(days) * _DAY, UTC)
            expires_at = moment.isoformat()
        body = {"name": visitor.given.get("name", ""), "expiresAt": expires_at}
        try:
            key = await visitor.api.send(ApiKeyCreated, "POST", "/api/account/keys", body)
        except Problem as problem:
            return await _keys(visitor, trouble_of(problem))
        return await show("account/key_created.html", key=key)

    @site.page(f"{_KEYS}/<uuid:key_id>/revoke")
    async def ask(visitor: Visitor, key_id: str) -> Response:
        keys = await visitor.api.get(ApiKeyList, "/api/account/keys")
        found = next((each for each in keys.items if each.id == str(key_id)), None)
        if found is None:
            return redirect(_KEYS)
        return await show(
            "confirm.html",
            place="Keys",
            heading="Revoke this key?",
            subject=found.name,
            text="Programs that use it are refused from then on. This can't be undone.",
            button="Revoke the key",
            back=_KEYS,
            here="/account",
        )

    @site.form(f"{_KEYS}/<uuid:key_id>/revoke")
    async def revoke(visitor: Visitor, key_id: str) -> Response:
        await visitor.api.send(Removed, "DELETE", f"/api/account/keys/{key_id}")
        return redirect(_KEYS, "key-revoked")


async def _keys(visitor: Visitor, trouble: Trouble | None = None) -> Response:
    keys = await visitor.api.get(ApiKeyList, "/api/account/keys")
    return await show(
        "account/keys.html",
        trouble=trouble,
        keys=keys.items,
        maximum=MAX_KEYS,
        given=visitor.given or {"days": "365"},
        days=DAYS,
    )
