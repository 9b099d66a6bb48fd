"""Forms that are submitted twice: by a double click, or by reloading a response.

Each form contains a value of its own. The first submission with it is performed, and a second one
within a minute gets the same response. So no key or workspace is created twice, and a secret that
is shown once is not lost with the response that the browser dropped. Only this process knows the
responses, and drops them a minute later.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import trio

T = TypeVar("T")

REMEMBERED_SECONDS = 60.0
"""Seconds for which a response is kept."""
LOOK_SECONDS = 10.0
"""Seconds between two looks for responses that have been kept for long enough."""
MOST_BYTES = 16 * 1024 * 1024
"""Of all responses that are kept."""


class _Submission(Generic[T]):
    def __init__(self) -> None:
        self.done = trio.Event()
        self.until = trio.current_time() + REMEMBERED_SECONDS
        self.response: T | None = None
        self.size = 0


class Resubmissions(Generic[T]):
    """The responses of recent submissions.

    Args:
        maximum: the number of responses that are kept; the oldest are dropped.
        most_bytes: the size of all responses that are kept; the oldest are dropped.
        size_of: returns the size of a response in bytes.
    """

    def __init__(
        self,
        maximum: int = 1000,
        most_bytes: int = MOST_BYTES,
        size_of: Callable[[T], int] = lambda _: 0,
    ) -> None:
        self._maximum = maximum
        self._most_bytes = most_bytes
        self._size_of = size_of
        self._bytes = 0
        self._submissions: OrderedDict[str, _Submission[T]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._submissions)

    async def respond(
        self, key: str, perform: Callable[[], Awaitable[T]], *, keeps: Callable[[T], bool]
    ) -> T:
        """Return the response to the submission with ``key``: that of ``perform``, or the kept one.

        A response is kept if ``keeps`` returns True. A submission that fails, or is cancelled, is
        forgotten, and the next one with its key is performed.
        """
        while True:
            self._drop_old()
            known = self._submissions.get(key)
            if known is None:
                break
            await known.done.wait()
            if known.response is not None:
                return known.response
        self._submissions[key] = submission = _Submission[T]()
        try:
            response = await perform()
            if keeps(response):
                submission.response = response
                if self._submissions.get(key) is submission:
                    submission.size = self._size_of(response)
                    self._bytes += submission.size
                    self._drop_old()
            return response
        finally:
            if submission.response is None and self._submissions.get(key) is submission:
                del self._submissions[key]
            submission.done.set()

    async def run(self) -> None:
        """Drop the responses that have been kept for long enough, until cancelled."""
        while True:
            await trio.sleep(LOOK_SECONDS)
            self._drop_old()

    def _drop_old(self) -> None:
        """Drop the responses that have been kept for long enough, and the oldest of too many."""
        now = trio.current_time()
        while self._submissions:
            oldest = next(iter(self._submissions.values()))
            few = len(self._submissions) <= self._maximum and self._bytes <= self._most_bytes
            if few and oldest.until > now:
                return
            self._submissions.popitem(last=False)
            self._bytes -= oldest.size
