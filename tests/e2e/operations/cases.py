"""The table of cases, which their modules fill in."""

from collections.abc import Callable
from typing import NamedTuple

import httpx

from tests.e2e.operations.world import World

Way = Callable[[World], httpx.Response]


class Case(NamedTuple):
    """A way to one answer of one operation."""

    operation: str
    outcome: str
    way: Way

    def __str__(self) -> str:
        return f"{self.operation}-{self.outcome}"


CASES: list[Case] = []


def leads(operation: str, *outcomes: str) -> Callable[[Way], Way]:
    """Enter the function below: it asks ``operation`` so that it answers with each outcome."""

    def enter(way: Way) -> Way:
        CASES.extend(Case(operation, outcome, way) for outcome in outcomes)
        return way

    return enter
