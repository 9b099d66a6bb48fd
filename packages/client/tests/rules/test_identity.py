"""Identifiers by time: what they encode, and that they sort."""

from uuid import RFC_4122, UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.identity import RANDOM_BYTES, uuid7

MOMENTS = st.integers(0, (1 << 48) - 1)
ENTROPY = st.binary(min_size=RANDOM_BYTES, max_size=RANDOM_BYTES)


@given(MOMENTS, ENTROPY)
def test_identifier_is_a_uuid_of_version_7_with_its_time(moment: int, entropy: bytes) -> None:
    text = uuid7(moment, entropy)
    made = UUID(text)
    assert (str(made), made.version, made.variant) == (text, 7, RFC_4122)
    assert made.int >> 80 == moment


@given(MOMENTS, MOMENTS, ENTROPY, ENTROPY)
def test_identifiers_sort_by_time(first: int, second: int, entropy: bytes, other: bytes) -> None:
    if first < second:
        assert uuid7(first, entropy) < uuid7(second, other)


@given(MOMENTS, st.lists(ENTROPY, min_size=2, max_size=2, unique_by=lambda e: e[1:2] + e[3:]))
def test_different_randomness_makes_another_identifier(moment: int, entropy: list[bytes]) -> None:
    # Version and variant replace six of its bits.
    bits = {(each[0] & 0x0F, each[1], each[2] & 0x3F, each[3:]) for each in entropy}
    assert len({uuid7(moment, each) for each in entropy}) == len(bits)


@pytest.mark.parametrize(
    ("moment", "entropy"),
    [(-1, bytes(10)), (1 << 48, bytes(10)), (0, bytes(9)), (0, bytes(11))],
)
def test_identifier_of_out_of_range_values_is_refused(moment: int, entropy: bytes) -> None:
    with pytest.raises(ValueError, match=r"identifier|entropy"):
        uuid7(moment, entropy)
