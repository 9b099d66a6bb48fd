"""What workspace actors need to work on the documents of notes, and how others read them."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from octavo_rules.documents.document import MergeUpdates
from octavo_rules.identity import WorkspaceId

from octavo.actors.workspace.messages import RebuildDocuments
from octavo.documents import CheckText, DocumentBatch, DocumentCache, merged
from octavo.model.documents.update_log import DocumentLimits
from octavo.store.fair_turns import FairTurns, RunInThread
from octavo.store.queries.files import WholeFile

T = TypeVar("T")
MAX_THREADS = 2
"""Threads for work on documents. Its native code holds the interpreter lock, so a single step still
blocks other tasks; they run between the steps.
"""
MAX_READS = 5
"""How often files are read again while their texts change."""
LOADED_AT_ONCE = 2
"""How many actors have long documents in memory to work on, before they wait for a thread."""
FOLLOWED_AT_ONCE = 8
"""Documents that an actor brings up to date together: each may have megabytes."""


async def inline_offload(work: Callable[[], T]) -> T:
    """Run ``work`` inline, for reproducible runs."""
    return work()


@dataclass(frozen=True, slots=True)
class DocumentServices:
    """The cache and the limits of documents, and where expensive work on them runs.

    Attributes:
        cache: the documents of all workspaces between saves.
        check_text: raises a `octavo_rules.problems.Problem` for a text that no note may have.
        offload: runs work that may take long.
        loading: the turns of those that load long documents.
    """

    cache: DocumentCache
    check_text: CheckText
    limits: DocumentLimits = field(default_factory=DocumentLimits)
    offload: RunInThread = inline_offload
    loading: FairTurns = field(default_factory=partial(FairTurns, LOADED_AT_ONCE, 1))

    def document_batch(self, workspace_id: WorkspaceId) -> DocumentBatch:
        """Return the documents for a new batch of the workspace."""
        return DocumentBatch(workspace_id, self.cache, self.limits, self.check_text)


async def read_current(
    read: Callable[[MergeUpdates | None], Awaitable[T]],
    files_in: Callable[[T], Iterable[WholeFile]],
    follow: Callable[[RebuildDocuments], Awaitable[bool]],
) -> T:
    """Read files whose documents have followed the texts of the heads, and are stored whole.

    Updates are merged here if there are some again: each is merged for one reader at most, however
    costly it is, and devices that go on saving don't keep others from reading.

    Where that fails, or texts are replaced during each of `MAX_READS` attempts, the documents have
    the texts all the same, in another epoch: a device that edits them has to transfer its edits.

    Args:
        read: reads the files with their documents; the argument is that of
            `octavo.store.queries.files.whole_file`.
        files_in: returns the files in the result.
        follow: asks the actor of their workspace; returns whether that has succeeded.

    Raises:
        Exception: what ``read`` and ``follow`` raise.
    """
    found = await read(None)
    for _ in range(MAX_READS):
        files = [*files_in(found)]
        behind = [each.stored.revision.file_id for each in files if each.behind]
        if not behind and not any(each.unread for each in files):
            break
        # They are read again, and may have megabytes until then.
        del files, found
        # One message that names no file records that documents are read.
        for at in range(0, max(len(behind), 1), FOLLOWED_AT_ONCE):
            some = tuple(behind[at : at + FOLLOWED_AT_ONCE])
            if not await follow(RebuildDocuments(some)):
                return await read(merged)
        found = await read(merged)
    return found
