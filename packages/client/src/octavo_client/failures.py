"""Count the consecutive failures of a request, and wait between its attempts."""

from collections.abc import Callable

import trio

from octavo_client.errors import ClientError, ProblemError
from octavo_client.retrying import EntropySource, Retrying


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
