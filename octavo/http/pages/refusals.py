"""Error responses of the pages: an HTML page, or problem details for clients that prefer JSON."""

import re
from http import HTTPStatus
from typing import cast

from antechamber.asgi import Scope
from antechamber.rejection import MEDIA_TYPE, problem_document
from octavo_rules import problems
from octavo_rules.schemas import Workspace
from quart import Response, g, request
from werkzeug.exceptions import HTTPException
from werkzeug.exceptions import MethodNotAllowed as NotOfThisMethod

from octavo.http import contract
from octavo.http.pages.forms import FormUnreadable
from octavo.http.pages.localized import prefers_document
from octavo.http.pages.responses import HOME, page_of_form, show
from octavo.http.pages.workspace_paths import LIST

_BY_STATUS = {kind.status: kind for kind in contract.OUTSIDE_OPERATIONS}
_HEADINGS = {
    400: "This address does not work",
    403: "You may not do this",
    404: "Page not found",
    410: "Erased for good",
    413: "This is too large",
    429: "Too many attempts",
    500: "Something went wrong",
    503: "Try again soon",
}
_OF_WORKSPACE = re.compile(f"{HOME}/([0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}})/.")
_WITH_A_WAY_BACK = frozenset({403, 404, 410})


def as_problem(error: HTTPException) -> problems.Problem:
    """Return the problem for ``error`` of Quart.

    A status without a problem of its own becomes 400 or 500, by its class.
    """
    status = error.code or HTTPStatus.INTERNAL_SERVER_ERROR
    if isinstance(error, NotOfThisMethod):
        allow = ", ".join(sorted(error.valid_methods or ()))
        return problems.MethodNotAllowed(
            f"This path accepts {allow}.", headers=[(b"allow", allow.encode())]
        )
    if status == HTTPStatus.NOT_FOUND:
        return problems.NotFound("There is no page at this address.")
    otherwise = (
        problems.InvalidRequest
        if status < HTTPStatus.INTERNAL_SERVER_ERROR
        else problems.InternalError
    )
    return _BY_STATUS.get(status, otherwise)()


async def _workspace(problem: problems.Problem, perform: contract.Perform) -> Workspace | None:
    """Return the workspace to whose pages the address of the request belongs."""
    match = _OF_WORKSPACE.match(request.path)
    if match is None or g.get("account") is None or problem.status not in _WITH_A_WAY_BACK:
        return None
    # Quart has its own ASGI types.
    scope = cast("Scope", request.scope)
    api = contract.Api(perform, scope, request.headers.get("x-request-id", ""), of_page=True)
    try:
        return await api.get(Workspace, f"{LIST}/{match[1]}")
    except problems.Problem:
        return None


async def refusal(
    problem: problems.Problem, public_url: str, perform: contract.Perform
) -> Response:
    """Return the response for ``problem``, in the form that the client of the request prefers.

    The code of the problem is included in the log line of the request. A page below those of a
    workspace leads to it, if the visitor, for whom ``perform`` performs operations, may see it.
    """
    # Quart has its own ASGI types.
    contract.report_refusal(cast("Scope", request.scope), problem.code)
    request_id = request.headers.get("x-request-id", "")
    if prefers_document(request.headers.get("accept", "")):
        document = problem_document(
            problem.status,
            problem.code,
            problem.detail,
            request_id,
            members=problem.members,
            base=public_url,
        )
        response = Response(document, problem.status, content_type=MEDIA_TYPE)
    else:
        is_form = request.method == "POST"
        phrase = HTTPStatus(problem.status).phrase
        response = await show(
            "refusal.html",
            status=problem.status,
            refused_with=problem.status,
            heading=problem.heading or _HEADINGS.get(problem.status, phrase),
            preface=problem.preface,
            detail=problem.advice or problem.detail,
            unread=isinstance(problem, FormUnreadable),
            workspace=await _workspace(problem, perform),
            page=page_of_form() if is_form and problem.code != problems.BodyTooLarge.code else "/",
            request_id=request_id,
        )
    for name, value in problem.headers:
        response.headers[name.decode("ascii")] = value.decode("latin-1")
    response.headers["vary"] = "accept"
    return response
