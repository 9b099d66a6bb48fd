"""Read files at their heads, from a cache of the responses that were made of them last.

The devices that are notified of a change read the same note within moments. So the response is
cached, and sent again if the actor of the workspace confirms without waiting that the head is still
the same: it is as current as the database. If the actor is asleep or busy, the database is read.
"""

from collections.abc import Awaitable, Callable
from typing import Generic, NamedTuple, TypeVar

from greenroom import Directory
from octavo_rules.identity import FileId, WorkspaceId

from octavo.actors.workspace.messages import HeadOf, WorkspaceMessage
from octavo.model.files.revision import Revision
from octavo.store import Store
from octavo.store.content_cache import ContentCache
from octavo.store.queries import files
from octavo.store.queries.files import StoredFile

V = TypeVar("V")

MAX_BYTES = 8 * 1024 * 1024
LONGEST_CACHED = 64 * 1024
"""Maximum size in bytes of the content of a cached file."""


class CurrentFile(NamedTuple, Generic[V]):
    """The head of a file, and the value that was made of the file."""

    head: Revision
    value: V


async def unlimited(_size: int) -> None:
    """Reserve no memory."""


class CurrentFiles(Generic[V]):
    """Reads files at their heads.

    Args:
        workspaces: the actors of the workspaces.
        store: the store of files.
        make: returns the value for a file of a workspace, which depends on the file alone; the last
            argument is whether the value will be cached.
        size_of: returns the approximate size of a value in memory, in bytes.
        max_bytes: the size of the cache; 0 if other processes use the store, because this one does
            not learn what they purge.

    Attributes:
        cache: the values that were used last.
    """

    def __init__(
        self,
        workspaces: Directory[WorkspaceId, WorkspaceMessage],
        store: Store,
        make: Callable[[WorkspaceId, StoredFile, bool], V],
        size_of: Callable[[V], int],
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._workspaces = workspaces
        self._store = store
        self._make = make
        self._longest = LONGEST_CACHED if max_bytes else -1
        self.cache: ContentCache[tuple[WorkspaceId, FileId], CurrentFile[V]] = ContentCache(
            lambda current: size_of(current.value), max_bytes
        )

    async def read(
        self,
        workspace_id: WorkspaceId,
        file_id: FileId,
        reserve: Callable[[int], Awaitable[None]] = unlimited,
    ) -> CurrentFile[V] | None:
        """Return a file in any state; None for an unknown one, and in an unknown workspace.

        Not a checkpoint if the file is in the cache. ``reserve`` receives the size of a long text
        before it is read. Raises `StoreUnavailable`, and what ``make`` and ``reserve`` raise.
        """
        key = workspace_id, file_id
        cached = self.cache.get(key)
        head = self._workspaces.answer(workspace_id, HeadOf(file_id), None)
        if cached is not None and head is not None and head.revision_id == cached.head.revision_id:
            return cached
        generation = self.cache.generation
        stored = await self._stored(workspace_id, file_id, head, reserve)
        if stored is None:
            return None
        head = stored.revision
        caches = head.state == "live" and head.size <= self._longest
        current = CurrentFile(head, self._make(workspace_id, stored, caches))
        if caches:
            self.cache.keep(key, current, generation)
        return current

    async def _stored(
        self,
        workspace_id: WorkspaceId,
        file_id: FileId,
        head: Revision | None,
        reserve: Callable[[int], Awaitable[None]],
    ) -> StoredFile | None:
        """Return a file, whose ``head`` is known unless its actor is asleep or busy."""
        if head is None or not _is_long(head):
            stored = await self._store.read(files.file(workspace_id, file_id, LONGEST_CACHED))
            if stored is None or not _is_long(stored.revision):
                return stored
            head = stored.revision
        await reserve(head.size)
        # In a thread, as a long text would block the event loop.
        return await self._store.read_much(files.file(workspace_id, file_id))

    def forget(self) -> None:
        """Empty the cache; called when files were purged, or workspaces deleted."""
        self.cache.clear()


def _is_long(head: Revision) -> bool:
    return head.kind == "note" and head.size > LONGEST_CACHED
