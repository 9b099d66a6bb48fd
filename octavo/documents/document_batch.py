"""The documents that a batch of changesets reads and changes, and the cache between batches."""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self

from attrs import define, field
from octavo_rules.content import NoteContent, NoteText, note_text
from octavo_rules.documents.document import (
    ChangedDocument,
    DocumentUpdate,
    StoredDocument,
    TextDocument,
    initial,
)
from octavo_rules.documents.edits import edits_between
from octavo_rules.documents.encoding import LONG_BYTES, NO_CLIENTS, read_state_vector
from octavo_rules.documents.live_document import LiveDocument
from octavo_rules.documents.structs import DocumentFacts, facts_at_sight
from octavo_rules.identity import START, ContentId, Cursor, Epoch, FileId, WorkspaceId
from octavo_rules.problems import DocumentMalformed, DocumentTooLarge, EpochMismatch, Problem

from octavo.model.documents.update_check import CheckedUpdate, check_update
from octavo.model.documents.update_log import DocumentLimits, Growth, outgrows, splits_at_most
from octavo.model.text_bounds import TextBounds

MAX_BYTES = 64 * 1024 * 1024
MAX_CURSORS = 50_000
"""Workspaces whose cursors are noted."""
_ENTRY_BYTES = 4096
_FACT_BYTES = 160
_STRUCTURE_FACTOR = 24
"""Approximate memory of a document's items, as a multiple of their encoded size."""


_BYTES_OF_AN_EDIT = 64
_PIECES_OF_AN_EDIT = 3


