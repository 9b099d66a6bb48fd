"""Headers with preferences are bounded, and parsed once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.datastructures import Accept
from werkzeug.http import parse_accept_header

from octavo.http.pages import localized as preferences
from octavo.http.pages.localized import (
    MOST_BYTES,
    MOST_MEMBERS,
    accepts_gzip,
    preferred_locale,
    prefers_document,
)
from tests.fakes.page_reader import Installation

MEMBERS = st.lists(
    st.sampled_from(
        ["text/html", "application/json", "*/*", "de", "fr;q=0.5", "gzip;q=0", "gzip", ""]
    ),
    max_size=MOST_MEMBERS + 2,
)


@given(MEMBERS)
def test_any_list_is_understood(members: list[str]) -> None:
    header = ",".join(members)
    assert prefers_document(header) in (True, False)
    assert accepts_gzip(header) in (True, False)
    assert preferred_locale(header).language in ("de", "fr", "en")


@pytest.mark.parametrize(
    "header",
    ["application/json," * MOST_MEMBERS, "application/json;a=" + "b" * MOST_BYTES],
)
def test_header_beyond_its_bounds_counts_as_none(header: str) -> None:
    assert prefers_document("application/json")
    assert not prefers_document(header)


async def test_long_headers_are_not_parsed(
    house: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []

    def counted(value: str, *kind: type[Accept]) -> object:
        parsed.append(value)
        return parse_accept_header(value, *kind)

    monkeypatch.setattr(preferences, "parse_accept_header", counted)
    headers = {
        name: f"{name}/a;q=0.1," * 900 for name in ("accept", "accept-language", "accept-encoding")
    }
    for path in ("/nowhere", "/sign-in", "/api/docs"):
        await house.app.test_client().get(path, headers=headers | {"if-none-match": '"a",' * 4000})
    assert set(parsed) <= {""}
