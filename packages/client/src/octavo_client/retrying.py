"""The retry policy, exponential backoff with full jitter, and the failures of a request."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import trio

from octavo_client.errors import ClientError, ProblemError


class EntropySource(Protocol):
    """A source of randomness: `random.SystemRandom`, or a seeded `random.Random` in a test."""

    def random(self) -> float:
        """Return a number from 0 up to, but not including, 1."""

    def getrandbits(self, k: int, /) -> int:
        """Return an integer of ``k`` random bits."""


@dataclass(frozen=True, slots=True)
class Retrying:
    """The number of attempts and the waits between them.

    Attributes:
        attempts: the maximum number of times a request is sent.
        first: the upper bound of the first wait in seconds; it doubles for each further one.
        longest: the upper bound of any wait in seconds.
        patience: the longest wait in seconds that the server may ask for; an error that asks for a
            longer one is raised.
        rest: the approximate wait in seconds if a resource won't be available soon.
    """

    attempts: int = 8
    first: float = 0.2
    longest: float = 10.0
    patience: float = 30.0
    rest: float = 30.0

    def allows(self, retry_after: float | None) -> bool:
        """Return whether the wait in seconds that the server asks for, if any, is accepted."""
        return (retry_after or 0.0) <= self.patience

    def wait(
        self, failures: int, entropy: EntropySource, retry_after: float | None = None
    ) -> float:
        """Return the seconds to wait after ``failures`` consecutive failures.

        The wait is random up to the bound, so that clients that failed together come back at
        different times. ``retry_after`` is the wait that the server asked for, to which the
        jitter is added.
        """
        bound = min(self.longest, self.first * 2.0 ** min(failures - 1, 60))
        return (retry_after or 0.0) + entropy.random() * bound

    def stay_away(self, entropy: EntropySource) -> float:
        """Return a random wait between half of `rest` and one and a half times `rest`."""
        return self.rest * (0.5 + entropy.random())


class Failures:
    """The consecutive failures of a request.

    Args:
        retrying: the retry policy.
        entropy: the source of the jitter.
        on_retry: called before each wait, with the failure.

    Attributes:
        number: how many there were.
    """

    def __init__(
        self,
        retrying: Retrying,
        entropy: EntropySource,
        on_retry: Callable[[ClientError], object],
    ) -> None:
        self.number = 0
        self._retrying = retrying
        self._entropy = entropy
        self._on_retry = on_retry
        self._first = 0.0

    def add(self, error: ClientError) -> ClientError:
        """Count a failure; return ``error`` with the number of attempts and their time."""
        now = trio.current_time()
        self.number += 1
        if self.number == 1:
            self._first = now
        error.attempts, error.seconds = self.number, now - self._first
        return error

    def begin_again(self) -> None:
        """Forget the failures, because there was progress."""
        self.number = 0

    async def wait(self, error: ClientError) -> None:
        """Wait before the next attempt, at least as long as ``error`` asks for."""
        self._on_retry(error)
        asked = error.retry_after if isinstance(error, ProblemError) else None
        await trio.sleep(self._retrying.wait(self.number, self._entropy, asked))
