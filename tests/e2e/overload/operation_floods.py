"""Requests of all operations that read, many at once."""

import time
from collections import Counter

from tests.e2e.overload.rounds import Sent, exchange, go_round
from tests.e2e.overload.target import Request, Target

_PATIENCE = 10.0
# Exports are limited for each account.
_SERVED = frozenset({200, 429})


def at_once(target: Target) -> None:
    """Ask for each on all connections at once, and once more when the first response has come.

    Then one alone is served, as soon as those whose clients have left are.
    """

    def once(statuses: Counter[int]) -> None:
        for asked in target.operations:
            requests = [_request(target, asked, number) for number in range(target.connections + 1)]
            exchange(target, requests, statuses)
            until = time.monotonic() + _PATIENCE
            while not (alone := _alone(target, asked)).keys() & _SERVED:
                assert time.monotonic() < until, (asked, alone)

    go_round(once)


def _alone(target: Target, asked: Request) -> Counter[int]:
    found = Counter[int]()
    exchange(target._replace(seconds=_PATIENCE), [_request(target, asked, 0)], found)
    return found


def _request(target: Target, asked: Request, number: int) -> Sent:
    head = (
        f"{asked.method} {asked.path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n"
        f"authorization: Bearer {target.keys[number % len(target.keys)]}\r\nsync-protocol: 1\r\n"
    )
    if asked.body:
        head += f"content-type: application/json\r\ncontent-length: {len(asked.body)}\r\n"
    return f"{head}\r\n".encode(), asked.body.encode()