@dataclass(slots=True)
class BatchDocument:
    """A document with the changes of the batch so far.

    Attributes:
        content_id: the content of the note that has its text.
        base: the document from which `rebuilt` starts.
        bound: an upper bound of the size of its state, in bytes.
        facts: what is known of its content, in addition to its state vector.
        growth: the estimated cost of loading it.
        foreign: whether it may contain updates of devices.
        fixed: whether its epoch remains when the text of the note is replaced.
        stored: the document in the store, or derived from its note; None for one that began anew.
        kept: whether the store has it.
        followed: the content of the stored document, if it was behind its note.
        since: the updates of devices that were applied to the base.
        splits: an upper bound of the texts that they split.
        logged: how many of them are stored beside the base.
        costly: whether merging them again may take long.
        uncompared: whether it is unknown if the present state has the same text when it is loaded.
            That of the base has, and may have another state then.
        written: whether edits of the server followed them; it can't be rebuilt then.
        epoch_next: the epoch that may follow this one.
        bounds: those of the text, if it was checked.
    """

    live: LiveDocument
    text: str
    content_id: ContentId
    base: StoredDocument
    bound: int
    facts: DocumentFacts
    growth: Growth
    foreign: bool
    fixed: bool
    stored: StoredDocument | None
    kept: bool
    followed: ContentId | None = None
    since: tuple[bytes, ...] = ()
    splits: int = 0
    logged: int = 0
    costly: bool = False
    uncompared: bool = False
    written: bool = False
    epoch_next: Epoch | None = None
    bounds: TextBounds | None = None

    @classmethod
    def loaded(
        cls, document: TextDocument, yjs_client_id: int, *, fixed: bool, kept: bool = False
    ) -> "BatchDocument":
        """Return a document loaded as it is stored; edits of the server have ``yjs_client_id``."""
        stored, content_id, updates = document
        live = LiveDocument(stored, yjs_client_id, updates)
        text, size = live.text, len(stored.state) + sum(map(len, updates))
        foreign = bool(updates) or initial(ContentId(stored.epoch), text) != stored
        facts, growth = facts_at_sight(stored.state, *updates), Growth.unknown(size, len(text))
        known = (live, text, content_id, stored, size, facts, growth, foreign, fixed, stored, kept)
        beside, splits = len(updates), splits_at_most(updates)
        return cls(*known, since=updates, splits=splits, logged=beside, uncompared=foreign)

    def settled(self, *, kept: bool) -> "BatchDocument":
        """Return the document for the next batch; ``kept``: whether the store has it now."""
        return replace(
            self,
            bound=len(self.base.state) + sum(map(len, self.since)),
            fixed=True,
            stored=self.base,
            kept=kept,
            followed=None,
            logged=len(self.since),
            costly=False,
            epoch_next=None,
        )

    def rebase(self, yjs_client_id: int) -> None:
        """Make the present state the base of `rebuilt`, in a form in which it can be stored.

        A document whose text would change when it is loaded from its state starts a new epoch with
        its present text. Forged updates of devices cause this: they refer to positions that no
        editor refers to, and the text then depends on the order in which they are applied. For the
        same reason, what is applied next is applied to what was loaded from the state.
        """
        base = self.live.stored()
        live = LiveDocument(base, yjs_client_id) if self.foreign else self.live
        if self.foreign and live.text != self.text:
            self.reset(yjs_client_id)
        else:
            self._begin(live, base)
            self.uncompared = self.foreign

    def compare(self, yjs_client_id: int, epoch_next: Epoch) -> None:
        """Start the epoch ``epoch_next`` if the text would change when it is loaded from its state.

        No document may have had that epoch before.
        """
        if self.uncompared and LiveDocument(self.live.stored(), yjs_client_id).text != self.text:
            self.epoch_next = epoch_next
            self.reset(yjs_client_id)
        self.uncompared = False

    @property
    def state(self) -> Callable[[], bytes]:
        """A function that returns the present state; expensive after a change."""
        return self.live.state if self.since or self.written else lambda: self.base.state

    def applied(self, text: str, update: bytes, checked: CheckedUpdate, epoch_next: Epoch) -> None:
        """Record that the update of a device was applied, which resulted in ``text``."""
        self.growth = self.growth.grown(checked.pieces)
        self.facts = checked.facts
        if text != self.text:
            self.content_id = ContentId(epoch_next)
        self.text, self.foreign, self.epoch_next = text, True, epoch_next
        self.since += (update,)
        self.splits += checked.splits
        self.bound += len(update)
        self.uncompared = True

    def write(self, text: str, content_id: ContentId) -> None:
        """Change the text to that of a content, by minimal edits."""
        edits = edits_between(self.text, text)
        self.live.edit(edits)
        self.text, self.content_id, self.written = text, content_id, True
        self.bounds = None
        self.epoch_next = Epoch(content_id)
        self.growth = self.growth.grown(_PIECES_OF_AN_EDIT * len(edits))
        for edit in edits:
            inserted = edit.inserted.encode()
            self.bound += len(inserted) + _BYTES_OF_AN_EDIT
            self.facts = self.facts.written(inserted)

    def reset(self, yjs_client_id: int) -> None:
        """Start the epoch ``epoch_next``, with the same text and without history."""
        if self.epoch_next is None:
            raise ValueError("the document was not changed")
        base = initial(ContentId(self.epoch_next), self.text)
        document = TextDocument(base, self.content_id)
        begun = BatchDocument.loaded(document, yjs_client_id, fixed=self.fixed)
        self.bound, self.facts = begun.bound, begun.facts
        self.growth, self.foreign = begun.growth, begun.foreign
        self.stored, self.kept = None, False
        self._begin(begun.live, base)

    def _begin(self, live: LiveDocument, base: StoredDocument) -> None:
        """Continue with ``live``, which was loaded from ``base``."""
        self.live, self.base = live, base
        self.since, self.splits, self.logged = (), 0, 0
        self.costly = self.uncompared = self.written = False

    def rebuilt(self, yjs_client_id: int) -> "BatchDocument":
        """Return the document rebuilt from its base; it must not be `written`."""
        return replace(self, live=LiveDocument(self.base, yjs_client_id, self.since))

    def change(
        self, file_id: FileId, yjs_client_id: int, limits: DocumentLimits
    ) -> ChangedDocument | None:
        """Return the document as it is to be stored; None for one that is stored as it is."""
        appended = self.since[self.logged :]
        if self.written or (appended and not self._may_append(limits)):
            self.rebase(yjs_client_id)
            appended = ()
        if not appended and self.stored is self.base:
            return None
        new = TextDocument(self.base, self.content_id, self.since)
        return ChangedDocument(file_id, new, self.followed, appended)

    def merge_updates(self, yjs_client_id: int, epoch_next: Epoch) -> None:
        """Make the present state the base, if there are updates beside the base.

        It may start the epoch ``epoch_next``, which no document may have had before.
        """
        if self.since:
            self.epoch_next = epoch_next
            self.rebase(yjs_client_id)

    def _may_append(self, limits: DocumentLimits) -> bool:
        """Return whether the updates can be stored beside the document that is stored.

        Loading merges them in the same order again, so the text is the same.
        """
        if self.costly or not self.kept or self.stored is not self.base:
            return False
        return not outgrows(self.since, len(self.base.state), self.splits, limits.logged)


