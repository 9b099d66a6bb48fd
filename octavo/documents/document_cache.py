"""The documents that are kept in memory between saves, in all workspaces together."""

from collections import OrderedDict
from typing import NamedTuple

from octavo.documents.live_document import LiveDocument
from octavo.model.documents.document import KeptDocument
from octavo.model.documents.facts import DocumentFacts
from octavo.model.documents.limits import Growth
from octavo.model.identity import FileId, WorkspaceId

MOST_BYTES = 64 * 1024 * 1024
_OWN = 4096
_FACT = 160
_TIMES = 24
"""What is in a state beside the text, the items, takes so many times the memory, about."""


class CachedDocument(NamedTuple):
    """A live document as it is stored, too.

    Attributes:
        text: that it has; to ask the live document for it is dear.
        facts: what is known of it beside its state vector.
        growth: what it takes to load.
        foreign: whether there may be updates of devices in it.
    """

    live: LiveDocument
    stored: KeptDocument
    text: str
    facts: DocumentFacts
    growth: Growth
    foreign: bool


class DocumentCache:
    """Keeps documents that were used last, within a bound of memory.

    Whoever takes one has it alone, until it is put back.

    Args:
        client: the Yjs client that the edits of this process are of; no other may have it.
        most_bytes: of memory that all of them take, about.
    """

    def __init__(self, client: int, most_bytes: int = MOST_BYTES) -> None:
        self.client = client
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[tuple[WorkspaceId, FileId], CachedDocument] = OrderedDict()

    def take(self, workspace_id: WorkspaceId, file_id: FileId) -> CachedDocument | None:
        """Take the document of a file; None when it is not here."""
        kept = self._kept.pop((workspace_id, file_id), None)
        if kept is not None:
            self._bytes -= _weight(kept)
        return kept

    def put(self, workspace_id: WorkspaceId, file_id: FileId, kept: CachedDocument) -> None:
        """Put the document of a file here; those that were not used for longest make room."""
        self.take(workspace_id, file_id)
        self._kept[workspace_id, file_id] = kept
        self._bytes += _weight(kept)
        while self._bytes > self._most_bytes:
            _, dropped = self._kept.popitem(last=False)
            self._bytes -= _weight(dropped)


def _weight(kept: CachedDocument) -> int:
    state, text = len(kept.stored.state), len(kept.text)
    return _OWN + state + text + _TIMES * max(0, state - text) + _FACT * kept.facts.held
