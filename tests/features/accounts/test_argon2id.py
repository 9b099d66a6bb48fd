"""What the worker processes of passwords run."""

from dataclasses import astuple

import pytest
from argon2 import PasswordHasher, extract_parameters
from argon2.profiles import RFC_9106_LOW_MEMORY

from octavo.features.accounts import argon2id
from octavo.features.accounts.argon2id import Argon2, dummy_hash, matches, outdated

CHEAP = Argon2(passes=1, memory=8, lanes=1)
FORM = "tulips on the moon"
ENTROPY = bytes(range(32))


def encoded_hash(form: str, entropy: bytes, cost: Argon2) -> str:
    return argon2id.encoded_hash(form, entropy.hex(), *astuple(cost))


def test_default_cost_is_the_second_recommended_profile() -> None:
    cost, profile = Argon2(), RFC_9106_LOW_MEMORY
    assert (cost.passes, cost.memory, cost.lanes) == (
        profile.time_cost,
        profile.memory_cost,
        profile.parallelism,
    )


def test_hash_has_the_cost_that_was_asked_for() -> None:
    encoded = encoded_hash(FORM, ENTROPY, Argon2(passes=2, memory=24, lanes=3))
    found = extract_parameters(encoded)
    assert encoded.startswith("$argon2id$")
    assert (found.time_cost, found.memory_cost, found.parallelism) == (2, 24, 3)
    assert (found.salt_len, found.hash_len) == (16, 32)


def test_salt_is_the_beginning_of_the_entropy() -> None:
    encoded = encoded_hash(FORM, ENTROPY, CHEAP)
    assert encoded == encoded_hash(FORM, ENTROPY[:16] + bytes(16), CHEAP)
    assert encoded != encoded_hash(FORM, ENTROPY[::-1], CHEAP)


def test_form_matches_its_hash_of_any_cost_and_no_other() -> None:
    for cost in (CHEAP, Argon2(2, 24, 3)):
        encoded = encoded_hash(FORM, ENTROPY, cost)
        assert matches(FORM, encoded)
        assert not matches(f"{FORM}!", encoded)


def test_hash_of_other_programs_is_matched() -> None:
    assert matches(FORM, PasswordHasher(time_cost=2, memory_cost=16, parallelism=1).hash(FORM))


@pytest.mark.parametrize("encoded", ["", "!", "$2b$12$abc"])
def test_malformed_hash_matches_no_password(encoded: str) -> None:
    assert not matches(FORM, encoded)


@pytest.mark.parametrize(
    ("cost", "expected"),
    [(CHEAP, False), (Argon2(2, 8, 1), True), (Argon2(1, 16, 1), True), (Argon2(1, 16, 2), True)],
)
def test_hash_of_another_cost_is_outdated(cost: Argon2, expected: bool) -> None:
    assert outdated(encoded_hash(FORM, ENTROPY, CHEAP), cost) is expected


def test_dummy_hash_costs_as_much_as_a_real_one_and_matches_nothing() -> None:
    dummy = dummy_hash(CHEAP)
    # An encoding that argon2 can't read would fail early, which reveals that no account exists.
    assert extract_parameters(dummy) == extract_parameters(encoded_hash(FORM, ENTROPY, CHEAP))
    assert not matches(FORM, dummy)
