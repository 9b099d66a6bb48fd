"""The failures of a request: reported before each wait, counted and timed in the last error."""

from random import Random

import pytest
import trio
from octavo_client import ClientError, ConnectionFailed, Retrying
from octavo_client.retrying import Failures


async def test_failures_are_reported_counted_and_timed(autojump_clock: trio.abc.Clock) -> None:
    reported: list[ClientError] = []
    failures = Failures(Retrying(first=8.0, longest=8.0), Random(3), reported.append)
    began = trio.current_time()
    errors = [ConnectionFailed("gone") for _ in range(3)]
    for error in errors[:2]:
        failures.add(error)
        await failures.wait(error)
    assert failures.add(errors[2]) is errors[2]
    assert reported == errors[:2]
    assert [each.attempts for each in errors] == [1, 2, 3]
    assert errors[0].seconds == 0
    assert errors[2].seconds == pytest.approx(trio.current_time() - began)
    assert errors[2].seconds > 0
    failures.begin_again()
    assert (failures.add(errors[0]).attempts, errors[0].seconds) == (1, 0)
