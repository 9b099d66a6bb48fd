"""Media types, as headers spell and misspell them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.http.contract.bodies.body import MediaType, in_utf8, parse_media_type


@pytest.mark.parametrize(
    ("value", "essence", "parameters"),
    [
        (b"text/plain", "text/plain", {}),
        (b" Text/PLAIN ", "text/plain", {}),
        (b"a/b;c=d", "a/b", {"c": b"d"}),
        (b"a/b ; C=D ;e=f", "a/b", {"c": b"D", "e": b"f"}),
        (b'a/b; c="d;e=f"', "a/b", {"c": b"d;e=f"}),
        (b'a/b; c="\\"\\\\"', "a/b", {"c": b'"\\'}),
        (b'a/b; c=""', "a/b", {"c": b""}),
        (b"a/b;", "a/b", {}),
        (b"a/b;;c=d", "a/b", {"c": b"d"}),
    ],
)
def test_well_formed_media_type_is_read(
    value: bytes, essence: str, parameters: dict[str, bytes]
) -> None:
    assert parse_media_type(value) == MediaType(essence, parameters)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"a",
        b"a/",
        b"/b",
        b"a/b/c",
        b"a/b, c/d",
        b"a/b c",
        b"a/b; c",
        b"a/b; c=",
        b"a/b; c =d",
        b'a/b; c="d',
        b'a/b; c="d"e',
        b"a/b; c=d; C=e",
        b'a/b; c="\x00"',
        b"\xe4/b",
        b"a/b" + b";" * 1024,
    ],
)
def test_malformed_media_type_is_none(value: bytes) -> None:
    assert parse_media_type(value) is None


@given(st.binary(max_size=60))
def test_media_type_of_any_bytes_is_read_or_none(value: bytes) -> None:
    parse_media_type(value)
    parse_media_type(b"a/b;" + value)


@pytest.mark.parametrize(
    ("value", "response"),
    [
        (b"a/b", True),
        (b"a/b; charset=UTF-8", True),
        (b'a/b; charset="utf8"', True),
        (b"a/b; charset=latin-1", False),
        (b"a/b; charset=utf-16", False),
    ],
)
def test_text_is_utf8_unless_declared_otherwise(value: bytes, response: bool) -> None:
    media_type = parse_media_type(value)
    assert media_type is not None
    assert in_utf8(media_type) is response
