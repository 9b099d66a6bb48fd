"""The id of a request."""

import pytest
from antechamber.asgi import choose_request_id
from hypothesis import given
from hypothesis import strategies as st

ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"


def choose(*values: bytes) -> tuple[str, bool]:
    headers = [(b"host", b"octavo.example"), *((b"x-request-id", value) for value in values)]
    return choose_request_id(headers, lambda: "made-here")


@given(st.text(ALPHABET, min_size=1, max_size=128))
def test_id_within_the_pattern_is_kept(given: str) -> None:
    assert choose(given.encode()) == (given, True)


def test_missing_id_is_generated() -> None:
    assert choose() == ("made-here", True)


@pytest.mark.parametrize(
    "given",
    [(b"",), (b"x" * 129,), (b"a b",), (b"a\n",), (b"\xe9",), (b"a,b",), (b"a", b"a")],
    ids=repr,
)
def test_id_outside_the_pattern_or_repeated_is_refused(given: tuple[bytes, ...]) -> None:
    assert choose(*given) == ("made-here", False)
