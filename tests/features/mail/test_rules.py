"""Delays of messages that anybody can request."""

from hypothesis import given
from hypothesis import strategies as st

from octavo.features.mail.rules import REQUEST_DELAY_SECONDS, request_delay


@given(st.floats(0, 1, exclude_max=True))
def test_delay_is_within_its_range(random: float) -> None:
    shortest, longest = REQUEST_DELAY_SECONDS
    assert shortest <= request_delay(random) <= longest


def test_delay_takes_the_whole_range() -> None:
    assert (request_delay(0.0), request_delay(1.0)) == REQUEST_DELAY_SECONDS == (0.5, 3.0)
