"""What workspace actors need to work on the documents of notes, and how others read them."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import trio

from octavo.actors.workspace.messages import FollowTexts
from octavo.documents import DocumentBatch, DocumentCache
from octavo.model.documents.limits import DocumentLimits
from octavo.model.identity import WorkspaceId
from octavo.store import StoreUnavailable
from octavo.store.scripts.files import WholeFile

T = TypeVar("T")
MAX_THREADS = 2
MAX_READS = 20
"""How often files are read while their texts change, before that fails."""


class Offload(Protocol):
    """Runs work that may take long; exceptions of the work propagate."""

    async def __call__(self, work: Callable[[], T]) -> T:
        """Return what ``work`` returns. Cancellation is deferred until the work has ended."""


class Threads:
    """Runs work in a thread, a limited number at a time.

    The native code of the documents holds the interpreter lock, so a single step of it still
    blocks other tasks; they run between the steps.
    """

    def __init__(self) -> None:
        self._limiter = trio.CapacityLimiter(MAX_THREADS)

    async def __call__(self, work: Callable[[], T]) -> T:
        """Run ``work`` in a thread; see `Offload`."""
        return await trio.to_thread.run_sync(work, limiter=self._limiter)


async def inline_offload(work: Callable[[], T]) -> T:
    """Run ``work`` inline, for reproducible runs; see `Offload`."""
    return work()


@dataclass(frozen=True, slots=True)
class DocumentServices:
    """The cache and the limits of documents, and where expensive work on them runs.

    Attributes:
        cache: the documents of all workspaces between saves.
        check_text: raises a `octavo.model.refusal.DomainError` for a text that no note may have.
        offload: runs work that may take long.
    """

    cache: DocumentCache
    check_text: Callable[[str], None]
    limits: DocumentLimits = field(default_factory=DocumentLimits)
    offload: Offload = inline_offload

    def document_batch(self, workspace_id: WorkspaceId) -> DocumentBatch:
        """Return the documents for a new batch of the workspace."""
        return DocumentBatch(workspace_id, self.cache, self.limits, self.check_text)


async def read_current(
    read: Callable[[], Awaitable[T]],
    files_in: Callable[[T], Iterable[WholeFile]],
    follow: Callable[[FollowTexts], Awaitable[None]],
) -> T:
    """Read files whose documents have the texts of the heads.

    Args:
        read: reads the files with their documents.
        files_in: returns the files in the result.
        follow: asks the actor of their workspace.

    Raises:
        StoreUnavailable: the texts were replaced during each of `MAX_READS` attempts, or ``read``
            raised it.
        Exception: what ``follow`` raises.
    """
    for _ in range(MAX_READS):
        found = await read()
        files = [*files_in(found)]
        behind = tuple(each.stored.revision.file_id for each in files if each.behind)
        if not behind and not any(each.unread for each in files):
            return found
        await follow(FollowTexts(behind))
    raise StoreUnavailable("These notes change too often to read their documents; try again.")
