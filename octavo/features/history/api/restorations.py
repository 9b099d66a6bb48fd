"""Restore a workspace, or a folder of it, to a moment."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Literal

from octavo_rules.identity import WRITE, MutationId, Position
from octavo_rules.problems import InvalidRequest, NotFound
from pydantic import Field
from pydantic_core import MISSING

from octavo.access.workspaces import Access
from octavo.features.history.restorations import PositionUnknown, RestorationRequest, Restorations
from octavo.features.history.rules.restoration import LeftFile, LeftReason
from octavo.features.history.rules.reversion import Action, Reversion
from octavo.features.history.sql.restorations import MAX_LEFT, StoredRestoration
from octavo.features.history.undo import HistoryPruned
from octavo.http import contract
from octavo.http.callers import caller_of
from octavo.http.file_schemas import FolderPath, WorkspacePath
from octavo.model.files.path import parse_folder
from octavo.model.refusal import InvalidPath, MutationReused
from octavo.store.queries.changesets import WorkspaceGone

_LONGEST_BODY = 16_384
_HIGHEST = (1 << 53) - 1
# The first page of the list starts before this time, which no restoration reaches.
_LATEST = (1 << 49) - 1
_HIGHEST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff"
_ONE_OF_BOTH = "Give a moment or a position, and not both."
_NOT_KEPT = "Earlier revisions may have been removed: give a moment after {}."
_NOT_REACHED = "The workspace has no such position yet."

RestoredPosition = Annotated[int, Field(ge=0, le=_HIGHEST), contract.WHOLE]


class RestorationQuery(contract.PageQuery):
    """What would be restored, and which page of the files is listed."""

    moment: contract.GivenTime | None = None
    """The moment whose state would return; younger than the days for which all revisions are kept.
    """
    position: Annotated[int, Field(ge=0, le=_HIGHEST), contract.IN_DIGITS] | None = None
    """In place of a moment: the position of the changeset after which the files had the state."""
    folder: FolderPath = ""
    """Only the files of this folder."""


class RestorationInput(contract.Model):
    """What is to be restored."""

    moment: contract.GivenTime | MISSING = MISSING
    """The moment whose state returns; younger than the days for which all revisions are kept."""
    position: RestoredPosition | MISSING = MISSING
    """In place of a moment: the position of the changeset after which the files had the state."""
    folder: FolderPath = ""
    """Only the files of this folder: those that are in it now, or were in it at the moment."""
    mutation_id: contract.Identifier | MISSING = MISSING
    """Makes the restoration repeatable, and is its id: sent again, it has one effect. One that has
    failed goes on as the account that sends it again: any member who may write can.
    """


class LeftFileSchema(contract.Model):
    """A file that is left as it is."""

    file_id: contract.Identifier
    path: str | None
    """Its present path, or its last one if it is deleted; null for a purged file."""
    reason: LeftReason
    """Others changed it since the restoration began; another file has its path; it was purged; its
    earlier text exceeds a present limit; or it is still deleted, as the restoration had to make
    room: it comes back when one that failed goes on, and in one that is done, others have taken
    its former path, too, or its former text exceeds a limit.
    """


class PlannedReturn(contract.Model):
    """A file that would return to its state at the moment."""

    file_id: contract.Identifier
    path: str
    """Its present path, or its last one if it is deleted."""
    action: Action
    """It would be deleted, as it did not exist; restored, as it was deleted since; or get its
    earlier text or path back.
    """
    path_after: str | None
    """The path that it would have; null if it would be deleted."""


class RestorationPreview(contract.ListPage[PlannedReturn]):
    """What a restoration would do at present; the items are the files, in the order of paths."""

    position: int
    """The position whose state would return: a restoration to it does not depend on clocks."""
    deleted: int
    """How many files would be deleted."""
    restored: int
    """How many deleted files would come back."""
    reverted: int
    """How many files would get their earlier text or path back."""
    left: list[LeftFileSchema]
    """The files that would be left as they are, at most 500."""
    left_count: int
    """How many files would be left."""


class RestorationFailureSchema(contract.Model):
    """Why a restoration was stopped."""

    code: str
    detail: str


class ListedRestoration(contract.Model):
    """A restoration as the list has it."""

    restoration_id: contract.Identifier
    """The mutation id of the request."""
    state: Literal["running", "done", "failed"]
    """One that failed goes on when it is asked for again, by anybody who may write."""
    account_id: contract.Identifier
    """Who started it."""
    continued_by: contract.Identifier | None
    """Who had it go on last, after it failed: its later changesets are theirs, and need their
    permission. Null if it did not.
    """
    moment: contract.Timestamp | None
    """Null when a position was given."""
    position: int
    """The position whose state returns."""
    folder: str
    """Empty for all files."""
    position_before: int
    """The position of the workspace when the restoration began: to undo it, restore this one."""
    position_after: int
    """The position of its last changeset so far; ``positionBefore`` before the first."""
    total: int
    """The number of files to return when it began."""
    done: int
    """The number of files that have returned."""
    left_count: int
    """How many files were left; in the list, 0 until it is done."""
    failure: RestorationFailureSchema | None
    """Null unless it failed."""
    started_at: contract.Timestamp
    ended_at: contract.Timestamp | None
    """Null until it is done."""


class RestorationSchema(ListedRestoration):
    """A restoration, and how far it is."""

    left: list[LeftFileSchema]
    """The files that were left as they are, at most 500; empty until it is done."""


class RestorationList(contract.ListPage[ListedRestoration]):
    """Restorations, the latest first."""


class RestorationPath(WorkspacePath):
    """A restoration."""

    restoration_id: Annotated[str, contract.IN_PATH]


class RestorationOperations:
    """Restorations of workspaces.

    Args:
        restorations: the use case.
        access: checks the members.
        new_id: generates the id of a restoration without one.
    """

    def __init__(
        self, restorations: Restorations, access: Access, new_id: Callable[[], str]
    ) -> None:
        self._restorations = restorations
        self._access = access
        self._new_id = new_id

    @contract.operation(
        id="previewRestoration",
        method="GET",
        path="/api/workspaces/{workspaceId}/restorations/preview",
        tag="files",
        summary="Preview the restoration of a workspace to a moment",
        scope=WRITE,
        problems=(NotFound, InvalidPath),
    )
    async def preview_restoration(
        self, call: contract.Call, path: WorkspacePath, query: RestorationQuery
    ) -> RestorationPreview:
        """Return what a restoration would do."""
        workspace_id = await self._access.workspace(caller_of(call), path.workspace_id, "write")
        after = contract.read_cursor(query.after, 2, identifier=1)
        moment = None if query.moment is None else contract.milliseconds_of(query.moment)
        asked = _asked(moment, query.position, query.folder, "/query")
        with _explained("/query"):
            outlook = await self._restorations.outlook(workspace_id, asked)
        planned = outlook.planned
        following = [
            reversion
            for reversion in planned.reversions
            if after is None or _key(reversion) > after
        ]
        page, cursor = contract.split_page(following[: query.limit + 1], query.limit, _key)
        actions = [reversion.action for reversion in planned.reversions]
        return RestorationPreview(
            items=tuple(_planned(reversion) for reversion in page),
            next=cursor,
            position=outlook.position,
            deleted=actions.count("deleted"),
            restored=actions.count("restored"),
            reverted=actions.count("reverted"),
            left=_left(planned.left),
            left_count=len(planned.left),
        )

    @contract.operation(
        id="restoreWorkspace",
        method="POST",
        path="/api/workspaces/{workspaceId}/restorations",
        tag="files",
        summary="Restore a workspace, or a folder of it, to a moment",
        description="Returns every file to its state at the moment: files that were created since "
        "are deleted, deleted ones come back, changed ones get their text and path back. The "
        "revisions have the origin `restore`. It is one changeset if that is enough (500 files, "
        "8 MiB of text) and others write to none of the files meanwhile; otherwise several, each "
        "valid by itself, and the answer may come while it runs. Files that others change "
        "meanwhile are left and named. One that failed goes on when any member who may write sends "
        "the same `mutationId`, by changesets of theirs. To undo a restoration, also one that "
        "failed, restore its `positionBefore`.",
        scope=WRITE,
        status=201,
        problems=(NotFound, InvalidPath, MutationReused),
        body=contract.json_body(RestorationInput, limit=_LONGEST_BODY),
    )
    async def restore_workspace(
        self, call: contract.Call, path: WorkspacePath, body: RestorationInput
    ) -> RestorationSchema:
        """Restore a workspace."""
        caller = caller_of(call)
        workspace_id = await self._access.workspace(caller, path.workspace_id, "write")
        moment = None if body.moment is MISSING else contract.milliseconds_of(body.moment)
        position = None if body.position is MISSING else body.position
        asked = _asked(moment, position, body.folder, "")
        mutation = self._new_id() if body.mutation_id is MISSING else body.mutation_id
        with _explained(""):
            stored = await self._restorations.begin(
                workspace_id, caller.account_id, asked, MutationId(mutation)
            )
        return _restoration(stored)

    @contract.operation(
        id="listRestorations",
        method="GET",
        path="/api/workspaces/{workspaceId}/restorations",
        tag="files",
        summary="List the restorations of a workspace, latest first",
        description="Each is kept for at least 30 days.",
        scope=WRITE,
        problems=(NotFound,),
    )
    async def list_restorations(
        self, call: contract.Call, path: WorkspacePath, query: contract.PageQuery
    ) -> RestorationList:
        """Return the restorations."""
        workspace_id = await self._access.workspace(caller_of(call), path.workspace_id, "write")
        cursor = contract.read_cursor(query.after, 2, numbers=(0,), identifier=1)
        after = cursor or (str(_LATEST), _HIGHEST_ID)
        stored = await self._restorations.newest(
            workspace_id, (int(after[0]), after[1]), query.limit + 1
        )
        page, following = contract.split_page(
            stored,
            query.limit,
            lambda restoration: (str(restoration.started_at), restoration.key.restoration_id),
        )
        return RestorationList(
            items=tuple(_listed(restoration) for restoration in page), next=following
        )

    @contract.operation(
        id="getRestoration",
        method="GET",
        path="/api/workspaces/{workspaceId}/restorations/{restorationId}",
        tag="files",
        summary="Get the progress of a restoration, or its result",
        description="The result is kept for at least 30 days.",
        scope=WRITE,
        problems=(NotFound,),
    )
    async def get_restoration(
        self, call: contract.Call, path: RestorationPath
    ) -> RestorationSchema:
        """Return a restoration."""
        workspace_id = await self._access.workspace(caller_of(call), path.workspace_id, "write")
        stored = await self._restorations.find(workspace_id, path.restoration_id)
        if stored is None:
            raise NotFound
        return _restoration(stored)


def _asked(
    moment: int | None, position: int | None, folder: str, pointer: str
) -> RestorationRequest:
    if (moment is None) == (position is None):
        raise InvalidRequest(errors=[(f"{pointer}/moment", _ONE_OF_BOTH)])
    return RestorationRequest(
        moment, None if position is None else Position(position), parse_folder(folder)
    )


@contextmanager
def _explained(pointer: str) -> Iterator[None]:
    """Raise errors of a restoration as problems of the fields below ``pointer``."""
    try:
        yield
    except HistoryPruned as pruned:
        message = _NOT_KEPT.format(contract.written_time(contract.timestamp(pruned.offered)))
        raise InvalidRequest(errors=[(f"{pointer}/moment", message)]) from None
    except PositionUnknown:
        raise InvalidRequest(errors=[(f"{pointer}/position", _NOT_REACHED)]) from None
    except WorkspaceGone:
        raise NotFound from None


def _key(reversion: Reversion) -> tuple[str, str]:
    return (reversion.head.path, reversion.head.file_id)


def _planned(reversion: Reversion) -> PlannedReturn:
    head, target = reversion.head, reversion.target
    return PlannedReturn(
        file_id=head.file_id,
        path=head.path,
        action=reversion.action,
        path_after=None if target is None else target.path,
    )


def _left(left: Sequence[LeftFile]) -> list[LeftFileSchema]:
    return [
        LeftFileSchema(file_id=file.head.file_id, path=file.head.path or None, reason=file.reason)
        for file in left[:MAX_LEFT]
    ]


def _restoration(stored: StoredRestoration) -> RestorationSchema:
    return RestorationSchema.model_construct(
        **vars(_listed(stored)),
        left=[
            LeftFileSchema(file_id=file.file_id, path=file.path or None, reason=file.reason)
            for file in stored.skipped_files
        ],
    )


def _listed(stored: StoredRestoration) -> ListedRestoration:
    failure = None
    if stored.failure is not None:
        failure = RestorationFailureSchema(code=stored.failure[0], detail=stored.failure[1])
    moment = stored.asked.moment
    return ListedRestoration.model_construct(
        restoration_id=stored.key.restoration_id,
        state=stored.state,
        account_id=stored.account_id,
        continued_by=stored.continued_by,
        moment=None if moment is None else contract.timestamp(moment),
        position=stored.asked.target,
        folder=stored.asked.folder,
        position_before=stored.start_position,
        position_after=stored.last_position,
        total=stored.total,
        done=stored.done,
        left_count=stored.skipped_count,
        failure=failure,
        started_at=contract.timestamp(stored.started_at),
        ended_at=contract.timestamp(stored.updated_at) if stored.state == "done" else None,
    )
