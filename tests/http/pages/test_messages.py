"""The message after a change."""

import pytest

from octavo.http.pages.responses import (
    MESSAGES,
    cleared_message,
    has_message,
    message_cookie,
    message_of,
)
from tests.fakes.page_reader import PageReader

NAME = b"__Host-octavo-message"


@pytest.mark.parametrize("code", MESSAGES)
def test_cookie_names_the_message(code: str) -> None:
    _, value = message_cookie(code)
    cookie, _, attributes = value.decode().partition("; ")
    refused = code in ("not-saved", "note-changed", "image-changed", "report-closed")
    assert message_of([(b"cookie", cookie.encode())]) == (MESSAGES[code], refused)
    assert "Secure; HttpOnly; SameSite=Lax" in attributes


def test_unknown_codes_show_nothing() -> None:
    assert message_of([(b"cookie", NAME + b"=You won!")]) is message_of([]) is None
    with pytest.raises(KeyError):
        message_cookie("unknown")


def test_cookie_is_cleared() -> None:
    assert cleared_message()[1].endswith(b"Max-Age=0")
    assert has_message([(b"cookie", b"a=b; " + NAME + b"=")])


async def test_message_is_shown_once(ann: PageReader) -> None:
    await ann.open("/account")
    page = await ann.submit("Change the name", displayName="Ann B")
    assert (page.alerts, page.headings) == (["Your name is changed."], ["Ann B"])
    await ann.open("/account")
    assert ann.page.alerts == []
    assert NAME.decode() not in ann.cookies
