"""The names of downloaded files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.http import parse_options_header

from octavo.http.blob_stream import content_disposition


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.png", b'inline; filename="a.png"'),
        ("a b.png", b'inline; filename="a b.png"'),
        ('a"b.png', b"inline; filename=\"a_b.png\"; filename*=UTF-8''a%22b.png"),
        ("50%.png", b"inline; filename=\"50_.png\"; filename*=UTF-8''50%25.png"),
        ("日本.png", b"inline; filename=\"__.png\"; filename*=UTF-8''%E6%97%A5%E6%9C%AC.png"),
        ("it's.png", b'inline; filename="it\'s.png"'),
    ],
)
def test_name_is_given_for_old_and_new_programs(name: str, expected: bytes) -> None:
    assert content_disposition("inline", name) == expected


@given(st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=40))
def test_name_is_read_back_by_another_parser(name: str) -> None:
    header = content_disposition("attachment", name)
    kind, parameters = parse_options_header(header.decode("ascii"))
    assert (kind, parameters) == ("attachment", {"filename": name})
