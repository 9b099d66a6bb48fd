"""A person's sessions and API keys."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple
from unicodedata import normalize

from octavo_rules.identity import READ, WRITE, WorkspaceId
from octavo_rules.problems import Problem
from octavo_rules.schemas import ApiKey, ApiKeyCreated, WorkspaceList
from quart import Response

from octavo.access.ports import Clock
from octavo.features.accounts.api.keys import ApiKeyList, SessionList, SessionsEnded
from octavo.features.accounts.rules.session import MAX_CHOSEN, MAX_KEYS
from octavo.http import contract
from octavo.http.pages.page_registry import PageRegistry, Visitor
from octavo.http.pages.responses import FormErrors, form_errors_of, redirect, show
from octavo.http.pages.workspace_paths import LIST

_SESSIONS = "/account/sessions"
_KEYS = "/account/keys"
_DAY = 86_400
DAYS = ("30", "90", "365", "")
"""The lifetimes that a person can choose for a key, in days; empty for no end."""
ACCESS: Mapping[str, str] = {
    "": "Everything",
    WRITE: "Read and write notes",
    READ: "Read notes",
}
"""What a key may do, by its scope; empty for full access."""
EXPLAINED: Mapping[str, str] = {
    "": "All that you may do: also members, links, invitations, your account and other keys.",
    WRITE: "Notes, images, their history and search. It can't erase anything for good, and has no "
    "part in members, links or your account.",
    READ: "Notes, images, their history, search and exports; it changes nothing. For backups, and "
    "for programs that only look things up.",
}
"""What a person reads beside each choice of what a key may do."""
_WORKSPACE = "workspace-"
_NAMES = {str(index): "workspaces" for index in range(MAX_CHOSEN)} | {"workspaceIds": "workspaces"}
_FULL_IS_UNLIMITED = (
    "A key that may do everything can't be limited to workspaces or a folder: choose what it may "
    "do with notes."
)


class KeyRow(NamedTuple):
    """A key as the list shows it.

    Attributes:
        key: the key.
        access: what it may do.
        workspaces: the known names of the workspaces that it is limited to.
        others: the number of other workspaces that it is limited to.
    """

    key: ApiKey
    access: str
    workspaces: Sequence[str]
    others: int


def add_session_pages(site: PageRegistry) -> None:
    """Serve the pages of one's own sessions."""

    @site.page(_SESSIONS)
    async def show_sessions(visitor: Visitor) -> Response:
        page = await visitor.api.get(SessionList, "/api/account/sessions", **visitor.page)
        return await show("accounts/sessions.html", page=page)

    @site.form(f"{_SESSIONS}/<uuid:session_id>/end")
    async def end(visitor: Visitor, session_id: str) -> Response:
        await visitor.api.send(contract.Removed, "DELETE", f"/api/account/sessions/{session_id}")
        return redirect(_SESSIONS, "session-ended")

    @site.form(f"{_SESSIONS}/end-others")
    async def end_others(visitor: Visitor) -> Response:
        path = "/api/account/sessions/revoke-others"
        await visitor.api.send(SessionsEnded, "POST", path)
        return redirect(_SESSIONS, "sessions-ended")


def add_key_pages(site: PageRegistry, now: Clock) -> None:
    """Serve the pages of one's own keys; ``now`` is in seconds of Unix time."""

    @site.page(_KEYS)
    async def show_keys(visitor: Visitor) -> Response:
        return await _keys(visitor)

    @site.form(_KEYS, once=True)
    async def create(visitor: Visitor) -> Response:
        days = visitor.form.get("days", "")
        expires_at = None
        if days.isdigit() and days in DAYS:
            moment = datetime.fromtimestamp(int(now()) + int(days) * _DAY, UTC)
            expires_at = moment.isoformat()
        limits = _limits(visitor.form)
        if isinstance(limits, FormErrors):
            return await _keys(visitor, limits)
        body = {"name": visitor.form.get("name", ""), "expiresAt": expires_at, **limits}
        try:
            key = await visitor.api.send(ApiKeyCreated, "POST", "/api/account/keys", body)
        except Problem as problem:
            return await _keys(visitor, form_errors_of(problem, _NAMES))
        return await show("accounts/key_created.html", key=key)

    @site.page(f"{_KEYS}/<uuid:key_id>/revoke")
    async def ask(visitor: Visitor, key_id: str) -> Response:
        keys = await visitor.api.get(ApiKeyList, "/api/account/keys")
        key = next((item for item in keys.items if item.id == str(key_id)), None)
        if key is None:
            return redirect(_KEYS)
        return await show(
            "confirm.html",
            place="Keys",
            heading="Revoke this key?",
            subject=key.name,
            text="Programs that use it are refused from then on. This can't be undone.",
            button="Revoke the key",
            back=_KEYS,
            here="/account",
        )

    @site.form(f"{_KEYS}/<uuid:key_id>/revoke")
    async def revoke(visitor: Visitor, key_id: str) -> Response:
        await visitor.api.send(contract.Removed, "DELETE", f"/api/account/keys/{key_id}")
        return redirect(_KEYS, "key-revoked")


def _limits(fields: Mapping[str, str]) -> dict[str, object] | FormErrors:
    """Return the members of the request that limit the key; or why the form is refused."""
    scope = fields.get("access")
    if scope not in ACCESS:
        return FormErrors(400, fields={"access": "Choose what the key may do."})
    chosen = [name.removeprefix(_WORKSPACE) for name in fields if name.startswith(_WORKSPACE)]
    # As people type it: with slashes around it, or copied from a system that decomposes letters.
    folder = normalize("NFC", fields.get("folder", "").strip().strip("/"))
    if scope not in (READ, WRITE):
        if chosen or folder:
            return FormErrors(400, fields={"access": _FULL_IS_UNLIMITED})
        return {}
    if folder and len(chosen) != 1:
        return FormErrors(400, fields={"folder": "Choose the one workspace that the folder is in."})
    return {"scopes": [scope], "workspaceIds": chosen or None, "folder": folder or None}


def _row(key: ApiKey, names: Mapping[WorkspaceId, str]) -> KeyRow:
    scope = "" if key.scopes is None else WRITE if WRITE in key.scopes else READ
    chosen = key.workspace_ids or ()
    known = [names[workspace_id] for workspace_id in chosen if workspace_id in names]
    return KeyRow(key, ACCESS[scope], known, len(chosen) - len(known))


async def _keys(visitor: Visitor, trouble: FormErrors | None = None) -> Response:
    keys = await visitor.api.get(ApiKeyList, "/api/account/keys")
    workspaces = await visitor.api.get(WorkspaceList, LIST, limit=str(MAX_CHOSEN))
    names = {item.id: item.name for item in workspaces.items}
    return await show(
        "accounts/keys.html",
        trouble=trouble,
        rows=[_row(item, names) for item in keys.items],
        maximum=MAX_KEYS,
        form=visitor.form or {"days": "365"},
        days=DAYS,
        access=ACCESS,
        explained=EXPLAINED,
        workspaces=workspaces.items,
        more_workspaces=workspaces.next is not None,
    )
