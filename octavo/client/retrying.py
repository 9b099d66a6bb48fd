"""When an attempt is made again: exponential backoff with full jitter, and a bound."""

from dataclasses import dataclass
from typing import Protocol


class Chance(Protocol):
    """Where randomness comes from: `random.SystemRandom`, or a seeded `random.Random` in a test."""

    def random(self) -> float:
        """Answer a number from 0 to below 1."""

    def getrandbits(self, k: int, /) -> int:
        """Answer a number of ``k`` random bits."""


@dataclass(frozen=True, slots=True)
class Retrying:
    """How often, and after how long.

    Attributes:
        attempts: how often a request is sent at most.
        first: seconds that the first wait takes at most; each further one twice that.
        longest: seconds that a wait takes at most.
        patience: seconds that are waited at most because the server asked for it; a refusal that
            asks for more is raised.
        rest: seconds to stay away, about, when there is nothing to be had soon.
    """

    attempts: int = 8
    first: float = 0.2
    longest: float = 10.0
    patience: float = 30.0
    rest: float = 30.0

    def wait(self, failures: int, chance: Chance, asked: float | None = None) -> float:
        """Answer the seconds to wait behind so many failures in a row, 1 or more.

        Anything up to the bound: clients that failed together come back apart. ``asked`` is what
        the server asked for: it is the least, and the jitter comes on top.
        """
        bound = min(self.longest, self.first * 2.0 ** min(failures - 1, 60))
        return (asked or 0.0) + chance.random() * bound

    def stay_away(self, chance: Chance) -> float:
        """Answer seconds around `rest`: from half of it to one and a half times as many."""
        return self.rest * (0.5 + chance.random())
