"""Keep the text of a form that can't be saved now: the person can send it again, or copy it.

The session has ended, the person may not write any more, or the service is not available.
"""

from collections.abc import Mapping
from urllib.parse import quote

from octavo_rules.problems import ConsentRequired, Problem
from quart import Response, request

from octavo.http.pages.form_errors import FormErrors
from octavo.http.pages.forms import Form
from octavo.http.pages.responses import CONSENT, show
from octavo.model.files.path import name_of

STAMP = "stamp"
"""The parameter with the stamp in the address of a form with a long text."""
AGAIN = "/sign-in/again"
PREFIX = "kept-"
"""Of the names of the fields of the other form."""
LOST = "image-lost"
"""The field of a form that came with an image, which can't be kept."""
_OWN = frozenset({"token-of-form", "once"})


async def sign_in_again(
    given: Mapping[str, str],
    following: str,
    *,
    address: str = "",
    trouble: FormErrors | None = None,
) -> Response:
    """Return the page on which a person signs in again; it has the fields of the form.

    ``following`` is the path that the form was sent to.
    """
    stamp = request.args.get(STAMP, "")
    return await show(
        "sign_in_again.html",
        trouble=trouble,
        status=401,
        kept=given,
        following=following,
        address=address,
        action=f"{AGAIN}?{STAMP}={quote(stamp)}" if stamp else AGAIN,
    )


async def go_on(given: Mapping[str, str], following: str, token: str) -> Response:
    """Return the page that sends the form again, for the session with the value ``token``."""
    name = name_of(given.get("path", ""))
    return await show("go_on.html", kept=given, following=following, token=token, name=name)


async def not_saved(
    given: Mapping[str, str], following: str, token: str, problem: Problem
) -> Response:
    """Return the page that says why a form was not saved, and has its text."""
    remedy = "You can try again, or copy your text."
    if isinstance(problem, ConsentRequired):
        remedy = "Read and accept them in another window, then come back here and try again."
    return await show(
        "not_saved.html",
        trouble=FormErrors(
            problem.status, problem.detail, headers=problem.headers, code=problem.code
        ),
        kept=given,
        following=following,
        token=token,
        remedy=remedy,
        terms=CONSENT if isinstance(problem, ConsentRequired) else None,
    )


def fields_to_keep(form: Form) -> dict[str, str]:
    """Return the fields of a form that is to be sent again, which saves its text.

    An image that was chosen has to be chosen again.
    """
    fields = {name: value for name, value in form.fields.items() if name not in _OWN}
    if fields.get("action") == "image":
        fields["action"] = "save"
    if any(file.name for file in form.files.values()):
        fields[LOST] = "on"
    return fields


def kept_fields(given: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of the other form, from those of the page that keeps them."""
    fields = {
        name.removeprefix(PREFIX): value for name, value in given.items() if name.startswith(PREFIX)
    }
    return {name: value for name, value in fields.items() if name not in _OWN}
