"""Restore a workspace, or a folder of it, to a moment: look ahead, begin, and follow."""

from collections.abc import Callable
from typing import NamedTuple

import trio
from octavo_rules.identity import AccountId, MutationId, Position, WorkspaceId

from octavo.features.history.job import RestoringJob, changeset_ids, plan
from octavo.features.history.rules.restoration import Begun, Restoration, moved_away
from octavo.features.history.sql import past_states, restorations
from octavo.features.history.sql.restorations import (
    MAX_LEFT,
    NamedFile,
    RestorationAsked,
    RestorationKey,
    StoredRestoration,
)
from octavo.features.history.undo import HistoryPruned
from octavo.model.refusal import MutationReused
from octavo.store import Store
from octavo.store.queries.changesets import WorkspaceGone, receipts

WAITING_SECONDS = 10.0
"""Seconds that a request waits for the end of its restoration."""


class RestorationRequest(NamedTuple):
    """What a client asks for: the state at a moment (ms), or after a position.

    An empty folder stands for all files.
    """

    moment: int | None
    position: Position | None
    folder: str

    def is_of(self, found: StoredRestoration) -> bool:
        """Return whether a restoration was asked for in these words."""
        target = found.asked.target if self.position is None else self.position
        return RestorationAsked(self.moment, target, self.folder) == found.asked


class RestorationOutlook(NamedTuple):
    """What a restoration would do at present.

    Attributes:
        position: the position whose state would return.
        present: the position of the workspace.
        planned: the files.
    """

    position: Position
    present: Position
    planned: Restoration


class PositionUnknown(Exception):
    """The workspace has no such position yet."""


class Restorations:
    """Restorations of workspaces; the callers may change these.

    Args:
        store: the store of the workspaces.
        job: runs them.
        now: returns Unix time in seconds.
        kept: milliseconds for which all revisions are stored.
    """

    def __init__(
        self, store: Store, job: RestoringJob, *, now: Callable[[], float], kept: int
    ) -> None:
        self._store = store
        self._job = job
        self._now = now
        self._kept = kept

    @property
    def earliest(self) -> int:
        """The first moment that can be restored, in milliseconds."""
        return self._ms() - self._kept

    async def outlook(
        self, workspace_id: WorkspaceId, asked: RestorationRequest
    ) -> RestorationOutlook:
        """Return what a restoration would do at present. Changes nothing.

        Raises `HistoryPruned`, `PositionUnknown`, `WorkspaceGone` and `StoreUnavailable`.
        """
        past = await self._past(workspace_id, asked)
        states = await self._store.read_much(past_states.states_since(workspace_id, past.position))
        planned = await plan(states, asked.folder)
        return RestorationOutlook(past.position, past.present, planned)

    async def begin(
        self,
        workspace_id: WorkspaceId,
        account_id: AccountId,
        asked: RestorationRequest,
        mutation_id: MutationId,
    ) -> StoredRestoration:
        """Restore, and return how far it is at its end or after `WAITING_SECONDS`.

        It is one changeset if that is enough, and goes on when the caller is cancelled. When it is
        asked for again, it goes on if it has failed, as the account that asks now, and is returned
        as it is otherwise. Raises what `outlook` raises, and `MutationReused`.
        """
        key = RestorationKey(workspace_id, mutation_id)
        found = await self._store.read(restorations.find(key))
        if found is None:
            await self._begin(key, account_id, asked)
        elif not asked.is_of(found):
            raise MutationReused
        elif found.state == "failed":
            await self._store.write(restorations.resume(key, account_id, self._ms()))
        if found is None or found.state != "done":
            wait = self._job.start(key)
            with trio.move_on_after(WAITING_SECONDS):
                await wait()
        found = await self._store.read(restorations.find(key))
        if found is None:
            raise WorkspaceGone
        if not asked.is_of(found):
            raise MutationReused
        return await self._with_moved_away(found)

    async def find(
        self, workspace_id: WorkspaceId, restoration_id: str
    ) -> StoredRestoration | None:
        """Return a restoration; None without it. Raises `StoreUnavailable`."""
        key = RestorationKey(workspace_id, MutationId(restoration_id))
        found = await self._store.read(restorations.find(key))
        return None if found is None else await self._with_moved_away(found)

    async def newest(
        self, workspace_id: WorkspaceId, before: tuple[int, str], limit: int
    ) -> list[StoredRestoration]:
        """Return restorations that began before another, by its time (ms) and id; latest first.

        They name no files. Raises `StoreUnavailable`.
        """
        return await self._store.read(restorations.newest(workspace_id, before, limit))

    async def _with_moved_away(self, found: StoredRestoration) -> StoredRestoration:
        """Name the files that one has deleted for now that has failed."""
        if found.state != "failed" or not found.steps:
            return found
        script = past_states.states_since(found.key.workspace_id, found.asked.target)
        states = await self._store.read_much(script)
        own = changeset_ids(found.key, found.steps)
        left = moved_away(states.changed, Begun(found.start_position, own))
        named = tuple(
            NamedFile(each.head.file_id, each.head.path, each.reason) for each in left[:MAX_LEFT]
        )
        return found._replace(skipped_files=named, skipped_count=len(left))

    async def _begin(
        self, key: RestorationKey, account_id: AccountId, asked: RestorationRequest
    ) -> None:
        """Record a restoration, unless another request just has."""
        used = await self._store.read(receipts(key.workspace_id, [key.restoration_id]))
        if used:
            raise MutationReused
        outlook = await self.outlook(key.workspace_id, asked)
        total = len(outlook.planned.reversions)
        given = RestorationAsked(asked.moment, outlook.position, asked.folder)
        await self._store.write(
            restorations.begin(key, account_id, given, outlook.present, total, self._ms())
        )

    async def _past(
        self, workspace_id: WorkspaceId, asked: RestorationRequest
    ) -> past_states.PastPosition:
        if asked.moment is not None:
            if asked.moment < self.earliest:
                raise HistoryPruned(self.earliest)
            found = await self._store.read_much(past_states.position_at(workspace_id, asked.moment))
        else:
            position = Position(0) if asked.position is None else asked.position
            found = await self._store.read(past_states.past_position(workspace_id, position))
            if found is not None and position > found.present:
                raise PositionUnknown
            first = None if found is None else found.changed_at
            if first is not None and first < self.earliest:
                raise HistoryPruned(self.earliest)
        if found is None:
            raise WorkspaceGone
        return found

    def _ms(self) -> int:
        return int(self._now() * 1000)
