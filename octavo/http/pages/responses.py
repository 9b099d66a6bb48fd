"""Responses of pages: a page of a template, and redirects after forms, with a message.

A message says what happened, and is shown once by the next page. A cookie names it by a code of
this module: no other text can be shown with it. It is only set by a response to a form.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, cast
from urllib.parse import quote, urlsplit

from octavo_rules.problems import Header, InvalidRequest, Problem
from quart import Response, current_app, request

from octavo.http import contract
from octavo.http.callers import cookie_values
from octavo.http.pages.long_texts import body_of
from octavo.http.pages.redirects import is_external_redirect
from octavo.http.refusals import wait_of
from octavo.model.access.account import PasswordQueueFull

_BUSY = "The server is checking many other passwords at the moment"
_OF_THE_ACCOUNT = frozenset({"not_signed_in", "account_locked", "consent_required"})


@dataclass(frozen=True, slots=True)
class FormErrors:
    """Why a form was refused.

    Attributes:
        status: of the page.
        text: for the whole form; empty when the fields say it.
        fields: the errors, by the names of fields.
        headers: of the page, such as ``retry-after``.
        code: the code of the problem, for the log and the audit.
    """

    status: int
    text: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    headers: tuple[Header, ...] = ()
    code: str = InvalidRequest.code


def form_errors_of(problem: Problem, names: Mapping[str, str] | None = None) -> FormErrors:
    """Return what the page of a form says of ``problem``.

    ``names`` maps a member of the request to the field of the form when their names differ. Raises
    ``problem`` if it is not of the form: nobody is signed in, or the account is locked.
    """
    if problem.code in _OF_THE_ACCOUNT:
        try:
            raise problem
        finally:
            del problem
    fields: dict[str, str] = {}
    if isinstance(problem, InvalidRequest):
        errors = problem.members.get("errors")
        for error in errors if isinstance(errors, list) else []:
            member = str(error["pointer"]).rpartition("/")[2]
            fields.setdefault((names or {}).get(member, member), str(error["message"]))
    text = "" if fields else problem.advice or problem.detail
    if problem.status == 429:
        busy = isinstance(problem, PasswordQueueFull)
        reason = _BUSY if busy else "There were too many attempts"
        text = f"{reason}. Try again {wait_of(problem)}."
    return FormErrors(problem.status, text, fields, problem.headers, problem.code)


if TYPE_CHECKING:
    from antechamber.asgi import Scope

_NAME = "__Host-octavo-message"
_ATTRIBUTES = "Path=/; Secure; HttpOnly; SameSite=Lax"
_SECONDS = 60

MESSAGES: Mapping[str, str] = {
    "signed-out": "You are signed out.",
    "not-saved": "You are not signed in any more, so nothing was changed. Sign in, and fill in the "
    "form again.",
    "registered": "Welcome. Your account is ready.",
    "name-changed": "Your name is changed.",
    "preferences-changed": "Your preferences are changed.",
    "password-changed": "Your password is changed.",
    "password-reset": "Your password is changed. Sign in with the new one.",
    "session-ended": "That browser is signed out.",
    "sessions-ended": "Every other browser is signed out.",
    "key-revoked": "The key is revoked. Programs that use it are refused from now on.",
    "connection-revoked": "The program has no access any more.",
    "consent-recorded": "Thank you. Your agreement is recorded.",
    "account-removed": "Your account is removed.",
    "workspace-created": "The workspace is created.",
    "workspace-renamed": "The workspace is renamed.",
    "workspace-deleted": "The workspace is deleted.",
    "workspace-joined": "You are a member of this workspace now.",
    "workspace-left": "You have left the workspace.",
    "member-changed": "The role is saved.",
    "member-removed": "The member is removed.",
    "invitation-revoked": "The invitation is revoked. Its link opens nothing any more.",
    "link-revoked": "The link is revoked. It opens nothing any more.",
    "changes-undone": "The changes of the program are undone.",
    "note-created": "The note is created.",
    "note-saved": "Saved.",
    "note-unchanged": "There was nothing to save.",
    "note-changed-meanwhile": "You changed nothing. The note was saved meanwhile: this is its "
    "current text.",
    "copy-saved": "Your text is saved as a note of its own.",
    "theirs-kept": "The saved text is kept, and yours is dropped.",
    "note-moved": "The note is moved.",
    "note-changed": "The note changed meanwhile, so it was not deleted. This is its current text.",
    "note-deleted": "The note is deleted. It is among the deleted notes and images, and can be "
    "restored.",
    "note-restored": "The note is restored.",
    "text-restored": "The earlier text is restored, as a new revision.",
    "note-erased": "The note is erased for good.",
    "image-added": "The image is added. A note shows it when it links to it.",
    "image-moved": "The image is moved.",
    "image-unchanged": "There was nothing to save.",
    "image-changed": "The image changed meanwhile, so it was not deleted. This is how it is now.",
    "image-deleted": "The image is deleted. It is among the deleted notes and images, and can be "
    "restored.",
    "image-restored": "The image is restored.",
    "image-erased": "The image is erased for good.",
    "import-discarded": "The archive is discarded.",
    "example-created": "Here is the example. This note says where to begin.",
    "example-present": "The example is here already, or notes with the same names.",
    "report-dismissed": "The report is dismissed. The link stays as it is.",
    "report-closed": "This report was closed already, so nothing was changed.",
    "link-taken-down": "The link is taken down, and every report of it is closed.",
    "account-changed": "The account is saved.",
    "other-account-removed": "The account is removed.",
    "installation-changed": "The installation is changed.",
}
"""The texts by their codes."""

REFUSALS = frozenset({"not-saved", "note-changed", "image-changed", "report-closed"})
"""The codes of messages that say why nothing was changed."""


class PageMessage(NamedTuple):
    """What a page shows of a message."""

    text: str
    refused: bool


def message_cookie(code: str) -> Header:
    """Return the header that has the next page show the message ``code``."""
    if code not in MESSAGES:
        raise KeyError(code)
    return _set_cookie(code, _SECONDS)


def cleared_message() -> Header:
    """Return the header that ends the message."""
    return _set_cookie("", 0)


def message_of(headers: Sequence[Header]) -> PageMessage | None:
    """Return the message that the cookie in ``headers`` names; ``None`` without one."""
    code = next(cookie_values(headers, _NAME.encode()), b"").decode("latin-1")
    return PageMessage(MESSAGES[code], code in REFUSALS) if code in MESSAGES else None


def has_message(headers: Sequence[Header]) -> bool:
    """Return whether ``headers`` contain the cookie, with any value."""
    return any(True for _ in cookie_values(headers, _NAME.encode()))


def _set_cookie(value: str, seconds: int) -> Header:
    return (b"set-cookie", f"{_NAME}={value}; {_ATTRIBUTES}; Max-Age={seconds}".encode())


SIGN_IN = "/sign-in"
CONSENT = "/consent"
HOME = "/workspaces"
"""Where a person arrives after signing in."""

_SEE_OTHER = 303


async def show(
    template: str,
    *,
    trouble: FormErrors | None = None,
    status: int = 200,
    **context: object,
) -> Response:
    """Return the page of a template; with ``trouble``, it says why its form was refused.

    Raises `ServerBusy` when there is no memory for a long page.
    """
    if trouble is not None:
        status = trouble.status
        report(trouble.code)
    context["trouble"] = trouble or FormErrors(200)
    # With what the application adds to every page.
    await current_app.update_template_context(context)
    page = current_app.jinja_env.get_template(template).render(context)
    response = Response(await body_of(page), status, content_type="text/html; charset=utf-8")
    return with_headers(response, () if trouble is None else trouble.headers)


def report(code: str) -> None:
    """Report the problem ``code`` to the log and the audit."""
    contract.report_refusal(cast("Scope", request.scope), code)


def redirect(path: str, message: str | None = None, headers: Sequence[Header] = ()) -> Response:
    """Return a redirect to a page, after a form; the page shows the message of this code."""
    response = Response("", _SEE_OTHER)
    response.headers["location"] = path
    cookies = () if message is None else (message_cookie(message),)
    return with_headers(response, (*headers, *cookies))


def with_headers(response: Response, headers: Sequence[Header]) -> Response:
    """Return ``response`` with additional headers."""
    for name, value in headers:
        response.headers.add(name.decode("latin-1"), value.decode("latin-1"))
    return response


def sign_in_first() -> Response:
    """Return a redirect to the sign-in page, which leads back to the present page.

    After a form, it says that nothing was changed.
    """
    return _first(SIGN_IN, "not-saved" if request.method == "POST" else None)


def consent_first() -> Response:
    """Return a redirect to the page of consent, which leads back to the present page."""
    return _first(CONSENT)


def _first(page: str, message: str | None = None) -> Response:
    path = request.full_path.rstrip("?") if request.method == "GET" else page_of_form()
    return redirect(f"{page}?next={quote(path, safe='/')}" if path != "/" else page, message)


def inside(path: str, public_url: str) -> str:
    """Return ``path`` if it leads into this installation, else `HOME`."""
    return path if path and not is_external_redirect(path, public_url) else HOME


def page_of_form() -> str:
    """Return the path of the page with the form that was submitted; ``/`` if it is not known."""
    try:
        referrer = urlsplit(request.headers.get("referer", ""))
    except ValueError:
        return "/"
    if referrer.netloc != request.host or not referrer.path:
        return "/"
    return f"{referrer.path}?{referrer.query}" if referrer.query else referrer.path
