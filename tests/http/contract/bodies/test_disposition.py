"""The names of form parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.http.contract.bodies.multipart import Disposition, parse_disposition

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def spelled(text: str) -> bytes:
    """Encode a name as browsers do (HTML, section 4.10.21.8)."""
    safe = text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
    return b'"' + safe.encode() + b'"'


@pytest.mark.parametrize(
    ("value", "name", "filename"),
    [
        (b'form-data; name="a"', "a", None),
        (b"Form-Data; Name=a", "a", None),
        (b'form-data;name="a";filename="b c.png"', "a", "b c.png"),
        (b'form-data; filename=""; name=""', "", ""),
        ('form-data; name="ä"'.encode(), "ä", None),
        (b'form-data; name="a%22b%0d%0A"', 'a"b\r\n', None),
        (b'form-data; name="a\\"b\\\\c"', 'a"b\\c', None),
        (b'form-data; name="a"; filename="C:\\dir\\x.png"', "a", "C:\\dir\\x.png"),
        (b'form-data; name="100%41"', "100%41", None),
        (b"form-data; name=a; filename=b; filename*=utf-8''c", "a", "b"),
    ],
)
def test_well_formed_name_is_read(value: bytes, name: str, filename: str | None) -> None:
    assert parse_disposition(value) == Disposition(name, filename)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"attachment; name=a",
        b"form-data",
        b'form-data; filename="a"',
        b'form-data; name="a',
        b'form-data; name="a"; name="b"',
        b'form-data; name="\xff"',
        b'form-data; name="a" b',
        b"form-data; name=",
        b"form-data, name=a",
    ],
)
def test_malformed_name_is_none(value: bytes) -> None:
    assert parse_disposition(value) is None


@given(
    TEXTS.filter(lambda text: "\\" not in text and "%" not in text),
    TEXTS.filter(lambda text: "\\" not in text and "%" not in text),
)
def test_names_round_trip_as_browsers_encode_them(name: str, filename: str) -> None:
    value = b"form-data; name=" + spelled(name) + b"; filename=" + spelled(filename)
    assert parse_disposition(value) == Disposition(name, filename)


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_none(value: bytes) -> None:
    parse_disposition(value)
    parse_disposition(b"form-data; " + value)
