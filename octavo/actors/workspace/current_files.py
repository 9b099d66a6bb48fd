"""Read files at their heads: what was made of those that were read last is at hand.

Devices that are told of a change read the same note within moments. So what was made of a file is
remembered, and given again when the actor of its workspace says at once that the head is the same:
it is as current as the database. Where the actor is asleep or busy, the database is read.
"""

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from octavo.actors.core import Directory
from octavo.actors.workspace.actor import WorkspaceActor
from octavo.actors.workspace.messages import HeadOf
from octavo.model.files.revision import Revision
from octavo.model.identity import FileId, WorkspaceId
from octavo.store import Store
from octavo.store.content_cache import ContentCache
from octavo.store.scripts import files
from octavo.store.scripts.files import StoredFile

V = TypeVar("V")

MAX_BYTES = 8 * 1024 * 1024
MAX_BYTES_OF_ONE = 256 * 1024
"""Of what is made of a file that is remembered."""


class CurrentFile(NamedTuple, Generic[V]):
    """The head of a file, and what was made of it with its text."""

    head: Revision
    made: V


class CurrentFiles(Generic[V]):
    """Reads files at their heads.

    Args:
        workspaces: the actors of the workspaces.
        store: the store of files.
        make: returns what is made of a file of a workspace. It depends on its arguments alone.
        size_of: returns the approximate bytes in memory of what was made.
        max_bytes: of all that is remembered; 0 where other processes use the store, whose purges
            this one does not learn of.
    """

    def __init__(
        self,
        workspaces: Directory[WorkspaceId, WorkspaceActor],
        store: Store,
        make: Callable[[WorkspaceId, StoredFile], V],
        size_of: Callable[[V], int],
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._workspaces = workspaces
        self._store = store
        self._make = make
        self._size_of = size_of
        self.remembered: ContentCache[tuple[WorkspaceId, FileId], CurrentFile[V]] = ContentCache(
            lambda found: size_of(found.made), max_bytes
        )

    async def read(self, workspace_id: WorkspaceId, file_id: FileId) -> CurrentFile[V] | None:
        """Return a file in any state; None without the file.

        Not a checkpoint when the file is remembered. Raises `StoreUnavailable`, and what ``make``
        raises.
        """
        key = workspace_id, file_id
        known = self.remembered.get(key)
        if known is not None:
            head = self._workspaces.answer(workspace_id, HeadOf(file_id), None)
            if head is not None and head.revision_id == known.head.revision_id:
                return known
        generation = self.remembered.generation
        stored = await self._store.read(files.file(workspace_id, file_id))
        if stored is None:
            return None
        found = CurrentFile(stored.revision, self._make(workspace_id, stored))
        if stored.revision.state == "live" and self._size_of(found.made) <= MAX_BYTES_OF_ONE:
            self.remembered.keep(key, found, generation)
        return found

    def forget(self) -> None:
        """Forget what is remembered; whoever purges files calls it."""
        self.remembered.clear()
