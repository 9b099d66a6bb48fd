"""Documents of notes: Yjs through pycrdt, merged and edited, and kept alive between saves.

`live` is one document, `drafts` what a batch of changesets makes of them, `shelf` those that are
kept in memory. Nothing here waits or reads a store.
"""

from octavo.documents.batch_documents import BatchDocuments
from octavo.documents.document_cache import DocumentCache
from octavo.documents.live_document import LiveDocument

__all__ = ["BatchDocuments", "DocumentCache", "LiveDocument"]
