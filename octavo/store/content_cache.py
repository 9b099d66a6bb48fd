"""Contents in memory that are used again soon: within a limit, and no longer than their files."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class ContentCache(Generic[K, V]):
    """Holds the contents that were used last, within a limit of memory.

    They must not outlive their files: whoever purges some calls `clear`, in every process that has
    such a cache. So one that does not learn of all purges has none.

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

    @property
    def contents(self) -> Mapping[K, V]:
        """The contents that are held, which other threads may look up meanwhile."""
        return self._contents

    def get(self, key: K) -> V | None:
        """Return the content of ``key``, as the one that was used last; None if none is held."""
        found = self._contents.get(key)
        if found is not None:
            self._contents.move_to_end(key)
        return found

    def keep(self, key: K, content: V, generation: int) -> None:
        """Hold a content that was read in ``generation``, in place of an older one of ``key``."""
        if generation != self.generation or not self._max_bytes:
            return
        self._contents.pop(key, None)
        size = self._size_of(content)
        self._bytes += size - self._sizes.get(key, 0)
        self._contents[key], self._sizes[key] = content, size
        while self._bytes > self._max_bytes:
            oldest, _ = self._contents.popitem(last=False)
            self._bytes -= self._sizes.pop(oldest)

    def clear(self) -> None:
        """Forget all contents, and those that are being read."""
        self.generation += 1
        self._contents.clear()
        self._sizes.clear()
        self._bytes = 0
