"""A cache of file contents in memory, within a limit of bytes."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Generic, Protocol, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Cache(Protocol):
    """A cache of contents or paths of files."""

    def drop_unused(self) -> None:
        """Remove what was not used since the last call: it may have been deleted."""


class ContentCache(Generic[K, V]):
    """Holds the most recently used contents within a limit of bytes.

    Contents must not outlive their files: code that purges files calls `clear`, and `drop_unused`
    removes those of files that were deleted in another way.

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
        # The size of a string grows when its UTF-8 is computed for the first time.
        self._sizes: dict[K, int] = {}
        # The keys that were not used since the last call of `drop_unused`.
        self._unused: set[K] = set()

    @property
    def contents(self) -> Mapping[K, V]:
        """The cached contents, which other threads may read."""
        return self._contents

    def get(self, key: K) -> V | None:
        """Return the content of ``key``, now the most recent one; None if it is not cached."""
        content = self._contents.get(key)
        if content is not None:
            self._contents.move_to_end(key)
            self._unused.discard(key)
        return content

    def keep(self, key: K, content: V, generation: int) -> None:
        """Cache a content that was read in ``generation``, and replace an older one of ``key``."""
        if generation != self.generation or not self._max_bytes:
            return
        self._drop(key)
        size = self._size_of(content)
        self._bytes += size
        self._contents[key], self._sizes[key] = content, size
        while self._bytes > self._max_bytes:
            self._drop(next(iter(self._contents)))

    def drop_unused(self) -> None:
        """Remove the contents that were not used since the last call."""
        for key in [*self._unused]:
            self._drop(key)
        self._unused = {*self._contents}

    def _drop(self, key: K) -> None:
        self._contents.pop(key, None)
        self._bytes -= self._sizes.pop(key, 0)
        self._unused.discard(key)

    def clear(self) -> None:
        """Remove all contents; those that are being read now are not cached."""
        self.generation += 1
        self._contents.clear()
        self._sizes.clear()
        self._unused.clear()
        self._bytes = 0
