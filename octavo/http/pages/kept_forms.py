"""Keep the text of a form whose session has ended: the person signs in, and goes on."""

from collections.abc import Mapping

from quart import Response

from octavo.http.pages.responses import show
from octavo.http.pages.trouble import Trouble

AGAIN = "/sign-in/again"
PREFIX = "kept-"
"""Of the names of the fields of the other form."""
_OWN = frozenset({"token-of-form", "once"})


async def sign_in_again(
    given: Mapping[str, str],
    following: str,
    *,
    address: str = "",
    trouble: Trouble | None = None,
) -> Response:
    """Return the page on which a person signs in again; it has the fields of the form.

    ``following`` is the path that the form was sent to.
    """
    return await show(
        "sign_in_again.html",
        trouble=trouble,
        status=401,
        kept=_kept(given),
        following=following,
        address=address,
        action=AGAIN,
    )


async def go_on(given: Mapping[str, str], following: str, token: str) -> Response:
    """Return the page that sends the form again, for the session with the value ``token``."""
    return await show("go_on.html", kept=_kept(given), following=following, token=token)


def kept_fields(given: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of the other form, from those of the page that keeps them."""
    return {
        name.removeprefix(PREFIX): value for name, value in given.items() if name.startswith(PREFIX)
    }


def _kept(given: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in given.items() if name not in _OWN}
