"""The maps of the workspaces whose links are being read."""

from collections import OrderedDict
from itertools import count

import trio
from octavo_rules.identity import START, Cursor

from octavo.features.publishing.sql.site_changes import changed_since
from octavo.features.publishing.workspace_map import WorkspaceMap
from octavo.store import Store

MOST_FILES = 100_000
"""Files in memory of all workspaces together; one more workspace than fits is kept."""
_STEP = 200


class WorkspaceMaps:
    """Maps workspaces, and brings the maps up to date.

    Args:
        store: the database.
        most_files: in memory.
    """

    def __init__(self, store: Store, *, most_files: int = MOST_FILES) -> None:
        self._store = store
        self._most_files = most_files
        self._maps: OrderedDict[int, WorkspaceMap] = OrderedDict()
        # A map that was dropped and read again has other shapes: pages are kept by them.
        self._shapes = count()
        self._locks: dict[int, trio.Lock] = {}
        # Since `drop_unused`.
        self._unused: set[int] = set()

    async def get(self, workspace: int, cursor: Cursor) -> WorkspaceMap:
        """Return the map of a workspace, exact at ``cursor``, which it had, or a later one.

        ``workspace`` is its number. Use the map before the next checkpoint, after which it may have
        changed. Raises `octavo.store.StoreUnavailable`. If cancelled, it is read again.
        """
        found = self._maps.get(workspace)
        if found is None or found.cursor != cursor:
            found = await self._updated(workspace, cursor)
        if workspace in self._maps:
            self._maps.move_to_end(workspace)
            self._unused.discard(workspace)
        return found

    def drop_unused(self) -> None:
        """Forget the maps that were not used since the call before: they may be of deleted ones."""
        for workspace in self._unused:
            self._maps.pop(workspace, None)
        self._unused = {*self._maps}

    async def _updated(self, workspace: int, cursor: Cursor) -> WorkspaceMap:
        lock = self._locks.setdefault(workspace, trio.Lock())
        try:
            async with lock:
                found = self._maps.get(workspace)
                if found is not None and found.cursor == cursor:
                    return found
                if found is None:
                    found = WorkspaceMap(self._shapes)
                changed = await self._store.read_much(changed_since(workspace, found.cursor))
                if changed is None:
                    # The history of the database was taken back.
                    found = WorkspaceMap(self._shapes)
                    changed = await self._store.read_much(changed_since(workspace, START))
                assert changed is not None
                reached, changes = changed
                if reached == START and len(found):
                    # The workspace is gone, and another one may get its number.
                    found = WorkspaceMap(self._shapes)
                if len(changes) > _STEP:
                    # Nobody else sees a map that is not complete.
                    self._maps.pop(workspace, None)
                for at in range(0, len(changes), _STEP):
                    if at:
                        await trio.lowlevel.checkpoint()
                    for change in changes[at : at + _STEP]:
                        found.put(change)
                found.cursor = reached
                self._maps[workspace] = found
                self._drop_some()
                return found
        finally:
            if not lock.statistics().tasks_waiting and not lock.locked():
                self._locks.pop(workspace, None)

    def _drop_some(self) -> None:
        total = sum(map(len, self._maps.values()))
        while total > self._most_files and len(self._maps) > 1:
            _, dropped = self._maps.popitem(last=False)
            total -= len(dropped)
