"""What the actors of workspaces need for the documents of notes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import trio

from octavo.documents import BatchDocuments, DocumentCache
from octavo.model.documents.limits import DocumentLimits
from octavo.model.identity import WorkspaceId

T = TypeVar("T")

MOST_THREADS = 2


class Offload(Protocol):
    """Does work that may take long for whoever waits; what the work raises comes out."""

    async def __call__(self, work: Callable[[], T]) -> T:
        """Return what ``work`` returns. Cancellation waits until it has ended."""


class Threads:
    """Does it in a thread, some at once.

    The native code of the documents keeps Python's lock, so that one of its steps still holds up
    everybody; between the steps the others have their turn.
    """

    def __init__(self) -> None:
        self._limiter = trio.CapacityLimiter(MOST_THREADS)

    async def __call__(self, work: Callable[[], T]) -> T:
        """As of `Offload`."""
        return await trio.to_thread.run_sync(work, limiter=self._limiter)


async def inline_offload(work: Callable[[], T]) -> T:
    """Do it here and now, for runs that must repeat exactly; as of `Offload`."""
    return work()


@dataclass(frozen=True, slots=True)
class DocumentServices:
    """Works on documents.

    Attributes:
        shelf: where those of all workspaces stay between saves.
        check_text: raises a `octavo.model.refusal.Refusal` for a text that no note may have.
        offload: where work that may take long is done.
    """

    shelf: DocumentCache
    check_text: Callable[[str], None]
    limits: DocumentLimits = field(default_factory=DocumentLimits)
    offload: Offload = inline_offload

    def drafts(self, workspace_id: WorkspaceId) -> BatchDocuments:
        """Return new drafts for a batch of the workspace."""
        return BatchDocuments(workspace_id, self.shelf, self.limits, self.check_text)
