"""The searches of a process, and the texts that they hold, as in a server."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import TypeVar

import trio
from octavo_rules.identity import FileId, RevisionId, WorkspaceId

from octavo.features.search.note_search import FoundNotes, NoteSearch, SearchedTexts, Where
from octavo.model.files.revision import Revision
from octavo.model.search.query import Query
from octavo.store import Store

T = TypeVar("T")

MAX_BYTES = 1 << 20
"""More than the texts of a run."""
SECONDS = (0, 0.5)
"""In which what is found is ranked."""


class ProcessSearches:
    """Searches in one process.

    Args:
        store: the database.
        random: decides how long it takes to rank what is found.
        shared: whether other processes use it. One of several would not learn what others purge,
            and holds nothing.
    """

    def __init__(self, store: Store, random: Random, *, shared: bool) -> None:
        self._texts = SearchedTexts(0 if shared else MAX_BYTES)
        self._notes = NoteSearch(store, self._texts, self._rank)
        self._random = random
        self._files: dict[RevisionId, tuple[WorkspaceId, FileId]] = {}

    async def find(self, query: Query, workspaces: Sequence[WorkspaceId]) -> FoundNotes:
        """Return the notes that match; raise `StoreUnavailable`."""
        found = await self._notes.find(query, Where(workspaces), lambda found: found)
        for each in found.notes:
            note = each.candidate
            self._files[note.revision_id] = note.workspace_id, note.file_id
        return found

    def forget(self) -> None:
        """Hold no text any longer; called when files were purged."""
        self._texts.clear()

    def faults_of_held(self, workspace_id: WorkspaceId, heads: Iterable[Revision]) -> Iterator[str]:
        """Return the texts that are held of purged files, whose heads are among ``heads``."""
        purged = {each.file_id for each in heads if each.state == "purged"}
        if not purged:
            return
        for revision_id in self._texts.contents:
            workspace, file_id = self._files.get(revision_id, ("", ""))
            if workspace == workspace_id and file_id in purged:
                yield f"searches hold the text of {revision_id}, though {file_id} was purged"

    async def _rank(self, work: Callable[[], T]) -> T:
        done = work()
        await trio.sleep(self._random.choice(SECONDS))
        return done
