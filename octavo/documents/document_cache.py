"""An LRU cache of the live documents of all workspaces."""

from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from octavo_rules.documents.document import StoredDocument
from octavo_rules.documents.live_document import LiveDocument
from octavo_rules.documents.structs import DocumentFacts
from octavo_rules.identity import START, ContentId, Cursor, FileId, WorkspaceId

from octavo.model.documents.update_log import Growth
from octavo.model.text_bounds import TextBounds

MAX_BYTES = 64 * 1024 * 1024
MAX_CURSORS = 50_000
"""Workspaces whose cursors are noted."""
_ENTRY_BYTES = 4096
_FACT_BYTES = 160
_STRUCTURE_FACTOR = 24
"""Approximate memory of a document's items, as a multiple of their encoded size."""


class CachedDocument(NamedTuple):
    """A live document and what is stored of it.

    Attributes:
        stored: the document in the store, or derived from its note.
        kept: whether the store has it.
        updates: those that are stored beside it.
        text: its text, which is expensive to read from the live document.
        content_id: the content of the note that has this text; that of the head may be newer.
        facts: what is known of its content, in addition to its state vector.
        growth: the estimated cost of loading it.
        foreign: whether it may contain updates of devices.
        bounds: those of the text, if it was checked.
        splits: an upper bound of the texts that the updates split.
        uncompared: see `octavo.documents.document_batch.BatchDocument`.
    """

    live: LiveDocument
    stored: StoredDocument
    kept: bool
    updates: tuple[bytes, ...]
    text: str
    content_id: ContentId
    facts: DocumentFacts
    growth: Growth
    foreign: bool
    bounds: TextBounds | None = None
    splits: int = 0
    uncompared: bool = False


class DocumentCache:
    """Holds the most recently used documents within a memory limit.

    A caller that takes a document owns it until it is put back.

    Args:
        new_client: returns a Yjs client id that no other process has.
        max_bytes: the approximate memory limit.

    Attributes:
        client: the Yjs client id of this process's edits.
    """

    def __init__(self, new_client: Callable[[], int], max_bytes: int = MAX_BYTES) -> None:
        self._new_client = new_client
        self.client = new_client()
        self._max_bytes = max_bytes
        self._bytes = 0
        self._entries: OrderedDict[tuple[WorkspaceId, FileId], CachedDocument] = OrderedDict()
        # Since `drop_unused`.
        self._unused: set[tuple[WorkspaceId, FileId]] = set()
        self._cursors: dict[WorkspaceId, Cursor] = {}

    def reached(self, workspace_id: WorkspaceId, cursor: Cursor) -> None:
        """Note the newest cursor of a workspace that this process has seen."""
        if len(self._cursors) == MAX_CURSORS and workspace_id not in self._cursors:
            # As if there was nothing to compare with.
            self.forget_history()
        self._cursors[workspace_id] = cursor

    def last_cursor(self, workspace_id: WorkspaceId) -> Cursor:
        """Return the cursor that was noted last."""
        return self._cursors.get(workspace_id, START)

    def forget_history(self) -> None:
        """Forget everything, since the history of the database was taken back.

        Edits that this process has made may be lost there, and left in the documents of devices. So
        it gives its next edits another client id: two different edits with the same id and clock
        would count as one.
        """
        self._entries.clear()
        self._unused.clear()
        self._bytes = 0
        self._cursors.clear()
        self.client = self._new_client()

    def take(self, workspace_id: WorkspaceId, file_id: FileId) -> CachedDocument | None:
        """Remove and return the document of a file; None when it is not cached."""
        entry = self._entries.pop((workspace_id, file_id), None)
        self._unused.discard((workspace_id, file_id))
        if entry is not None:
            self._bytes -= _weight(entry)
        return entry

    def discard(self, workspace_id: WorkspaceId, file_id: FileId) -> None:
        """Remove the document of a file if it is cached: it is outdated, or the file is purged."""
        self.take(workspace_id, file_id)

    def put(self, workspace_id: WorkspaceId, file_id: FileId, entry: CachedDocument) -> None:
        """Cache the document of a file, and evict the least recently used ones if needed."""
        self.discard(workspace_id, file_id)
        self._entries[workspace_id, file_id] = entry
        self._bytes += _weight(entry)
        while self._bytes > self._max_bytes:
            self.discard(*next(iter(self._entries)))

    def drop_unused(self) -> None:
        """Remove the documents that were not used since the call before.

        Their workspaces may have been deleted, by any process.
        """
        for key in [*self._unused]:
            self.discard(*key)
        self._unused = {*self._entries}


def _weight(entry: CachedDocument) -> int:
    state, text = len(entry.stored.state) + sum(map(len, entry.updates)), len(entry.text)
    structure = _STRUCTURE_FACTOR * max(0, state - text)
    return _ENTRY_BYTES + state + text + structure + _FACT_BYTES * entry.facts.held
