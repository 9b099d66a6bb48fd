"""The table of cases, filled in by their modules."""

from collections.abc import Callable
from typing import NamedTuple

import httpx

from tests.e2e.operations.world import World

Way = Callable[[World], httpx.Response]


class Case(NamedTuple):
    """How to produce one response of one operation."""

    operation: str
    outcome: str
    way: Way

    def __str__(self) -> str:
        return f"{self.operation}-{self.outcome}"


CASES: list[Case] = []


def produces(operation: str, *outcomes: str) -> Callable[[Way], Way]:
    """Register the decorated function: it makes ``operation`` respond with each outcome."""

    def enter(way: Way) -> Way:
        CASES.extend(Case(operation, outcome, way) for outcome in outcomes)
        return way

    return enter
