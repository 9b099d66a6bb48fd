"""Rate limiting of attempts by client and by account, in bounded memory."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import trio
from octavo_rules.identity import AccountId

from octavo.model.access.account import Address, TooManyAttempts
from octavo.model.access.rate import Rate, admit


@dataclass(frozen=True, slots=True)
class RouteRates:
    """The rate limits of one route.

    Attributes:
        client: the limit per client network.
        account: the limit per account address, over all clients; None for no limit.
    """

    client: Rate
    account: Rate | None = None


GRANTS = "grants"
"""The rate class of operations that create keys and invitations, each an entry of the audit.

Revoking is not limited: only what was created can be revoked, and somebody with a stolen key must
not keep its owner from revoking it.
"""

KNOWN_DEVICES = 3
"""The limit of all known browsers of an account, as a multiple of that of one."""

RATES: Mapping[str, RouteRates] = {
    "sign-in": RouteRates(client=Rate(60, 300.0), account=Rate(10, 300.0)),
    # A browser that has signed in to the account before: attempts of others don't count.
    "known-device": RouteRates(client=Rate(60, 300.0), account=Rate(10, 300.0)),
    # All these browsers together: each sign-in makes another one.
    "known-devices": RouteRates(client=Rate(60, 300.0), account=Rate(KNOWN_DEVICES * 10, 300.0)),
    # An account that has signed in: attempts of others don't count.
    "password": RouteRates(client=Rate(60, 300.0), account=Rate(10, 300.0)),
    "password-reset-request": RouteRates(client=Rate(60, 300.0), account=Rate(10, 300.0)),
    "password-reset": RouteRates(client=Rate(60, 300.0)),
    "operator": RouteRates(client=Rate(600, 60.0)),
    GRANTS: RouteRates(client=Rate(1200, 300.0), account=Rate(120, 300.0)),
    # Passwords of published links, by their tokens: their readers may share a network.
    "published-link": RouteRates(client=Rate(120, 300.0), account=Rate(60, 300.0)),
    "link-report": RouteRates(client=Rate(20, 300.0)),
    "oauth-registration": RouteRates(client=Rate(30, 300.0)),
    "oauth-token": RouteRates(client=Rate(300, 60.0)),
    "registration": RouteRates(client=Rate(30, 300.0), account=Rate(10, 300.0)),
}
"""Rates by the name of the route, which is the rate class of its operation."""


class Attempts:
    """Admits attempts, and refuses those that exceed a rate.

    Args:
        rates: the rates of each route.
        maximum: the maximum number of clients, and of accounts, that are tracked. The least recent
            are dropped, and start with a full allowance again. Clients don't evict accounts.
    """

    def __init__(self, rates: Mapping[str, RouteRates] = RATES, *, maximum: int = 50_000) -> None:
        self._rates = dict(rates)
        self._clients = _Table(maximum)
        self._accounts = _Table(maximum)

    def admit_client(self, route: str, network: str) -> None:
        """Count an attempt from ``network``, the network of a client address.

        Raises `TooManyAttempts`, and KeyError for a route without a rate.
        """
        self._clients.admit({(route, network): self._rates[route].client})

    def admit_account(self, route: str, account: Address | AccountId | str) -> None:
        """Count an attempt for the address of an account, whether or not it exists, or its id.

        For a published link, it is the digest of the token.

        Raises the same errors as `admit_client`.
        """
        rate = self._rates[route].account
        if rate is not None:
            self._accounts.admit({(route, account): rate})

    def admit_device(self, device: str, account_id: AccountId) -> None:
        """Count an attempt of a ``device`` that has signed in to the account before.

        It has a limit for itself, and one with all such browsers of the account; refused by either,
        it counts against neither. Raises `TooManyAttempts`.
        """
        keys = {"known-device": device, "known-devices": account_id}
        rates = {(route, key): self._rates[route].account for route, key in keys.items()}
        self._accounts.admit({key: rate for key, rate in rates.items() if rate is not None})


class _Table:
    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self._paid_at: dict[tuple[str, str], float] = {}

    def __len__(self) -> int:
        return len(self._paid_at)

    def admit(self, rates: Mapping[tuple[str, str], Rate]) -> None:
        """Count one attempt for each key, or for none."""
        now = trio.current_time()
        verdicts = {key: admit(self._paid_at.get(key), now, rate) for key, rate in rates.items()}
        retry_after = max(verdict.retry_after for verdict in verdicts.values())
        for key, verdict in verdicts.items():
            if verdict.retry_after or not retry_after:
                # Removing and inserting a key keeps the keys in the order of their last attempts.
                self._paid_at.pop(key, None)
                self._paid_at[key] = verdict.paid_at
        while len(self._paid_at) > self._maximum:
            del self._paid_at[next(iter(self._paid_at))]
        if retry_after:
            raise TooManyAttempts(max(1, math.ceil(retry_after)))
