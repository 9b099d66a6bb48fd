"""Restore a workspace, or a folder of it, to a moment: look ahead, begin, and follow."""

from collections.abc import Callable
from typing import NamedTuple

import trio
from octavo_rules.identity import AccountId, MutationId, Position, WorkspaceId

from octavo.features.history.job import RestoringJob, changeset_ids, plan
from octavo.features.history.rules.restoration import Begun, Restoration, moved_away
from octavo.features.history.sql import past_states, restorations
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

    def is_of(self, stored: restorations.StoredRestoration) -> bool:
        """Return whether an equal request started the restoration."""
        target = stored.asked.target if self.position is None else self.position
        return restorations.RestorationAsked(self.moment, target, self.folder) == stored.asked


class RestorationOutlook(NamedTuple):
    """What a restoration would do at present.

    Attributes:
        position: the position whose state would return.
        present: the position of the workspace.
        planned: what happens to the files.
    """

    position: Position
    present: Position
    planned: Restoration


class PositionUnknown(Exception):
    """The workspace has no such position yet."""


class Restorations:
    """Restorations of workspaces, for callers who may write to them.

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
    ) -> restorations.StoredRestoration:
        """Restore, and return how far it is at its end or after `WAITING_SECONDS`.

        It is one changeset if that is enough, and continues when the caller is cancelled. A
        repeated request continues one that has failed, for the account that repeats it, and returns
        any other as it is. Raises the errors of `outlook`, and `MutationReused`.
        """
        key = restorations.RestorationKey(workspace_id, mutation_id)
        stored = await self._store.read(restorations.find(key))
        if stored is None:
            await self._begin(key, account_id, asked)
        elif not asked.is_of(stored):
            raise MutationReused
        elif stored.state == "failed":
            await self._store.write(restorations.resume(key, account_id, self._ms()))
        if stored is None or stored.state != "done":
            wait = self._job.start(key)
            with trio.move_on_after(WAITING_SECONDS):
                await wait()
        stored = await self._store.read(restorations.find(key))
        if stored is None:
            raise WorkspaceGone
        if not asked.is_of(stored):
            raise MutationReused
        return await self._with_moved_away(stored)

    async def find(
        self, workspace_id: WorkspaceId, restoration_id: str
    ) -> restorations.StoredRestoration | None:
        """Return a restoration; None without it. Raises `StoreUnavailable`."""
        key = restorations.RestorationKey(workspace_id, MutationId(restoration_id))
        stored = await self._store.read(restorations.find(key))
        return None if stored is None else await self._with_moved_away(stored)

    async def newest(
        self, workspace_id: WorkspaceId, before: tuple[int, str], limit: int
    ) -> list[restorations.StoredRestoration]:
        """Return restorations that began before another, by its time (ms) and id; latest first.

        They have no `skipped_files`. Raises `StoreUnavailable`.
        """
        return await self._store.read(restorations.newest(workspace_id, before, limit))

    async def _with_moved_away(
        self, stored: restorations.StoredRestoration
    ) -> restorations.StoredRestoration:
        """Add to a failed restoration the files that it has deleted for now."""
        if stored.state != "failed" or not stored.steps:
            return stored
        script = past_states.states_since(stored.key.workspace_id, stored.asked.target)
        states = await self._store.read_much(script)
        own = changeset_ids(stored.key, stored.steps)
        left = moved_away(states.changed, Begun(stored.start_position, own))
        named = tuple(
            restorations.NamedFile(file.head.file_id, file.head.path, file.reason)
            for file in left[: restorations.MAX_LEFT]
        )
        return stored._replace(skipped_files=named, skipped_count=len(left))

    async def _begin(
        self, key: restorations.RestorationKey, account_id: AccountId, asked: RestorationRequest
    ) -> None:
        """Record a restoration, unless another request just has."""
        used = await self._store.read(receipts(key.workspace_id, [key.restoration_id]))
        if used:
            raise MutationReused
        outlook = await self.outlook(key.workspace_id, asked)
        total = len(outlook.planned.reversions)
        resolved = restorations.RestorationAsked(asked.moment, outlook.position, asked.folder)
        await self._store.write(
            restorations.begin(key, account_id, resolved, outlook.present, total, self._ms())
        )

    async def _past(
        self, workspace_id: WorkspaceId, asked: RestorationRequest
    ) -> past_states.PastPosition:
        if asked.moment is not None:
            if asked.moment < self.earliest:
                raise HistoryPruned(self.earliest)
            past = await self._store.read_much(past_states.position_at(workspace_id, asked.moment))
        else:
            position = Position(0) if asked.position is None else asked.position
            past = await self._store.read(past_states.past_position(workspace_id, position))
            if past is not None and position > past.present:
                raise PositionUnknown
            first = None if past is None else past.changed_at
            if first is not None and first < self.earliest:
                raise HistoryPruned(self.earliest)
        if past is None:
            raise WorkspaceGone
        return past

    def _ms(self) -> int:
        return int(self._now() * 1000)
