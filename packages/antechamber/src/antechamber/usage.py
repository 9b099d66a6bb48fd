"""What a server uses of its limits now, for those who look at it."""

from collections.abc import Callable
from dataclasses import dataclass


def _nothing() -> int:
    return 0


@dataclass(kw_only=True)
class ServerUsage:
    """The counts of a server; 0 until it serves."""

    most_connections: int = 0
    """Those that fit into the files that the process may open."""
    connections: Callable[[], int] = _nothing
    """Returns the number of open connections."""
    requests_per_round: Callable[[], int] = _nothing
    """Returns the number of requests that an address may begin in a round of the event loop now."""
