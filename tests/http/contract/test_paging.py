"""Cursors of lists, which clients can forge."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.problems import InvalidRequest

from octavo.http.contract.paging import PageQuery, cursor, page_by_id, read_cursor


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))))
def test_cursor_round_trips(parts: list[str]) -> None:
    assert read_cursor(cursor(*parts), len(parts)) == tuple(parts)


def forged(text: bytes) -> str:
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


@pytest.mark.parametrize(
    "after",
    [
        "",
        "!",
        forged(b"{}"),
        forged(b'["a", "b"]'),
        forged(b"[1]"),
        forged(b'["\\u0000"]'),
        forged(b'["\\ud800"]'),
        forged(b"[" * 100_000),
        forged(b"\xff"),
    ],
)
def test_malformed_cursor_is_refused(after: str) -> None:
    with pytest.raises(InvalidRequest):
        read_cursor(after, 1)


@pytest.mark.parametrize("name", ["", "a", "0190A1B2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", "0" * 32])
def test_cursor_whose_identifier_is_not_a_uuid_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest):
        read_cursor(cursor(name), 1, identifier=0)


@pytest.mark.parametrize(("digits", "accepted"), [("9" * 15, True), ("9" * 16, False)])
def test_number_of_a_cursor_is_one_that_every_client_can_write(digits: str, accepted: bool) -> None:
    if accepted:
        assert read_cursor(cursor(digits), 1, numbers=[0]) == (digits,)
    else:
        with pytest.raises(InvalidRequest):
            read_cursor(cursor(digits), 1, numbers=[0])


@pytest.mark.parametrize("count", [0, 2, 3, 4, 7])
async def test_pages_have_every_item_once(count: int) -> None:
    ids = [f"01900000-0000-7000-8000-{number:012}" for number in range(count)]

    async def read(after: str | None, limit: int) -> list[str]:
        return [each for each in ids if after is None or each > after][:limit]

    found: list[str] = []
    following, more = None, True
    while more:
        page, following = await page_by_id(PageQuery(limit=3, after=following), read, str)
        found += page
        more = following is not None
        assert len(page) <= 3
        assert more == (len(found) < count)
    assert found == ids
