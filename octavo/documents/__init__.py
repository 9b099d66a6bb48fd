"""Documents of notes: Yjs through pycrdt, merged, edited, and cached between saves.

`document_batch` has the documents of a batch of changesets, and those kept in memory. Nothing here
blocks or reads a store.
"""

# `LiveDocument` would import it at the first save, on the event loop.
import pycrdt
from octavo_rules.documents.live_document import LiveDocument, merged

from octavo.documents.document_batch import CheckText, DocumentBatch, DocumentCache

__all__ = ["CheckText", "DocumentBatch", "DocumentCache", "LiveDocument", "merged"]
