"""Services whose documents or indexes are broken on purpose, like those of `broken`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from octavo.actors.workspace import actor
from octavo.actors.workspace.actor import WorkspaceActor
from octavo.documents import DocumentBatch, DocumentCache, LiveDocument
from octavo.model.files.plan import Plan
from octavo.model.identity import FileId, Position, WorkspaceId
from octavo.store import Script
from octavo.store.scripts import link_index
from octavo.store.scripts.changesets import commit_changesets

Break = Callable[[pytest.MonkeyPatch], None]


def keep_what_was_refused(patch: pytest.MonkeyPatch) -> None:
    """The effects of a refused changeset on documents remain."""

    @contextmanager
    def attempt(self: DocumentBatch) -> Iterator[None]:
        yield

    patch.setattr(DocumentBatch, "attempt", attempt)


def take_back_too_much(patch: pytest.MonkeyPatch) -> None:
    """A refused changeset also undoes what others of its batch did to the same document."""

    def undo(self: DocumentBatch, file_id: FileId, before: Any) -> None:  # noqa: ANN401
        if before is None:
            self._documents.pop(file_id, None)
            self._made.pop(file_id, None)
        else:
            live = LiveDocument(before.base, self._cache.client)
            self._documents[file_id] = replace(before, live=live)

    patch.setattr(DocumentBatch, "_undo", undo)


def keep_documents_that_others_changed(patch: pytest.MonkeyPatch) -> None:
    """Changes of another process do not reach the documents in memory."""
    refresh = WorkspaceActor._refresh

    async def careless(self: WorkspaceActor) -> object:
        cache, self._cache = self._cache, DocumentCache(0)
        try:
            return await refresh(self)
        finally:
            self._cache = cache

    patch.setattr(WorkspaceActor, "_refresh", careless)


def keep_no_documents(patch: pytest.MonkeyPatch) -> None:
    """The documents are left out of the commit."""

    def keep_the_rest(
        workspace_id: WorkspaceId,
        planned_at: Position,
        plans: Sequence[Plan],
        now: int,
        documents: Sequence[Any],
    ) -> Script[None]:
        return commit_changesets(workspace_id, planned_at, plans, now)

    patch.setattr(actor, "commit_changesets", keep_the_rest)


def leave_deleted_files_in_the_index(patch: pytest.MonkeyPatch) -> None:
    """Deleted files are still found."""

    async def forget(*given: object) -> None:
        pass

    patch.setattr(link_index, "_remove", forget)


_LOST = "was kept, and stands 0 times|reads|was refused: document_dependency_missing"
BROKEN_DOCUMENTS: Mapping[Break, str] = {
    keep_what_was_refused: "must be refused|was not kept, and stands|unrenderable_note|reads",
    take_back_too_much: _LOST,
    keep_documents_that_others_changed: _LOST,
    keep_no_documents: "no history was shed|is of .*, the document of|" + _LOST,
    leave_deleted_files_in_the_index: "the index (finds|has)",
}
"""What is broken, and the message of the first failing schedule."""