class DocumentCache:
    """Holds the most recently used documents within a memory limit.

    A caller that takes a document owns it until it is put back.

    Args:
        new_yjs_client_id: returns a Yjs client id that no other process has.
        max_bytes: the approximate memory limit.

    Attributes:
        yjs_client_id: the Yjs client id of this process's edits.
    """

    def __init__(self, new_yjs_client_id: Callable[[], int], max_bytes: int = MAX_BYTES) -> None:
        self._new_yjs_client_id = new_yjs_client_id
        self.yjs_client_id = new_yjs_client_id()
        self._max_bytes = max_bytes
        self._bytes = 0
        self._entries: OrderedDict[tuple[WorkspaceId, FileId], BatchDocument] = OrderedDict()
        # The documents that were not used since the last call of `drop_unused`.
        self._unused: set[tuple[WorkspaceId, FileId]] = set()
        self._cursors: dict[WorkspaceId, Cursor] = {}

    def reached(self, workspace_id: WorkspaceId, cursor: Cursor) -> None:
        """Note the newest cursor of a workspace that this process has seen."""
        if len(self._cursors) == MAX_CURSORS and workspace_id not in self._cursors:
            # No cursor is known then, and nothing is compared.
            self.forget_history()
        self._cursors[workspace_id] = cursor

    def last_cursor(self, workspace_id: WorkspaceId) -> Cursor:
        """Return the cursor that was noted last."""
        return self._cursors.get(workspace_id, START)

    def forget_history(self) -> None:
        """Forget everything, since the history of the database was taken back.

        Edits of this process may be lost in the database, and still be in documents of devices. So
        the next edits get another client id: two edits with the same id and clock would count as
        one.
        """
        self._entries.clear()
        self._unused.clear()
        self._bytes = 0
        self._cursors.clear()
        self.yjs_client_id = self._new_yjs_client_id()

    def take(self, workspace_id: WorkspaceId, file_id: FileId) -> BatchDocument | None:
        """Remove and return the document of a file; None when it is not cached."""
        entry = self._entries.pop((workspace_id, file_id), None)
        self._unused.discard((workspace_id, file_id))
        if entry is not None:
            self._bytes -= _weight(entry)
        return entry

    def discard(self, workspace_id: WorkspaceId, file_id: FileId) -> None:
        """Remove the document of a file if it is cached: it is outdated, or the file is purged."""
        self.take(workspace_id, file_id)

    def put(self, workspace_id: WorkspaceId, file_id: FileId, entry: BatchDocument) -> None:
        """Cache the document of a file, and evict the least recently used ones if needed."""
        self.discard(workspace_id, file_id)
        self._entries[workspace_id, file_id] = entry
        self._bytes += _weight(entry)
        while self._bytes > self._max_bytes:
            self.discard(*next(iter(self._entries)))

    def drop_unused(self) -> None:
        """Remove the documents that were not used since the last call.

        Their workspaces may have been deleted, by any process.
        """
        for key in [*self._unused]:
            self.discard(*key)
        self._unused = {*self._entries}


