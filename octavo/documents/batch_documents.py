"""What a batch of changesets makes of documents, before it is kept."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from octavo.documents.batch_document import BatchDocument
from octavo.documents.document_cache import DocumentCache
from octavo.documents.live_document import LiveDocument
from octavo.model.documents.document import DocumentUpdate, KeptDocument
from octavo.model.documents.initial_document import initial
from octavo.model.documents.limits import DocumentLimits
from octavo.model.documents.update_check import check_update
from octavo.model.files.content import NoteText, note_text
from octavo.model.identity import ContentId, Epoch, FileId, WorkspaceId
from octavo.model.refusal import DocumentMalformed, DocumentTooLarge, DomainError, EpochMismatch

CheckText = Callable[[str], None]
"""Raises a `DomainError` for a text that no note may have."""


class BatchDocuments:
    """The documents of one workspace's notes, for the changesets of one batch.

    Args:
        workspace_id: which.
        shelf: where live documents are kept between batches.
        limits: what documents may grow to.
        check_text: judges the text behind an update.
    """

    def __init__(
        self,
        workspace_id: WorkspaceId,
        shelf: DocumentCache,
        limits: DocumentLimits,
        check_text: CheckText,
    ) -> None:
        self._id = workspace_id
        self._shelf = shelf
        self._limits = limits
        self._check_text = check_text
        self._drafts: dict[FileId, BatchDocument] = {}
        self._made: dict[FileId, tuple[ContentId, str]] = {}
        # As they were before the changeset that is planned now; None for what was not touched.
        self._before: dict[FileId, BatchDocument | None] | None = None
        self._changed: dict[FileId, KeptDocument] = {}
        self._purged: set[FileId] = set()

    def take(self, file_ids: Iterable[FileId]) -> list[FileId]:
        """Take documents from the shelf; answer those that are not there, to `bring` them."""
        lacking: list[FileId] = []
        for file_id in file_ids:
            if file_id in self._drafts:
                continue
            kept = self._shelf.take(self._id, file_id)
            if kept is None:
                lacking.append(file_id)
            else:
                self._drafts[file_id] = BatchDocument.taken(kept)
        return lacking

    def bring(self, file_id: FileId, kept: KeptDocument) -> None:
        """Bring a document as the store has it, or the `initial` one of a note without."""
        self._drafts[file_id] = BatchDocument.loaded(kept, self._shelf.client)

    @property
    def weight(self) -> int:
        """Bytes of the documents that were taken or brought."""
        return sum(draft.bound for draft in self._drafts.values())

    def lacking(self, file_id: FileId, epoch: Epoch, vector: bytes) -> DocumentUpdate | None:
        """Return the generation of a document, and what somebody lacks of it.

        That is all of it for whoever has another generation than it. ``vector`` was checked.
        None: there is no such document.
        """
        draft = self._drafts.get(file_id)
        if draft is None:
            return None
        live = draft.live
        update = live.lacking(vector) if live.epoch == epoch else live.state()
        return DocumentUpdate(live.epoch, update, live.vector_bytes())

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """As of `octavo.model.documents.document.Documents`."""
        self._before = {}
        try:
            yield
        except DomainError:
            for file_id, draft in self._before.items():
                self._undo(file_id, draft)
            raise
        finally:
            self._before = None

    def made(self, file_id: FileId, content_id: ContentId, content: NoteText) -> None:
        """As of `octavo.model.documents.document.Documents`."""
        self._remember(file_id)
        self._made[file_id] = (content_id, content.text)

    def merge(
        self, file_id: FileId, epoch: Epoch, update: bytes, epoch_next: Epoch
    ) -> NoteText | None:
        """As of `octavo.model.documents.document.Documents`."""
        draft = self._draft(file_id)
        live = draft.live
        if epoch != live.epoch:
            raise EpochMismatch(
                "The document of the note is of another generation: read the note, and bring your"
                " edits into its document."
            )
        if len(update) > self._limits.update:
            raise DocumentTooLarge(
                f"The update has {len(update)} bytes: {self._limits.update} are taken at most. Save"
                " more often, or copy the text into a new note."
            )
        vector = live.vector()
        checked = check_update(update, vector, draft.state, draft.facts)
        if not checked.changes:
            return None
        self._remember(file_id)
        live.apply(update)
        if live.vector() != checked.state_vector:
            raise DocumentMalformed("The update does not do what it says: encode it anew.")
        text = live.text
        if text == draft.text and vector == checked.state_vector:
            return None
        content = note_text(text)
        self._check_text(text)
        draft.went_on(text, update, checked, epoch_next)
        if draft.bound > self._limits.state:
            draft.bound = len(live.state())
            if draft.bound > self._limits.state:
                raise DocumentTooLarge(
                    f"The document would have {draft.bound} bytes: {self._limits.state} are taken"
                    " at most. Copy the text into a new note."
                )
        self._shed(draft, content)
        return content

    def write(self, file_id: FileId, content: NoteText, epoch_next: Epoch) -> None:
        """As of `octavo.model.documents.document.Documents`."""
        draft = self._draft(file_id)
        self._remember(file_id)
        draft.write(content.text, epoch_next)
        self._shed(draft, content)

    def purged(self, file_id: FileId) -> None:
        """As of `octavo.model.documents.document.Documents`."""
        self._remember(file_id)
        self._drafts.pop(file_id, None)
        self._purged.add(file_id)

    def changed(self) -> list[tuple[FileId, KeptDocument]]:
        """Return the documents that the store does not have as they are now.

        One that would have another text once it is loaded from there begins a new generation with
        the text that it has: devices forged it, with updates that name places which no editor
        names. Who holds it has one text or the other then, by how the updates came.
        """
        for file_id, draft in self._drafts.items():
            if draft.since or draft.written:
                kept = draft.live.kept()
                if draft.foreign and LiveDocument(kept, self._shelf.client).text != draft.text:
                    draft.begin_anew(self._shelf.client)
                    kept = draft.base
                self._changed[file_id] = kept
            elif draft.stored is not draft.base:
                self._changed[file_id] = draft.base
        return [*self._changed.items()]

    def settle(self) -> None:
        """Everything is kept as `changed` told: put the documents on the shelf."""
        for file_id in self._purged:
            self._shelf.take(self._id, file_id)
        for file_id, draft in self._drafts.items():
            stored = self._changed.get(file_id, draft.stored)
            if stored is not None:
                self._shelf.put(self._id, file_id, draft.kept(stored))

    def _draft(self, file_id: FileId) -> BatchDocument:
        if file_id not in self._drafts:
            kept = initial(*self._made[file_id])
            self._drafts[file_id] = BatchDocument.loaded(kept, self._shelf.client)
        return self._drafts[file_id]

    def _remember(self, file_id: FileId) -> None:
        if self._before is not None and file_id not in self._before:
            draft = self._drafts.get(file_id)
            if draft is not None and draft.written:
                draft.rebase()
            self._before[file_id] = None if draft is None else replace(draft)

    def _undo(self, file_id: FileId, before: BatchDocument | None) -> None:
        if before is None:
            self._drafts.pop(file_id, None)
            self._made.pop(file_id, None)
        else:
            self._drafts[file_id] = before.made_again(self._shelf.client)

    def _shed(self, draft: BatchDocument, content: NoteText) -> None:
        if self._limits.outgrown(draft.bound, content.size):
            draft.bound = len(draft.live.state())
        dear = False
        if draft.growth.doubtful:
            draft.growth, dear = draft.growth.counted_anew(draft.live.state)
        if dear or self._limits.outgrown(draft.bound, content.size):
            draft.begin_anew(self._shelf.client)
