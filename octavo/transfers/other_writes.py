"""Whether others write at the moment, so that bulk work leaves them room."""

import trio

from octavo.model.identity import WorkspaceId

SECONDS = 10.0
"""How long a workspace counts as written to after a commit."""


class OtherWrites:
    """The workspaces of this process that were written to in the last `SECONDS`."""

    def __init__(self) -> None:
        # The time of the last commit of each, in the order of these times.
        self._last: dict[WorkspaceId, float] = {}

    def wrote(self, workspace_id: WorkspaceId) -> None:
        """Record a commit to a workspace."""
        now = trio.current_time()
        self._last.pop(workspace_id, None)
        self._last[workspace_id] = now
        while (first := next(iter(self._last))) and self._last[first] <= now - SECONDS:
            del self._last[first]

    def besides(self, workspace_id: WorkspaceId) -> bool:
        """Return whether another workspace than ``workspace_id`` was written to."""
        since = trio.current_time() - SECONDS
        for each, time in reversed(self._last.items()):
            if time <= since:
                return False
            if each != workspace_id:
                return True
        return False
