"""The written form of a sign-in address."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.model.access.account import LONGEST, local_part, parse_address


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("ann@example.org", "ann@example.org"),
        ("Ann.B+notes@Example.ORG", "ann.b+notes@example.org"),
        (" \tann@example.org ", "ann@example.org"),
        ("admin@localhost", "admin@localhost"),
        ("o'hara@xn--bcher-kva.example", "o'hara@xn--bcher-kva.example"),
        (f"{'a' * 64}@example.org", f"{'a' * 64}@example.org"),
    ],
)
def test_address_is_written_in_lower_case(given: str, written: str) -> None:
    assert parse_address(given) == written


def test_address_has_at_most_254_characters() -> None:
    longest = f"ann@{'a' * 62}.{'.'.join(['b' * 61] * 3)}.c"
    assert len(longest) == 254
    assert parse_address(longest) == longest
    with pytest.raises(ValueError, match="at most 254 characters"):
        parse_address(f"{longest}c")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ann",
        "@example.org",
        "ann@",
        "ann@@example.org",
        "ann@example.org@example.org",
        "ann@example..org",
        "ann@.example.org",
        "ann@example.org.",
        "ann@-example.org",
        "ann@example-.org",
        "ann b@example.org",
        "ann@exam ple.org",
        "ann@example.org\n",
        "ann\0@example.org",
        "\x0bann@example.org",
        '"ann b"@example.org',
        "ann@[192.0.2.7]",
        "änn@example.org",
        "ann@bücher.example",
        "\u212a@example.org",
        "ann@example.org\ud800",
        f"{'a' * 65}@example.org",
        f"ann@{'a' * 64}.org",
        f"ann@{'.'.join(['a' * 60] * 5)}",
    ],
)
def test_malformed_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"address|ASCII"):
        parse_address(text)


@given(st.text(alphabet="aB1.@-_+ \n\0ä", max_size=300) | st.emails())
def test_canonical_address_has_one_form(text: str) -> None:
    try:
        address = parse_address(text)
    except ValueError:
        return
    assert parse_address(address) == address == address.lower()
    assert len(address) <= LONGEST
    assert address.isprintable()
    assert address.startswith(f"{local_part(address)}@")
