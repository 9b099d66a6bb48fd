"""Redirects after forms, and where they may lead."""

import pytest

from octavo.http.pages.responses import HOME, inside
from tests.fakes.page_reader import Installation, PageReader
from tests.fakes.users_api import ORIGIN


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/account?a=b", "/account?a=b"),
        (f"{ORIGIN}/account", f"{ORIGIN}/account"),
        ("https://evil.example/account", HOME),
        ("//evil.example", HOME),
        ("/\\evil.example", HOME),
        ("/account\r\nset-cookie: a=b", HOME),
        ("javascript:alert(1)", HOME),
        ("", HOME),
    ],
)
def test_redirect_leads_into_the_installation(path: str, expected: str) -> None:
    assert inside(path, ORIGIN) == expected


async def test_page_and_its_parameters_are_found_again_after_signing_in(
    house: Installation, ann: PageReader
) -> None:
    reader = house.stranger()
    await reader.open("/administration/accounts?text=a%26b")
    assert reader.path == "/sign-in?next=/administration/accounts%3Ftext%3Da%2526b"
    reader.cookies |= ann.cookies
    await reader.open(reader.path)
    assert reader.path == "/administration/accounts?text=a%26b"


async def test_refused_form_is_not_stored_and_keeps_its_status(ann: PageReader) -> None:
    await ann.open("/workspaces")
    await ann.submit("Create the workspace", name="")
    assert (ann.status, ann.received["cache-control"]) == (400, "no-store")
