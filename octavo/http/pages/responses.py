"""Responses of pages: a page of a template, and redirects after forms."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast
from urllib.parse import quote, urlsplit

from octavo_rules.problems import Header
from quart import Response, current_app, request

from octavo.http import contract
from octavo.http.pages.form_errors import FormErrors
from octavo.http.pages.long_texts import body_of
from octavo.http.pages.messages import message_cookie
from octavo.http.pages.redirects import is_external_redirect

if TYPE_CHECKING:
    from antechamber.asgi import Scope

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
