"""Search notes: matches are ranked in a thread, with texts that earlier searches have read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from sys import getsizeof
from typing import NamedTuple, TypeVar

import trio
from octavo_rules.identity import RevisionId, WorkspaceId

from octavo.actors.jobs.indexing import catch_up, renew_damaged
from octavo.features.search.rules import Ranked, finders_of, ranked
from octavo.features.search.sql.fulltext_index import WORDS
from octavo.features.search.sql.searching import candidates
from octavo.model.files.confinement import Confinement
from octavo.model.search.query import ANY_HEAD, HeadFilter, Query
from octavo.model.search.searched_text import SearchedText
from octavo.store import IndexDamaged, Store, StoreUnavailable
from octavo.store.content_cache import ContentCache
from octavo.store.fair_turns import RunInThread
from octavo.store.queries.index_backlog import workspaces_to_index

# A revision has one text and one path.
MAX_BYTES = 16 * 1024 * 1024


class SearchedTexts(ContentCache[RevisionId, SearchedText]):
    """Holds the texts of heads that searches have read last, with the rules of `ContentCache`."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        super().__init__(_size, max_bytes)

    def keep_found(self, notes: Iterable[Ranked], generation: int) -> None:
        """Hold the texts of a search that began in ``generation``."""
        for note in notes:
            if note.candidate.text is not None:
                revision_id = note.candidate.revision_id
                self.keep(revision_id, self.get(revision_id) or note.text, generation)


def _size(text: SearchedText) -> int:
    # A string that is not ASCII also holds its UTF-8 once it was sent: here, the title.
    return getsizeof(text) + sum(map(getsizeof, text)) + len((text.title or "").encode())


R = TypeVar("R")


class Where(NamedTuple):
    """Which notes are searched; see `octavo.features.search.sql.searching.candidates`."""

    workspaces: Sequence[WorkspaceId]
    folder: str | None = None
    within: Confinement | None = None
    heads: HeadFilter = ANY_HEAD


class FoundNotes(NamedTuple):
    """What a search found.

    Attributes:
        notes: the notes, best first.
        more: whether further notes match that were not read.
        complete: whether the index had all changes.
    """

    notes: list[Ranked]
    more: bool
    complete: bool


class NoteSearch:
    """Searches notes.

    Args:
        store: the store of files.
        texts: holds those that searches have read.
        run: runs the ranking, which takes tens of milliseconds of processor time, in a thread.
    """

    def __init__(self, store: Store, texts: SearchedTexts, run: RunInThread) -> None:
        self._store = store
        self._texts = texts
        self._run = run
        self._renewing = trio.Lock()

    async def find(self, query: Query, where: Where, show: Callable[[FoundNotes], R]) -> R:
        """Return the result of ``show``, which is called in a thread with the notes that match.

        Changes that are not indexed yet are indexed first. Nothing else changes, and it may be
        cancelled at any time. Raises `StoreUnavailable`.
        """
        try:
            complete = await catch_up(self._store, WORDS, where.workspaces)
        except StoreUnavailable:
            # A read-only store, such as on a full disk: the existing index is searched.
            complete = False
        generation = self._texts.generation
        script = candidates(
            where.workspaces, query, where.folder, where.within, where.heads, self._texts.contents
        )
        try:
            result = await self._store.read_much(script)
        except IndexDamaged:
            async with self._renewing:
                try:
                    # Another search may have renewed it.
                    result = await self._store.read_much(script)
                except IndexDamaged as error:
                    await renew_damaged(self._store, [WORDS], error)
                    complete = await catch_up(self._store, WORDS, where.workspaces)
                    result = await self._store.read_much(script)
        if complete and not result.candidates:
            # The index of words may have been emptied since, because it was damaged.
            waiting = await self._store.read(workspaces_to_index(WORDS, where.workspaces))
            if waiting:
                complete = await catch_up(self._store, WORDS, waiting)
                result = await self._store.read_much(script)

        def rank() -> tuple[list[Ranked], R]:
            best = ranked(result.candidates, finders_of(query))
            return best, show(FoundNotes(best, result.more, complete))

        best, shown = await self._run(rank)
        self._texts.keep_found(best, generation)
        return shown
