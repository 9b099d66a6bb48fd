"""Tokens and keys, as they are written."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.model.access.token import (
    ENTROPY,
    access_token,
    api_key,
    digest_of,
    is_access_token,
    is_api_key,
    is_opaque_token,
    is_operator_token,
    opaque_token,
    operator_token,
    refresh_token,
)

entropies = st.binary(min_size=ENTROPY, max_size=ENTROPY)


@given(entropies)
def test_key_has_its_prefix_and_a_valid_checksum(entropy: bytes) -> None:
    key = api_key(entropy)
    assert re.fullmatch("octk_[0-9A-Za-z]{36}", key)
    assert is_api_key(key.encode())


@given(entropies, st.integers(5, 40), st.sampled_from(b"0123456789AZaz-_ \xff"))
def test_key_with_one_character_changed_is_invalid(entropy: bytes, at: int, other: int) -> None:
    key = bytearray(api_key(entropy).encode())
    if key[at] != other:
        key[at] = other
        assert not is_api_key(bytes(key))


@given(entropies, st.integers(5, 39))
def test_key_with_two_neighbours_swapped_is_invalid(entropy: bytes, at: int) -> None:
    key = bytearray(api_key(entropy).encode())
    if key[at] != key[at + 1]:
        key[at], key[at + 1] = key[at + 1], key[at]
        assert not is_api_key(bytes(key))


@given(entropies)
def test_each_kind_of_key_is_told_from_the_others(entropy: bytes) -> None:
    kinds = {api_key: is_api_key, operator_token: is_operator_token, access_token: is_access_token}
    for write, own in kinds.items():
        key = write(entropy).encode()
        assert [recognizes for recognizes in kinds.values() if recognizes(key)] == [own]
        mistyped = key[:-1] + (b"1" if key.endswith(b"0") else b"0")
        assert not any(recognizes(mistyped) for recognizes in kinds.values())
    refreshing = refresh_token(entropy).encode()
    assert not any(recognizes(refreshing) for recognizes in kinds.values())


@given(st.binary(max_size=60))
def test_key_of_another_form_is_invalid(token: bytes) -> None:
    assert not is_api_key(token)


def test_key_is_the_same_for_the_same_entropy_in_every_release() -> None:
    assert api_key(bytes(range(32))) == "octk_CTQj2uNU3MFagCXG9LRKRcwGkBIDlf4OAHfL"


@given(entropies)
def test_token_is_written_in_characters_allowed_in_cookies_and_urls(entropy: bytes) -> None:
    token = opaque_token(entropy)
    assert re.fullmatch("[A-Za-z0-9_-]{43}", token)
    assert is_opaque_token(token.encode())


@given(st.lists(entropies, min_size=2, max_size=2, unique=True))
def test_secrets_of_different_entropy_differ(entropy: list[bytes]) -> None:
    one, other = entropy
    assert opaque_token(one) != opaque_token(other)
    assert digest_of(opaque_token(one).encode()) != digest_of(opaque_token(other).encode())


@pytest.mark.parametrize("token", [b"", b"x" * 42, b"x" * 44, b"x" * 42 + b"=", b"\xff" * 43])
def test_impossible_token_is_recognized_as_invalid(token: bytes) -> None:
    assert not is_opaque_token(token)


@pytest.mark.parametrize("entropy", [b"", b"x" * 31, b"x" * 33])
def test_secret_of_too_little_entropy_is_refused(entropy: bytes) -> None:
    with pytest.raises(ValueError, match="32 random bytes"):
        opaque_token(entropy)
    with pytest.raises(ValueError, match="32 random bytes"):
        api_key(entropy)
