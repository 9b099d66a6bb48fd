"""Services whose documents or indexes are broken on purpose, like those of `broken`."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from octavo_rules.documents.document import ChangedDocument
from octavo_rules.identity import Cursor, FileId, Position, RevisionId, WorkspaceId

from octavo.actors.jobs import indexing
from octavo.actors.workspace.actor import WorkspaceActor
from octavo.documents import DocumentBatch, DocumentCache, LiveDocument
from octavo.documents.document_batch import BatchDocument
from octavo.features.history.sql import history_pruning
from octavo.features.links.sql import link_index
from octavo.features.links.sql.link_index import LinkView
from octavo.model.files.plan import Plan
from octavo.store import Script
from octavo.store.queries import changesets, documents, files, index_backlog
from octavo.store.queries.changesets import commit_changesets
from octavo.store.queries.documents import put_documents
from octavo.store.queries.index_backlog import BacklogStep, StoredStep, commit_step

Break = Callable[[pytest.MonkeyPatch], None]


def keep_what_was_refused(patch: pytest.MonkeyPatch) -> None:
    """The effects of a refused changeset on documents remain."""

    @contextmanager
    def attempt(self: DocumentBatch) -> Iterator[None]:
        yield

    patch.setattr(DocumentBatch, "attempt", attempt)


def take_back_too_much(patch: pytest.MonkeyPatch) -> None:
    """A refused changeset also undoes what others of its batch did to the same document."""

    def rebuilt(self: BatchDocument, client: int) -> BatchDocument:
        return replace(self, live=LiveDocument(self.base, client))

    patch.setattr(BatchDocument, "rebuilt", rebuilt)


def keep_documents_that_others_changed(patch: pytest.MonkeyPatch) -> None:
    """Changes of another process do not reach the documents in memory."""
    refresh = WorkspaceActor._refresh

    async def careless(self: WorkspaceActor) -> object:
        cache, self._cache = self._cache, DocumentCache(lambda: 0)
        try:
            return await refresh(self)
        finally:
            self._cache = cache

    # The cache itself discards documents as well, when others take their place.
    patch.setattr(WorkspaceActor, "_refresh", careless)


def keep_no_documents(patch: pytest.MonkeyPatch) -> None:
    """The documents are left out of the commit."""

    def keep_the_rest(
        workspace_id: WorkspaceId,
        planned_at: Cursor,
        plans: Sequence[Plan],
        now: int,
        documents: Sequence[Any],
        texts: Mapping[RevisionId, bytes],
    ) -> Script[None]:
        return commit_changesets(workspace_id, planned_at, plans, now, (), texts)

    patch.setattr(changesets, "commit_changesets", keep_the_rest)


async def _do_nothing(*_: object) -> None:
    pass


def _store_nothing(*_: object) -> Script[None]:
    return _do_nothing


def let_documents_stay_behind(patch: pytest.MonkeyPatch) -> None:
    """A document does not get the texts that were written since."""
    patch.setattr(DocumentBatch, "follow", lambda *_: None)


def reply_with_what_is_not_stored(patch: pytest.MonkeyPatch) -> None:
    """A document that was brought up to date is given away, and not stored."""
    patch.setattr(changesets, "store_documents", _store_nothing)


def forget_the_documents_of_replaced_texts(patch: pytest.MonkeyPatch) -> None:
    """The document of a note without a stored one is lost with its text."""
    patch.setattr(changesets, "preserve_documents", _do_nothing)


def record_no_readers(patch: pytest.MonkeyPatch) -> None:
    """The first document of a workspace is given away as if others had been."""
    patch.setattr(files, "_READ", "SELECT 1 FROM workspaces WHERE id = $1::uuid")


def ignore_who_was_faster(patch: pytest.MonkeyPatch) -> None:
    """Two processes bring the same document up to date, each with edits of its own."""

    async def put(
        transaction: Any,  # noqa: ANN401
        workspace: int,
        position: Position,
        documents: Sequence[Any],
    ) -> bool:
        unguarded = [each._replace(followed=None) for each in documents]
        return await put_documents(transaction, workspace, position, unguarded)

    patch.setattr(changesets, "put_documents", put)


class _Same:
    """Equals everything."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False


def trust_the_document_in_memory(patch: pytest.MonkeyPatch) -> None:
    """A document in memory follows its note, whatever other processes have stored of it."""
    patch.setattr(DocumentBatch, "content_of", lambda *_: _Same())


def follow_in_name_alone(patch: pytest.MonkeyPatch) -> None:
    """A document is said to have a text that it did not get."""
    patch.setattr(LiveDocument, "edit", lambda *_: None)


async def _find_no_updates(*_: object) -> Mapping[FileId, bytes]:
    return {}


def forget_updates(patch: pytest.MonkeyPatch) -> None:
    """What is to be stored beside a document is not; the document is said to have its text."""
    patch.setattr(documents, "packed", lambda _: b"")


def load_documents_without_their_updates(patch: pytest.MonkeyPatch) -> None:
    """An actor sees what is stored of a document, and not what is stored beside it."""
    patch.setattr(documents, "updates_beside", _find_no_updates)


