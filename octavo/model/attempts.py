"""How often something may be tried: the generic cell rate algorithm, and whose tries count as one.

The algorithm (ITU-T I.371, annex A) keeps one number for each who tries: the time at which all
tries so far are paid for, each costing a share of the period. It lets a burst pass and then one
try a share, and remembers no more than that number.
"""

from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Rate:
    """``count`` tries at once, and as many more in each ``period`` of seconds."""

    count: int
    period: float

    def __post_init__(self) -> None:
        if self.count < 1 or not self.period > 0:
            raise ValueError(f"{self.count} tries in {self.period} seconds are no rate")

    @property
    def interval(self) -> float:
        """Seconds that one try costs."""
        return self.period / self.count


class Admission(NamedTuple):
    """Whether one more try passes.

    Attributes:
        paid_at: when all tries that passed are paid for, in seconds of the caller's clock.
        retry_after: seconds until one passes again; 0 when this one did.
    """

    paid_at: float
    retry_after: float


def admit(paid_at: float | None, now: float, rate: Rate) -> Admission:
    """Judge a try at ``now``; ``paid_at`` is of the admission before, None at the first.

    A try that does not pass costs nothing.
    """
    starts = now if paid_at is None else max(paid_at, now)
    # A thousandth of a share is below what anybody waits for, and above what floats lose.
    wait = starts - now - (rate.period - rate.interval)
    if wait > rate.interval / 1000:
        return Admission(starts, wait)
    return Admission(starts + rate.interval, 0.0)


def client_network(client: str | None) -> str:
    """Answer the client that an address counts for.

    Of IPv6 that is its /64: so much belongs to one subscriber at least (RFC 6177 section 2), who
    could try from each address once. An IPv4 address in the notation of IPv6 is itself. All
    without an address, as on a Unix socket, count as one.
    """
    if client is None:
        return ""
    try:
        address = ip_address(client.partition("%")[0])
    except ValueError:
        return client
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return f"{IPv6Address(int(address) >> 64 << 64)}/64"
