"""Counting attempts in bounded memory."""

from contextlib import suppress

import pytest
import trio
from antechamber.network_prefix import network_prefix
from octavo_rules.identity import AccountId
from trio.testing import MockClock

from octavo.access.attempts import Attempts, RouteRates
from octavo.features.accounts.rules.device_token import KnownDevice
from octavo.model.access.account import Address, TooManyAttempts
from octavo.model.access.rate import Rate

ANN = Address("ann@example.org")
RATES = {
    "a": RouteRates(client=Rate(2, 60.0), account=Rate(1, 60.0)),
    "b": RouteRates(client=Rate(2, 60.0)),
}


def tries(attempts: Attempts, *clients: str) -> list[str]:
    """The clients whose attempt at the route ``a`` is accepted."""
    found = []
    for client in clients:
        try:
            attempts.admit_client("a", network_prefix(client))
        except TooManyAttempts:
            continue
        found.append(client)
    return found


async def test_client_over_its_rate_is_refused_with_a_retry_time() -> None:
    attempts = Attempts(RATES)
    assert tries(attempts, "192.0.2.1", "192.0.2.1", "192.0.2.2") == [
        "192.0.2.1",
        "192.0.2.1",
        "192.0.2.2",
    ]
    with pytest.raises(TooManyAttempts) as refused:
        attempts.admit_client("a", "192.0.2.1")
    assert refused.value.retry_after == 30


async def test_client_that_waited_as_told_is_accepted(autojump_clock: MockClock) -> None:
    attempts = Attempts(RATES)
    tries(attempts, "192.0.2.1", "192.0.2.1")
    with pytest.raises(TooManyAttempts) as refused:
        attempts.admit_client("a", "192.0.2.1")
    await trio.sleep(refused.value.retry_after)
    attempts.admit_client("a", "192.0.2.1")


async def test_routes_are_counted_each_for_itself() -> None:
    attempts = Attempts(RATES)
    tries(attempts, "192.0.2.1", "192.0.2.1")
    attempts.admit_client("b", "192.0.2.1")
    attempts.admit_client("b", "192.0.2.1")
    for _ in range(100):
        attempts.admit_account("b", ANN)


async def test_account_attempts_count_regardless_of_the_client() -> None:
    attempts = Attempts(RATES)
    attempts.admit_account("a", ANN)
    with pytest.raises(TooManyAttempts):
        attempts.admit_account("a", ANN)
    attempts.admit_account("a", Address("bob@example.org"))


async def test_clients_of_one_ipv6_network_count_as_one() -> None:
    attempts = Attempts(RATES)
    clients = [f"2001:db8::{number:x}" for number in range(1, 9)]
    assert tries(attempts, *clients) == clients[:2]


async def test_tracked_clients_are_bounded_and_recent_ones_stay() -> None:
    attempts = Attempts(RATES, maximum=3)
    tries(attempts, "1.1.1.1", "1.1.1.1", "2.2.2.2", "3.3.3.3", "1.1.1.1", "4.4.4.4")
    assert len(attempts._clients) == 3
    assert tries(attempts, "1.1.1.1", "2.2.2.2", "2.2.2.2") == ["2.2.2.2", "2.2.2.2"]


async def test_clients_push_no_account_out_of_mind() -> None:
    attempts = Attempts(RATES, maximum=3)
    attempts.admit_account("a", ANN)
    tries(attempts, *(f"192.0.2.{number}" for number in range(100)))
    with pytest.raises(TooManyAttempts):
        attempts.admit_account("a", ANN)


async def test_route_without_a_rate_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        Attempts(RATES).admit_client("c", "192.0.2.1")


def device(number: int, account: str = "ann") -> KnownDevice:
    return KnownDevice(bytes([number]), AccountId(account))


def admitted(attempts: Attempts, *devices: KnownDevice) -> int:
    """How many attempts of known browsers are admitted."""
    count = 0
    for each in devices:
        with suppress(TooManyAttempts):
            attempts.admit_device(each.device.hex(), each.account_id)
            count += 1
    return count


async def test_known_browsers_of_an_account_have_a_limit_together() -> None:
    attempts = Attempts()
    many = [device(number) for number in range(100) for _ in range(11)]
    assert admitted(attempts, *many) == 30
    assert admitted(attempts, *(10 * [device(200, "ben")])) == 10


async def test_refused_attempt_of_a_browser_costs_no_other_browser_any() -> None:
    attempts = Attempts()
    assert admitted(attempts, *(200 * [device(1)])) == 10
    assert admitted(attempts, *(10 * [device(2)]), *(10 * [device(3)])) == 20


async def test_attempt_refused_for_other_browsers_costs_a_browser_none(
    autojump_clock: MockClock,
) -> None:
    attempts = Attempts()
    assert admitted(attempts, *(device(number) for number in range(30))) == 30
    assert admitted(attempts, *(50 * [device(99)])) == 0
    # Each of the account comes back in ten seconds; the browser has all of its own.
    for _ in range(10):
        await trio.sleep(10)
        attempts.admit_device(bytes([99]).hex(), AccountId("ann"))
