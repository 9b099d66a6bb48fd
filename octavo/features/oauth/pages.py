"""The page of consent, on which a person allows a program access, and the connected programs."""

from collections.abc import Mapping, Sequence

from octavo_rules.problems import InvalidRequest
from octavo_rules.schemas import Workspace, WorkspaceList
from quart import Response, request

from octavo.features.oauth.api.connections import (
    AccessDecision,
    AccessRequest,
    ConnectionList,
    ConnectionSchema,
)
from octavo.features.oauth.api.oauth import AUTHORIZE
from octavo.features.oauth.rules.client import form_action_of
from octavo.features.oauth.rules.refusal import InvalidOAuthRequest
from octavo.http import contract
from octavo.http.pages.page_registry import PageRegistry, Visitor
from octavo.http.pages.responses import FormErrors, form_errors_of, redirect, show

_CONNECTIONS = "/account/connections"
_REQUESTS = "/api/account/access-requests"
DAYS: Mapping[str, str] = {
    "1": "For a day",
    "30": "For 30 days",
    "90": "For 90 days",
    "365": "For a year",
    "": "Until I end it",
}
"""How long a program may be allowed access, in days."""
_USUAL_DAYS = "90"
_CHOSEN = "workspace-"
_AMBIGUOUS = "You have ticked workspaces: choose “Only these”, or tick none to allow all of them."
_POLICY = next(
    value.decode() for name, value in contract.PAGE_HEADERS if name == b"content-security-policy"
)


def add_connection_pages(site: PageRegistry) -> None:
    """Serve the page of consent and the pages of connected programs."""
    site.provide(connects_programs=True)

    @site.page(AUTHORIZE)
    async def ask(visitor: Visitor) -> Response:
        return await _ask(visitor)

    @site.form(AUTHORIZE, once=True)
    async def decide(visitor: Visitor) -> Response:
        fields = visitor.form
        days = fields.get("days", _USUAL_DAYS)
        if days not in DAYS:
            days = _USUAL_DAYS
        body: dict[str, object] = {
            "parameters": _parameters(visitor),
            "allow": fields.get("decision") == "allow",
            "scopes": ["notes:read", *(["notes:write"] if "write" in fields else [])],
            "days": int(days) if days else None,
            "workspaceIds": None,
            "fingerprint": fields.get("fingerprint", ""),
        }
        chosen = [field.removeprefix(_CHOSEN) for field in fields if field.startswith(_CHOSEN)]
        only_chosen = fields.get("workspaces") == "chosen"
        if body["allow"] and only_chosen != bool(chosen):
            message = _AMBIGUOUS if chosen else "Choose at least one workspace."
            return await _ask(visitor, FormErrors(422, fields={"workspaces": message}))
        if only_chosen:
            body["workspaceIds"] = chosen or None
        try:
            decided = await visitor.api.send(AccessDecision, "POST", _REQUESTS, body)
        except InvalidRequest as problem:
            return await _ask(visitor, form_errors_of(problem, {"workspaceIds": "workspaces"}))
        if body["allow"]:
            return redirect(decided.redirect)
        # Don't redirect people to a program that they don't trust (RFC 9700 section 4.11.2).
        asked = await visitor.api.get(AccessRequest, _REQUESTS, **_parameters(visitor))
        return await show(
            "oauth/access_refused.html",
            name=asked.name,
            address=decided.redirect,
            target=asked.redirect_host,
        )

    @site.page(_CONNECTIONS)
    async def show_connections(visitor: Visitor) -> Response:
        connections = await visitor.api.get(ConnectionList, _CONNECTIONS_API)
        names = {workspace.id: workspace.name for workspace in await _workspaces(visitor)}
        return await show(
            "oauth/connections.html",
            connections=connections.items,
            workspace_names=names,
            mcp_address=f"{site.public_url}/mcp",
        )

    @site.page(f"{_CONNECTIONS}/<uuid:connection_id>/revoke")
    async def ask_to_revoke(visitor: Visitor, connection_id: str) -> Response:
        connections = await visitor.api.get(ConnectionList, _CONNECTIONS_API)
        connection = _of_id(connections, str(connection_id))
        if connection is None:
            return redirect(_CONNECTIONS)
        return await show(
            "confirm.html",
            place="Programs",
            heading="End the access of this program?",
            subject=connection.name,
            text="Its next request is refused. It can ask you again.",
            button="End the access",
            back=_CONNECTIONS,
            here="/account",
        )

    @site.form(f"{_CONNECTIONS}/<uuid:connection_id>/revoke")
    async def revoke(visitor: Visitor, connection_id: str) -> Response:
        await visitor.api.send(contract.Removed, "DELETE", f"{_CONNECTIONS_API}/{connection_id}")
        return redirect(_CONNECTIONS, "connection-revoked")


_CONNECTIONS_API = "/api/account/connections"


async def _ask(visitor: Visitor, trouble: FormErrors | None = None) -> Response:
    parameters = _parameters(visitor)
    asked = await visitor.api.get(AccessRequest, _REQUESTS, **parameters)
    fields = visitor.form or {"workspaces": "all", "days": _USUAL_DAYS}
    response = await show(
        "oauth/authorize.html",
        trouble=trouble,
        asked=asked,
        workspaces=await _workspaces(visitor),
        form=fields,
        days=DAYS,
        query=request.query_string.decode("latin-1"),
    )
    # Browsers apply the policy of forms to the redirect that follows.
    target = form_action_of(asked.redirect_uri)
    response.headers["content-security-policy"] = _POLICY.replace(
        "form-action 'self'", f"form-action 'self' {target}"
    )
    return response


def _parameters(visitor: Visitor) -> Mapping[str, str]:
    """Return the parameters of the program's request. Raises `InvalidOAuthRequest`."""
    if any(len(request.args.getlist(name)) > 1 for name in request.args):
        raise InvalidOAuthRequest("The program sent a parameter more than once.")
    return visitor.query


async def _workspaces(visitor: Visitor) -> Sequence[Workspace]:
    page = await visitor.api.get(WorkspaceList, "/api/workspaces", limit="100")
    return page.items


def _of_id(connections: ConnectionList, connection_id: str) -> ConnectionSchema | None:
    return next(
        (connection for connection in connections.items if connection.id == connection_id), None
    )
