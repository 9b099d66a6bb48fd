"""The texts that searches have looked at last: the next ones look at most of them again.

A revision has one text and one path.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from sys import getsizeof

from octavo.model.identity import RevisionId
from octavo.model.search import Ranked, SearchedText

MAX_BYTES = 16 * 1024 * 1024


class SearchedTexts:
    """Holds the texts of heads that were looked at last, within a limit of memory.

    They must not outlive their files: whoever purges some calls `clear`, in every process that has
    such a cache. So one that does not learn of all purges has none.

    Args:
        max_bytes: the approximate limit; 0 for no cache.

    Attributes:
        generation: how often it was cleared.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.generation = 0
        self._max_bytes = max_bytes
        self._bytes = 0
        self._texts: OrderedDict[RevisionId, SearchedText] = OrderedDict()

    @property
    def known(self) -> Mapping[RevisionId, SearchedText]:
        """The texts that are held, which other threads may look up meanwhile."""
        return self._texts

    def keep(self, found: Iterable[Ranked], generation: int) -> None:
        """Hold the texts of a search that began in ``generation``."""
        if generation != self.generation or not self._max_bytes:
            return
        for each in found:
            if each.candidate.text is None:
                continue
            revision_id = each.candidate.revision_id
            if revision_id in self._texts:
                self._texts.move_to_end(revision_id)
            else:
                self._texts[revision_id] = each.text
                self._bytes += _size(each.text)
        while self._bytes > self._max_bytes:
            self._bytes -= _size(self._texts.popitem(last=False)[1])

    def clear(self) -> None:
        """Forget all of them, and those of the searches under way."""
        self.generation += 1
        self._texts.clear()
        self._bytes = 0


def _size(text: SearchedText) -> int:
    return getsizeof(text) + sum(map(getsizeof, text))
