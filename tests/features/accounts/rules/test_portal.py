"""The address of a page of the portal with a token."""

from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.features.accounts.rules.portal import with_token


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://a.example", "https://a.example?token=t"),
        ("https://a.example/start", "https://a.example/start?token=t"),
        ("https://a.example/?x=1&y=%20", "https://a.example/?x=1&y=%20&token=t"),
        ("https://a.example/?x=1#top", "https://a.example/?x=1&token=t#top"),
        ("https://a.example/?", "https://a.example/?token=t"),
    ],
)
def test_token_is_added_to_the_query(address: str, expected: str) -> None:
    assert with_token(address, "t") == expected


@given(st.text("abc=%&?/+", max_size=20), st.text("abcXYZ019-_", min_size=1))
def test_query_of_an_address_stays_the_beginning(query: str, token: str) -> None:
    parts = urlsplit(with_token(f"https://a.example/?{query}", token))
    assert parts.query.startswith(query)
    assert parse_qsl(parts.query)[-1] == ("token", token)
