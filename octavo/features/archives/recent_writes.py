"""Whether people write at the moment, so that imports and exports leave them room."""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import trio
from octavo_rules.identity import WorkspaceId

SECONDS = 10.0
"""How long a write counts as recent."""


class RecentWrites:
    """Writes to the workspaces of this process that are no import's.

    ``elapsed`` returns a time in seconds.
    """

    def __init__(self, elapsed: Callable[[], float] = trio.current_time) -> None:
        self._elapsed = elapsed
        self._last = -math.inf
        self._importing: Counter[WorkspaceId] = Counter()

    @contextmanager
    def importing(self, workspace_id: WorkspaceId) -> Iterator[None]:
        """Take the commits to a workspace for those of an import, which reports the others.

        Those of a second import to the same workspace are others to it.
        """
        self._importing[workspace_id] += 1
        try:
            yield
        finally:
            self._importing[workspace_id] -= 1
            if not self._importing[workspace_id]:
                del self._importing[workspace_id]

    def committed(self, workspace_id: WorkspaceId) -> None:
        """Record a commit to a workspace, unless it is taken for one of an import."""
        if workspace_id not in self._importing:
            self.wrote()

    def wrote(self) -> None:
        """Record a write that is no import's."""
        self._last = self._elapsed()

    def recent(self) -> bool:
        """Return whether one was recorded in the last `SECONDS`."""
        return self._elapsed() - self._last < SECONDS