def _weight(entry: BatchDocument) -> int:
    state, text = len(entry.base.state) + sum(map(len, entry.since)), len(entry.text)
    structure = _STRUCTURE_FACTOR * max(0, state - text)
    return _ENTRY_BYTES + state + text + structure + _FACT_BYTES * entry.facts.held


class CheckText(Protocol):
    """Raises a `Problem` for a text that no note may have."""

    def __call__(
        self, text: str, before: str = "", bounds: TextBounds | None = None
    ) -> TextBounds | None:
        """Check ``text``; return what the next text that evolves from it is checked with.

        ``bounds`` is what was returned for ``before``, from which ``text`` has evolved.
        """


@define(eq=False)
class DocumentBatch:
    """The documents of one workspace's notes for the changesets of one batch.

    Documents that were taken or loaded keep up with the texts that the batch writes. Those of other
    notes follow their texts later.

    Args:
        workspace_id: the workspace.
        cache: holds the live documents between batches.
        limits: the limits of documents.
        check_text: validates the text that an update results in.
    """

    _workspace_id: WorkspaceId
    _cache: DocumentCache
    _limits: DocumentLimits
    _check_text: CheckText
    _documents: dict[FileId, BatchDocument] = field(factory=dict, init=False)
    _made: dict[FileId, tuple[ContentId, NoteContent]] = field(factory=dict, init=False)
    # The documents before the present changeset; None for those that it created or loaded.
    _before: dict[FileId, BatchDocument | None] | None = field(default=None, init=False)
    _changed: dict[FileId, ChangedDocument] = field(factory=dict, init=False)
    _purged: set[FileId] = field(factory=set, init=False)

    def take(self, contents: Mapping[FileId, ContentId]) -> tuple[list[FileId], list[FileId]]:
        """Take the documents of files with these contents from the cache.

        Returns the files not cached, which need `load`, and those whose documents have an earlier
        text, which need `follow`.
        """
        missing: list[FileId] = []
        behind: list[FileId] = []
        for file_id, content_id in contents.items():
            cached = self._cache.take(self._workspace_id, file_id)
            if cached is None:
                missing.append(file_id)
                continue
            self._documents[file_id] = cached
            if cached.content_id != content_id:
                behind.append(file_id)
        return missing, behind

    def load(self, file_id: FileId, document: TextDocument, *, fixed: bool, kept: bool) -> None:
        """Load a document. A note without a stored document has the initial one of its text.

        ``fixed``: whether it keeps its epoch when the text of the note is replaced. Otherwise it is
        not cached unless it is stored. ``kept``: whether the store has it.
        """
        self._documents[file_id] = BatchDocument.loaded(
            document, self._cache.yjs_client_id, fixed=fixed, kept=kept
        )

    def has(self, file_id: FileId) -> bool:
        """Return whether the document of a file was loaded."""
        return file_id in self._documents

    def content_of(self, file_id: FileId) -> ContentId:
        """Return the content whose text a loaded document has."""
        return self._documents[file_id].content_id

    def drop(self, file_id: FileId) -> None:
        """Forget a document that can't be used."""
        self._documents.pop(file_id, None)

    def begin_anew(
        self, file_id: FileId, content_id: ContentId, text: str, followed: ContentId | None
    ) -> None:
        """Replace a stored document that can't be read, and that names ``followed``."""
        base = TextDocument(initial(content_id, text), content_id)
        begun = BatchDocument.loaded(base, self._cache.yjs_client_id, fixed=True)
        begun.stored, begun.followed = None, followed
        self._documents[file_id] = begun

    def follow(
        self, file_id: FileId, content_id: ContentId, text: str, followed: ContentId | None
    ) -> None:
        """Bring a loaded document up to date with the head of its note.

        ``followed`` is the content that the stored document names.
        """
        document = self._documents[file_id]
        document.followed = followed
        document.write(text, content_id)
        self._discard_history(document, len(text.encode()))

    def merge_updates(self, file_id: FileId, epoch_next: Epoch) -> None:
        """Merge the updates of a document, if it was loaded; see `BatchDocument.merge_updates`."""
        document = self._documents.get(file_id)
        if document is not None:
            document.merge_updates(self._cache.yjs_client_id, epoch_next)

    def updates_beside(self, file_ids: Sequence[FileId]) -> bool:
        """Return whether one of the documents that were taken or loaded has updates beside it."""
        documents = [self._documents.get(file_id) for file_id in file_ids]
        return any(document is not None and document.since for document in documents)

    @property
    def weight(self) -> int:
        """The size of the loaded documents, in bytes."""
        return sum(document.bound for document in self._documents.values())

    def must_load(self, file_id: FileId, epoch: Epoch, vector: bytes) -> bool:
        """Return whether `missing_update` has to load a document that was taken or loaded."""
        document = self._documents.get(file_id)
        if document is None:
            return False
        if _gets_all(document, epoch, vector):
            return bool(document.since)
        return document.uncompared and _lacks_text(document, vector)

    def missing_update(
        self, file_id: FileId, epoch: Epoch, vector: bytes, epoch_next: Epoch
    ) -> DocumentUpdate | None:
        """Return the update that a device's copy of a document lacks; None without a document.

        A device with another epoch, or nothing, gets the whole document, as it is stored then. The
        others merge the update in an order of their own, so the texts are compared.

        ``vector`` must be validated. The document may start the epoch ``epoch_next``, which no
        document may have had before.
        """
        document = self._documents.get(file_id)
        if document is None:
            return None
        if document.written:
            document.rebase(self._cache.yjs_client_id)
        if _gets_all(document, epoch, vector):
            document.merge_updates(self._cache.yjs_client_id, epoch_next)
            return DocumentUpdate(*document.base)
        if document.uncompared and _lacks_text(document, vector):
            document.compare(self._cache.yjs_client_id, epoch_next)
            if document.live.epoch != epoch:
                return DocumentUpdate(*document.base)
        live = document.live
        return DocumentUpdate(live.epoch, live.update_since(vector), live.vector_bytes())

    def attempt(self) -> Self:
        """Implement `octavo_rules.documents.document.Documents.attempt`."""
        return self

    def __enter__(self) -> None:
        """Begin an attempt."""
        self._before = {}

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """End the attempt, and undo it if it was refused."""
        before, self._before = self._before or {}, None
        if kind is not None and issubclass(kind, Problem):
            for file_id, document in before.items():
                self._undo(file_id, document)

    def created(self, file_id: FileId, content_id: ContentId, content: NoteContent) -> None:
        """Implement `octavo_rules.documents.document.Documents.created`."""
        self._remember(file_id)
        self._made[file_id] = (content_id, content)

    def merge(
        self, file_id: FileId, epoch: Epoch, update: bytes, epoch_next: Epoch
    ) -> NoteText | None:
        """Implement `octavo_rules.documents.document.Documents.merge`."""
        document = self._document(file_id)
        if document.written:
            # Another epoch may begin here.
            document.rebase(self._cache.yjs_client_id)
        live = document.live
        if epoch != live.epoch:
            raise EpochMismatch(
                "The document of the note has another epoch: read the note, and transfer your"
                " edits to its document."
            )
        if len(update) > self._limits.update:
            raise DocumentTooLarge(
                f"The update has {len(update)} bytes; the maximum is {self._limits.update}. Save"
                " more often, or copy the text into a new note."
            )
        vector = live.vector()
        checked = check_update(update, vector, document.state, document.facts)
        if not checked.changes:
            return None
        self._remember(file_id)
        live.apply(update)
        if live.vector() != checked.state_vector:
            raise DocumentMalformed("The update has inconsistent contents: encode it again.")
        text = live.text
        if text == document.text and vector == checked.state_vector:
            return None
        content = note_text(text)
        bounds = self._check_text(text, document.text, document.bounds)
        document.applied(text, update, checked, epoch_next)
        document.bounds = bounds
        if document.bound > self._limits.state:
            document.bound = len(live.state())
            if document.bound > self._limits.state:
                raise DocumentTooLarge(
                    f"The document would have {document.bound} bytes; the maximum is"
                    f" {self._limits.state}. Copy the text into a new note."
                )
        self._discard_history(document, content.size)
        return content

    def write(self, file_id: FileId, content_id: ContentId, content: NoteContent) -> None:
        """Implement `octavo_rules.documents.document.Documents.write`."""
        if file_id not in self._documents and file_id not in self._made:
            return
        document = self._document(file_id)
        self._remember(file_id)
        document.write(content.text, content_id)
        self._discard_history(document, content.size)

    def purged(self, file_id: FileId) -> None:
        """Implement `octavo_rules.documents.document.Documents.purged`."""
        self._remember(file_id)
        self._documents.pop(file_id, None)
        self._purged.add(file_id)

    def changed(self) -> list[ChangedDocument]:
        """Return the documents that differ from their stored state, as they can be stored."""
        for file_id, document in self._documents.items():
            change = document.change(file_id, self._cache.yjs_client_id, self._limits)
            if change is not None:
                self._changed[file_id] = change
        return [*self._changed.values()]

    def settle(self) -> None:
        """Return the documents to the cache, after the result of `changed` was stored."""
        for file_id in self._purged:
            self._cache.discard(self._workspace_id, file_id)
        for file_id, document in self._documents.items():
            changed = file_id in self._changed
            if changed or document.fixed:
                settled = document.settled(kept=changed or document.kept)
                self._cache.put(self._workspace_id, file_id, settled)

    def _document(self, file_id: FileId) -> BatchDocument:
        if file_id not in self._documents:
            if file_id not in self._made:
                raise DocumentMalformed(
                    "The stored document of the note is damaged: save the note as text, which"
                    " begins a new one."
                )
            content_id, content = self._made[file_id]
            document = TextDocument(initial(content_id, content.text), content_id)
            self._documents[file_id] = BatchDocument.loaded(
                document, self._cache.yjs_client_id, fixed=False
            )
        return self._documents[file_id]

    def _remember(self, file_id: FileId) -> None:
        if self._before is not None and file_id not in self._before:
            document = self._documents.get(file_id)
            if document is not None and document.written:
                document.rebase(self._cache.yjs_client_id)
            self._before[file_id] = None if document is None else replace(document)

    def _undo(self, file_id: FileId, before: BatchDocument | None) -> None:
        if before is None:
            self._documents.pop(file_id, None)
            self._made.pop(file_id, None)
        else:
            self._documents[file_id] = before.rebuilt(self._cache.yjs_client_id)

    def _discard_history(self, document: BatchDocument, size: int) -> None:
        """Start a new epoch if the history is too long for a text of ``size`` bytes."""
        if self._limits.outgrown(document.bound, size):
            document.bound = len(document.live.state())
        expensive = False
        if document.growth.doubtful:
            document.growth, expensive = document.growth.recounted(document.live.state)
            document.costly = True
        if expensive or self._limits.outgrown(document.bound, size):
            document.reset(self._cache.yjs_client_id)


def _gets_all(document: BatchDocument, epoch: Epoch, vector: bytes) -> bool:
    return epoch != document.live.epoch or vector == NO_CLIENTS


def _lacks_text(document: BatchDocument, vector: bytes) -> bool:
    """Return whether a copy of a document lacks some of its text, or may; it may lack deletions."""
    have = document.live.vector_bytes()
    if vector == have:
        return False
    if max(len(vector), len(have)) > LONG_BYTES:
        return True
    held = read_state_vector(vector)
    return any(
        held.get(client_id, 0) < clock for client_id, clock in read_state_vector(have).items()
    )
