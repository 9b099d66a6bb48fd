"""The texts that searches have looked at last: the next ones look at most of them again.

A revision has one text and one path.
"""

from collections.abc import Iterable
from sys import getsizeof

from octavo_rules.identity import RevisionId

from octavo.model.search import Ranked, SearchedText
from octavo.store.content_cache import ContentCache

MAX_BYTES = 16 * 1024 * 1024


class SearchedTexts(ContentCache[RevisionId, SearchedText]):
    """Holds the texts of heads that were looked at last, with the rules of `ContentCache`."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        super().__init__(_size, max_bytes)

    def keep_found(self, found: Iterable[Ranked], generation: int) -> None:
        """Hold the texts of a search that began in ``generation``."""
        for each in found:
            if each.candidate.text is not None:
                revision_id = each.candidate.revision_id
                self.keep(revision_id, self.get(revision_id) or each.text, generation)


def _size(text: SearchedText) -> int:
    # A string that is not ASCII also holds its UTF-8 once it was sent: here, the title.
    return getsizeof(text) + sum(map(getsizeof, text)) + len((text.title or "").encode())
