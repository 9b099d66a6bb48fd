"""The page of an invitation: register an account with it, or join with the account one has."""

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from octavo_rules.problems import ConsentRequired, NotFound, Problem
from octavo_rules.schemas import Workspace
from quart import Response, request

from octavo.features.legal.api import required_documents
from octavo.features.legal.rules import NO_TEXTS, LegalTexts
from octavo.features.members.rules import InvitedInto
from octavo.http.pages.page_registry import Audience, PageRegistry, Visitor
from octavo.http.pages.responses import HOME, FormErrors, form_errors_of, redirect, show
from octavo.http.pages.workspace_paths import path_of, workspace_of
from octavo.http.refusals import failures_as_problems
from octavo.store import StoreUnavailable

PATH = "/register"
JOIN = "/join"

Opens = Callable[[str], Awaitable[bool]]
"""Returns whether an account can be created with an invitation; empty for none.

Raises `StoreUnavailable`.
"""

FindInvited = Callable[[str], Awaitable[InvitedInto | None]]
"""Returns who invites with an invitation, and into which workspace; None for none.

Raises `StoreUnavailable`.
"""

NOT_ACCEPTED = (
    "To create an account, accept the documents below in their present version. They may have "
    "changed since you opened this page."
)
OTHER_ADDRESS = (
    "This invitation is not for this e-mail address. Use the address that was invited, "
    "or ask the person who invited you for another link."
)
NOT_JOINED = (
    "This invitation does not work with this account. It may be for another e-mail address, be "
    "used already, or be meant for a new account."
)


class Closed(NamedTuple):
    """A page without a form: why there is none, and what to do."""

    heading: str
    what: str
    advice: str
    status: int


NO_INVITATION = Closed(
    "You need an invitation",
    "To create an account you need the link of an invitation, and this address has none.",
    "Open the complete link that you received, or ask the people who run this "
    "installation for one.",
    200,
)
UNUSABLE = Closed(
    "This invitation can't be used",
    "An invitation works once and for a limited time. This one was used, has expired, or "
    "is incomplete.",
    "If you created your account with it, sign in. Otherwise ask the person who invited you "
    "for a new link. If you run this installation, the command octavo invite makes one.",
    NotFound.status,
)


def add_register_pages(
    site: PageRegistry, opens: Opens, invited_into: FindInvited, legal: LegalTexts
) -> None:
    """Serve the pages of invitations, which people accept with the documents ``legal``."""

    async def is_open() -> bool:
        try:
            return await opens("")
        except StoreUnavailable:
            return False

    site.registration_is_open = is_open

    @site.page(PATH, Audience.ANYBODY)
    async def show_invitation(visitor: Visitor) -> Response:
        token = visitor.query.get("invitation", "")
        if visitor.signed_in is not None and not token:
            return redirect(HOME)
        if not await _opens(token):
            return await _closed(token)
        if visitor.signed_in is not None:
            return await _join(visitor, token)
        return await _form(token, {})

    @site.form(PATH, Audience.ANYBODY, once=True)
    async def register(visitor: Visitor) -> Response:
        token = visitor.query.get("invitation", "")
        fields = visitor.form
        body: dict[str, object] = {
            "invitation": token or None,
            "address": fields.get("address", ""),
            "displayName": fields.get("displayName", ""),
            "password": fields.get("password", ""),
            "rememberMe": "remember" in fields,
        }
        if "accept" in fields:
            names = ("termsVersion", "privacyVersion")
            body["consent"] = {name: fields.get(name) or None for name in names}
        try:
            performed = await visitor.api.call("POST", "/api/registrations", body)
        except NotFound as problem:
            if not await _opens(token):
                return await _closed(token)
            return await _form(
                token, fields, FormErrors(problem.status, OTHER_ADDRESS, code=problem.code)
            )
        except ConsentRequired as problem:
            return await _form(
                token, fields, FormErrors(problem.status, NOT_ACCEPTED, code=problem.code)
            )
        except Problem as problem:
            trouble = form_errors_of(problem)
            if "invitation" in trouble.fields:
                return await _closed(token)
            return await _form(token, fields, trouble)
        return redirect(HOME, "registered", performed.headers)

    @site.form(JOIN)
    async def join(visitor: Visitor) -> Response:
        token = visitor.form.get("invitation", "")
        path = "/api/invitations/accept"
        try:
            joined = await visitor.api.send(Workspace, "POST", path, {"token": token})
        except NotFound as problem:
            trouble = FormErrors(problem.status, NOT_JOINED, code=problem.code)
        except Problem as problem:
            trouble = form_errors_of(problem)
        else:
            return redirect(path_of(joined.id), "workspace-joined")
        return await _join(visitor, token, trouble)

    async def _opens(token: str) -> bool:
        with failures_as_problems():
            return await opens(token)

    async def _invited(token: str) -> InvitedInto | None:
        try:
            return await invited_into(token)
        except StoreUnavailable:
            # The form keeps what was typed.
            return None

    async def _join(visitor: Visitor, token: str, trouble: FormErrors | None = None) -> Response:
        invited = await _invited(token)
        member = None if invited is None else await _membership(visitor, invited.workspace_id)
        return await show(
            "members/join.html", trouble=trouble, token=token, invited=invited, member=member
        )

    async def _form(
        token: str, fields: Mapping[str, str], trouble: FormErrors | None = None
    ) -> Response:
        here = f"{PATH}?invitation={quote(token, safe='')}" if token else PATH
        known = urlsplit(site.public_url).netloc
        return await show(
            "members/register.html",
            trouble=trouble,
            form=fields,
            action=here,
            invited=await _invited(token) if token else None,
            sign_in=f"/sign-in?next={quote(here, safe='')}" if token else "/sign-in",
            # The page keeps its form: a proxy may have changed the host.
            elsewhere="" if request.host.lower() == known else site.public_url + here,
            documents=None if legal == NO_TEXTS else required_documents(legal),
        )


async def _membership(visitor: Visitor, workspace_id: str) -> Workspace | None:
    """Return a workspace if the visitor is a member already."""
    try:
        return await workspace_of(visitor, workspace_id)
    except Problem:
        return None


async def _closed(token: str) -> Response:
    """Return the page for an invitation that is not valid, or for none where one is needed."""
    closed = UNUSABLE if token else NO_INVITATION
    return await show("members/register_closed.html", **closed._asdict())
