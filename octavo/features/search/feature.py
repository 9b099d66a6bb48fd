"""The part of the service that searches notes."""

from dataclasses import dataclass

from octavo.features.search.api import SearchOperations
from octavo.features.search.note_search import MAX_BYTES, SearchedTexts
from octavo.features.usage.feature import Usage
from octavo.kernel import Feature, Kernel, Parts

FEATURE = Feature("search")


@dataclass(frozen=True)
class Search:
    """The texts that were found last."""

    parts: Parts
    searched: SearchedTexts


def search_feature(kernel: Kernel, usage: Usage) -> Search:
    """Return the feature."""
    # Another process would not learn what this one deletes.
    searched = SearchedTexts(0 if kernel.shared else MAX_BYTES)
    kernel.after.erased.listen(searched.clear)
    operations = [SearchOperations(kernel.store, kernel.access, usage.metering, searched)]
    return Search(Parts(operations=operations, caches=[searched]), searched)
