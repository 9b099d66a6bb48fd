"""What a simulation is, and the services that are broken on purpose to show that it finds faults.

A feature has its own in ``tests/features/NAME/simulation``: its scenario, and ``BROKEN`` in
``broken.py``, which `variants` finds by the list of the features.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

import pytest

Break = Callable[[pytest.MonkeyPatch], None]
"""Breaks the service; its name and docstring say how."""


class Simulation(NamedTuple):
    """A scenario, whether time may pass early in it, and the schedules that find every fault."""

    scenario: Callable[[], Awaitable[None]]
    most: int
    early_time: bool = True


class Broken(NamedTuple):
    """What is left out of the service in a simulation, with the message of its failure."""

    name: str
    simulation: Simulation
    messages: Mapping[Break, str]
