"""Documents of notes: Yjs through pycrdt, merged and edited, and kept alive between saves.

`live` is one document, `drafts` what a batch of changesets makes of them, `shelf` those that are
kept in memory. Nothing here waits or reads a store.
"""

from octavo.documents.drafts import Drafts
from octavo.documents.live import LiveDocument
from octavo.documents.shelf import Shelf

__all__ = ["Drafts", "LiveDocument", "Shelf"]
