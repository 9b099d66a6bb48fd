"""The part of the service that searches notes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo.features.search.api import SearchOperations
from octavo.features.search.note_search import MAX_BYTES, SearchedTexts
from octavo.features.search.sql import fulltext_index
from octavo.kernel import Feature, Kernel, Parts
from octavo.store.transaction import Listeners

if TYPE_CHECKING:
    from octavo.features.usage.feature import Usage

FEATURE = Feature(
    "search",
    operations=[SearchOperations],
    listeners=Listeners(
        files_moving=[fulltext_index.keep_indexed_paths],
        files_purged=[fulltext_index.remove_notes],
        texts_sweeping=[fulltext_index.remove_words_first],
        texts_swept=[fulltext_index.request_erasure],
        workspace_sweeping=[fulltext_index.remove_some_notes],
    ),
    indexes=[fulltext_index.WORDS],
    sweeps=[fulltext_index.erase_removed_words],
)


@dataclass(frozen=True)
class Search:
    """What other features use: the cache of searched texts."""

    parts: Parts
    searched: SearchedTexts


def search_feature(kernel: Kernel, usage: Usage) -> Search:
    """Return the feature."""
    # Several processes cache nothing: one would not learn what another one deletes.
    searched = SearchedTexts(0 if kernel.shared else MAX_BYTES)
    kernel.after.erased.listen(searched.clear)
    operations = [SearchOperations(kernel.store, kernel.access, usage.metering, searched)]
    return Search(Parts(operations=operations, caches=[searched]), searched)
