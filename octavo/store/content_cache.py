"""Contents in memory that are used again soon: within a limit, and no longer than their files."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Generic, Protocol, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Cache(Protocol):
    """What holds contents of files, or their paths, in memory."""

    def drop_unused(self) -> None:
        """Forget what was not used since the call before: it may have been deleted."""


class ContentCache(Generic[K, V]):
    """Holds the contents that were used last, within a limit of memory.

    They must not outlive their files: whoever purges some calls `clear`, and what was deleted
    without that goes with `drop_unused`.

    Args:
        size_of: returns the approximate bytes of a content when it is kept.
        max_bytes: the limit; 0 for no cache.

    Attributes:
        generation: how often it was cleared.
    """

    def __init__(self, size_of: Callable[[V], int], max_bytes: int) -> None:
        self.generation = 0
        self._size_of = size_of
        self._max_bytes = max_bytes
        self._bytes = 0
        self._contents: OrderedDict[K, V] = OrderedDict()
        # Of a string, the size grows when its UTF-8 is needed for the first time.
        self._sizes: dict[K, int] = {}
        # Since `drop_unused`.
        self._unused: set[K] = set()

    @property
    def contents(self) -> Mapping[K, V]:
        """The contents that are held, which other threads may look up meanwhile."""
        return self._contents

    def get(self, key: K) -> V | None:
        """Return the content of ``key``, as the one that was used last; None if none is held."""
        found = self._contents.get(key)
        if found is not None:
            self._contents.move_to_end(key)
            self._unused.discard(key)
        return found

    def keep(self, key: K, content: V, generation: int) -> None:
        """Hold a content that was read in ``generation``, in place of an older one of ``key``."""
        if generation != self.generation or not self._max_bytes:
            return
        self._drop(key)
        size = self._size_of(content)
        self._bytes += size
        self._contents[key], self._sizes[key] = content, size
        while self._bytes > self._max_bytes:
            self._drop(next(iter(self._contents)))

    def drop_unused(self) -> None:
        """Forget the contents that were not used since the call before."""
        for key in [*self._unused]:
            self._drop(key)
        self._unused = {*self._contents}

    def _drop(self, key: K) -> None:
        self._contents.pop(key, None)
        self._bytes -= self._sizes.pop(key, 0)
        self._unused.discard(key)

    def clear(self) -> None:
        """Forget all contents, and those that are being read."""
        self.generation += 1
        self._contents.clear()
        self._sizes.clear()
        self._unused.clear()
        self._bytes = 0