def give_documents_away_without_their_updates(patch: pytest.MonkeyPatch) -> None:
    """A device that reads a note gets what is stored of its document, and not what is beside."""
    patch.setattr(files, "updates_beside", _find_no_updates)


def append_to_what_is_not_stored(patch: pytest.MonkeyPatch) -> None:
    """Updates of a document that was written since are stored beside the one that was not."""
    change = BatchDocument.change

    def append(self: BatchDocument, *given: Any) -> ChangedDocument | None:  # noqa: ANN401
        if self.kept and self.logged < len(self.since):
            self.stored = self.base
        return change(self, *given)

    patch.setattr(BatchDocument, "change", append)


def take_back_updates_that_are_stored(patch: pytest.MonkeyPatch) -> None:
    """A refused changeset also undoes the updates that were stored beside the same document."""

    def rebuilt(self: BatchDocument, client: int) -> BatchDocument:
        live = LiveDocument(self.base, client, self.since[self.logged :])
        return replace(self, live=live)

    patch.setattr(BatchDocument, "rebuilt", rebuilt)


def keep_pruned_texts_in_updates(patch: pytest.MonkeyPatch) -> None:
    """Retention removes a text, and leaves the updates that it came with."""
    patch.setattr(history_pruning, "merge_updates", _do_nothing)


def leave_deleted_files_in_the_index(patch: pytest.MonkeyPatch) -> None:
    """Deleted files are still found."""

    def keep(step: BacklogStep[Any]) -> Script[StoredStep]:
        live = [
            replace(part, files={name: part.files[name] for name in part.entries})
            for part in step.parts
        ]
        return commit_step(replace(step, parts=live))

    patch.setattr(indexing, "commit_step", keep)


def skip_a_file_at_the_cursor(patch: pytest.MonkeyPatch) -> None:
    """A step that ended within a commit is continued after the next file of the commit."""
    skipping = index_backlog._NEXT.replace("> ($2, $3)", "> ($2, $3 + 1)")
    patch.setattr(index_backlog, "_NEXT", skipping)


def trust_the_link_index(patch: pytest.MonkeyPatch) -> None:
    """Queries see the links that are indexed, whether or not files changed since."""

    async def find_none(*given: object) -> list[FileId]:
        return []

    patch.setattr(link_index, "unindexed_files", find_none)


def trust_what_is_indexed_of_changed_files(patch: pytest.MonkeyPatch) -> None:
    """Queries see the keys of changed files, and those that the index has of them."""
    linking = LinkView.linking

    async def merge(self: LinkView, keys: Iterable[int]) -> set[FileId]:
        asked = frozenset(keys)
        unindexed, self._unindexed = self._unindexed, {}
        try:
            found = await linking(self, asked)
        finally:
            self._unindexed = unindexed
        return found | await linking(self, asked)

    meant = LinkView.meant

    async def trust(self: LinkView, keys: Iterable[str]) -> dict[str, tuple[str, FileId]]:
        unindexed, self._unindexed = self._unindexed, {}
        try:
            return await meant(self, keys)
        finally:
            self._unindexed = unindexed

    patch.setattr(LinkView, "linking", merge)
    patch.setattr(LinkView, "meant", trust)


_LOST = "was kept, and stands 0 times|reads|was refused: document_dependency_missing"
_LOST_EPOCH = "no history was shed|is of .*, the document of|"
_WRONG_LINKS = "the (unresolved )?links .* in place of"
BROKEN_DOCUMENTS: Mapping[Break, str] = {
    keep_what_was_refused: "must be refused|was not kept, and stands|unrenderable_note|reads",
    # A document that was lost is created again, as another generation.
    take_back_too_much: "no history was shed|" + _LOST,
    keep_documents_that_others_changed: "is in memory|" + _LOST,
    let_documents_stay_behind: "the document reads|" + _LOST,
    reply_with_what_is_not_stored: "the document reads|without a fault|" + _LOST,
    forget_the_documents_of_replaced_texts: _LOST_EPOCH + _LOST,
    record_no_readers: _LOST_EPOCH + _LOST,
    ignore_who_was_faster: "the device reads|" + _LOST,
    trust_the_document_in_memory: "the device reads|stands 2 times|" + _LOST,
    follow_in_name_alone: "has the text of another content|the document reads|" + _LOST,
    forget_updates: "has the text of another content|the document reads|" + _LOST,
    load_documents_without_their_updates: "the document reads|out of reach|" + _LOST,
    give_documents_away_without_their_updates: "the document reads|" + _LOST,
    append_to_what_is_not_stored: "has the text of another content|the document reads|" + _LOST,
    take_back_updates_that_are_stored: "has the text of another content|" + _LOST,
    keep_pruned_texts_in_updates: "is in its (document|updates), and its text is gone",
    keep_no_documents: "no history was shed|is of .*, the document of|" + _LOST,
    leave_deleted_files_in_the_index: f"the index (finds|has)|{_WRONG_LINKS}",
    skip_a_file_at_the_cursor: f"the index (finds|has)|{_WRONG_LINKS}",
    trust_the_link_index: _WRONG_LINKS,
    trust_what_is_indexed_of_changed_files: _WRONG_LINKS,
}
"""What is broken, and the message of the first failing schedule."""
