"""Which passwords are accepted."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.features.accounts.rules.password import (
    LONGEST,
    SHORTEST,
    WORDS,
    hashed_form,
    is_guessable,
    password_fault,
    pieces,
)
from octavo.model.access.account import Address

ADDRESS = Address("ann.bernard@example.org")


@pytest.mark.parametrize(
    "password",
    [
        "tulips on the moon",
        "correct horse battery staple",
        "aK3#xQ9!zP",
        "Tr0ub4dor&3x",
        "пароль-для-заметок",
        "ein ganz anderer",
        "x7" * 5 + "q9z",
        "q7#zx" * 3,
        "\0" * 3 + "tulip-moon" + "\n",
        "tulips on the moon " * 13,
    ],
)
def test_password_that_is_hard_to_guess_is_accepted(password: str) -> None:
    assert password_fault(password, ADDRESS) is None


@pytest.mark.parametrize(
    "password",
    [
        "password123",
        "Passw0rd2024",
        "P@ssw0rd!!",
        "passwordpassword",
        "q7#z" * 3,
        "q7#zq7#zq7",
        "letmein-please",
        "Welcome123!",
        "Summer2024!",
        "iloveyou2!",
        "qwertyuiop",
        "QWERTYUIOP",
        "poiuytrewq",
        "asdfghjkl1",
        "1q2w3e4r5t",
        "1qaz2wsx3edc",
        "1234567890",
        "0987654321",
        "123456789a",
        "abcdefghij",
        "aaaaaaaaaa",
        "abcabcabcabc",
        "1212121212",
        "\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff44\uff11\uff12\uff13",
    ],
)
def test_common_password_is_refused(password: str) -> None:
    assert password_fault(password, ADDRESS) == (
        "The password is too easy to guess: choose another."
    )


@pytest.mark.parametrize("password", [ADDRESS, ADDRESS.upper(), "ann.bernard", "Ann.Bernard"])
def test_password_that_is_the_address_is_refused(password: str) -> None:
    assert password_fault(password, ADDRESS) == (
        "The password is the address: choose one that others don't know."
    )


@pytest.mark.parametrize(
    ("password", "fault"),
    [
        ("", "at least"),
        ("tulips on", "at least"),
        ("tulips on\u0301 ", None),
        ("ti\u0302lip o\u0302n", "at least"),
        ("tuli \ufdfa", None),
        ("ab" + "\ufdfa" * 14, None),
        ("abc" + "\ufdfa" * 15, "at most"),
        ("x" * 257, "at most"),
        ("y" * 10_000_000, "at most"),
    ],
)
def test_password_is_as_long_as_its_hashed_form(password: str, fault: str | None) -> None:
    found = password_fault(password, ADDRESS)
    assert (found is None) if fault is None else (found is not None and fault in found)


@given(st.text(max_size=400))
def test_password_is_hashed_in_one_form_or_not_at_all(password: str) -> None:
    form = hashed_form(password)
    whole = unicodedata.normalize("NFKC", password)
    if len(whole) > LONGEST:
        assert form is None
    else:
        assert form is not None
        assert hashed_form(unicodedata.normalize("NFD", password)) == form == whole


def test_longest_password_has_256_characters() -> None:
    assert hashed_form("x" * 256) == "x" * 256
    assert hashed_form("x" * 257) is None


@given(st.text(max_size=60))
def test_refused_password_is_never_quoted(password: str) -> None:
    fault = password_fault(password, ADDRESS)
    if fault is not None and len(password) >= SHORTEST:
        assert password not in fault


@given(st.sampled_from(sorted(WORDS)), st.integers(1900, 2099), st.sampled_from(["", "!", "#"]))
def test_known_word_with_a_year_is_guessed(word: str, year: int, sign: str) -> None:
    assert is_guessable(f"{word.title()}{year}{sign}")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("password", 1),
        ("p@$$w0rd", 1),
        ("summerdragon", 2),
        ("asdfghjkl", 1),
        ("lkjhgfdsa", 1),
        ("lkjh", 1),
        ("aaaaaaa", 1),
        ("2019", 1),
        ("summerdragon2019", 3),
        ("summerdragonwinter2019", 4),
        ("zk", 2),
        ("zz", 1),
        ("205", 3),
        ("1899", 3),
        ("19x9", 4),
        ("7392", 4),
    ],
)
def test_pieces_are_words_walks_repetitions_years_and_characters(text: str, count: int) -> None:
    assert pieces(text) == count
    assert is_guessable(text) == (count <= 3)


@given(st.text(min_size=1, max_size=40))
def test_pieces_are_no_more_than_characters(text: str) -> None:
    assert 1 <= pieces(text) <= len(text)


@given(st.text(alphabet="abcdefp@s0123wordqty ", min_size=1, max_size=20), st.characters())
def test_pieces_grow_by_one_at_most_with_each_character(text: str, more: str) -> None:
    assert pieces(text + more) <= pieces(text) + 1


def test_known_words_are_some_hundreds_in_lower_case() -> None:
    assert len(WORDS) > 400
    assert all(word.isascii() and word.isalpha() and word.islower() for word in WORDS)
