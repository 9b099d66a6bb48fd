"""What programs changed by the MCP endpoint, and how to undo it as a set."""

import hashlib
from collections.abc import Sequence
from typing import Annotated

from octavo_rules.identity import READ, WRITE, AccountId, Digest, MutationId, WorkspaceId
from octavo_rules.problems import InvalidRequest, NotFound
from octavo_rules.schemas import ChangesetResult, FileChange
from pydantic import Field
from pydantic_core import MISSING

from octavo.actors.workspace.messages import ChangesetRefused
from octavo.features.accounts.sql import accounts
from octavo.features.files.api.changeset_submission import ChangesetSubmitter
from octavo.features.files.sql import ProgramChanges, changes_of
from octavo.features.history.rules import reversion
from octavo.features.history.sql.program_changes import (
    ChangesOfProgram,
    ProgramOfAccount,
    programs_undone,
)
from octavo.features.history.undo import (
    MAX_BYTES,
    HistoryPruned,
    OutlookOutdated,
    ProgramUndo,
    UndoOutlook,
)
from octavo.features.usage.api import memory_of
from octavo.http import contract
from octavo.http.callers import caller_of
from octavo.http.file_schemas import WorkspacePath, changeset_result
from octavo.http.refusals import WorkspaceBusy
from octavo.model.files.plan import Receipt
from octavo.model.refusal import MutationReused, TooManyFiles, UnrenderableNote
from octavo.model.usage import StorageLimitReached
from octavo.store import Store
from octavo.store.queries.changesets import receipts

MAX_CLIENTS = 200
LONGEST_CLIENT_ID = 2048
ATTEMPTS = 5
"""How often an undo is planned anew when others write at the same time."""
_LONGEST_BODY = 16_384
_BUSY = "Others change these files at the moment: nothing was undone. Try again."

# Ids that are issued, and addresses of metadata documents, are visible ASCII.
_ClientId = Annotated[
    str, Field(min_length=1, max_length=LONGEST_CLIENT_ID, pattern=r"^[\x21-\x7e]+$")
]


class ChangedByClient(contract.Model):
    """A program that changed files of the workspace for an account."""

    client: str
    """Its client id."""
    name: str
    """How it called itself; nobody has verified it."""
    account_id: contract.Identifier
    """The account that gave it access."""
    account_name: str | None
    """The present display name of the account; null for a removed one."""
    revisions: int
    """How many revisions it made that are still stored."""
    first_at: contract.Timestamp
    last_at: contract.Timestamp
    undone: bool
    """Whether every file that it changed is again as it was before, by revisions of others. False
    also where that would take too long to find out, after 1,000 files.
    """


class ClientChangesList(contract.Model):
    """Programs, the one that changed something last first; at most 200."""

    items: list[ChangedByClient]
    undoable_since: contract.Timestamp
    """The earliest time for an undo within the next hour: earlier revisions may be removed."""


class UndoQuery(contract.Model):
    """The changes that would be undone."""

    client: _ClientId
    """The client id of the program."""
    since: contract.GivenTime
    """The time of the first change to undo; younger than the days for which all revisions are kept.
    """
    account_id: contract.Identifier | None = None
    """The account for which the program made them; if omitted, the caller."""


class UndoInput(UndoQuery):
    """The changes to undo."""

    mutation_id: contract.Identifier | MISSING = MISSING
    """Makes the undo repeatable: sent again, it has one effect."""


class KeptFileSchema(contract.Model):
    """A file that is left as it is."""

    file_id: contract.Identifier
    path: str | None
    """Its present path; null for a purged file."""
    reason: reversion.KeptReason
    """Others changed it since; another file has its path now; or it was purged."""


class PlannedReversion(contract.Model):
    """A file that would return to its state before the changes."""

    file_id: contract.Identifier
    path: str
    """Its present path, or its last one if it is deleted."""
    action: reversion.Action
    """It would be deleted, as the program created it; restored, as the program deleted it; or get
    its earlier text or path back.
    """
    path_after: str | None
    """The path that it would have; null if it would be deleted."""


class UndoOutlookSchema(contract.Model):
    """What an undo would do at present."""

    changes: list[PlannedReversion]
    kept: list[KeptFileSchema]


class UndoResult(ChangesetResult):
    """The result of an undo."""

    changes: tuple[FileChange, ...]
    """Empty when nothing was left to undo; then no position is used."""
    kept: list[KeptFileSchema]
    """The files that were left as they are. Sent again, an undo names those that it would leave
    now, and none once these are too many, or the revisions since then may be removed.
    """


class ClientChangeOperations:
    """Changes of programs, and their undo.

    Args:
        submitter: submits changesets to the workspaces.
        undo: finds out what has to be undone.
        store: the store of the workspaces.
    """

    def __init__(self, submitter: ChangesetSubmitter, undo: ProgramUndo, store: Store) -> None:
        self._submitter = submitter
        self._undo = undo
        self._store = store

    @contract.operation(
        id="listClientChanges",
        method="GET",
        path="/api/workspaces/{workspaceId}/clients",
        tag="files",
        summary="List the programs that changed files",
        description="Programs that used the MCP endpoint, also those that have no access any more.",
        scope=READ,
        problems=(NotFound,),
    )
    async def list_client_changes(
        self, call: contract.Call, path: WorkspacePath
    ) -> ClientChangesList:
        """Return the programs."""
        workspace_id = await self._submitter.access.workspace(
            caller_of(call), path.workspace_id, "read"
        )
        changed = await self._store.read_much(changes_of(workspace_id, MAX_CLIENTS))
        programs = [
            ProgramOfAccount(changes.program.client_id, changes.author) for changes in changed
        ]
        undone = await self._store.read_much(programs_undone(workspace_id, programs))
        names = await self._store.read(
            accounts.display_names([changes.author for changes in changed])
        )
        return ClientChangesList(
            items=[
                _changed(changes, names.get(changes.author), undone=program in undone)
                for changes, program in zip(changed, programs, strict=True)
            ],
            undoable_since=contract.timestamp(self._undo.offered),
        )

    @contract.operation(
        id="getUndo",
        method="GET",
        path="/api/workspaces/{workspaceId}/undo",
        tag="files",
        summary="Preview the undo of what a program changed",
        scope=WRITE,
        problems=(NotFound, TooManyFiles),
    )
    async def get_undo(
        self, call: contract.Call, path: WorkspacePath, query: UndoQuery
    ) -> UndoOutlookSchema:
        """Return what an undo would do."""
        workspace_id = await self._submitter.access.workspace(
            caller_of(call), path.workspace_id, "write"
        )
        outlook = await self._outlook(workspace_id, _changes(call, query), "/query/since")
        return UndoOutlookSchema(
            changes=[_planned(file) for file in outlook.reversions], kept=_kept(outlook.kept)
        )

    @contract.operation(
        id="undoClientChanges",
        method="POST",
        path="/api/workspaces/{workspaceId}/undo",
        tag="files",
        summary="Undo what a program changed",
        description="Returns every file to its state before the changes that a program made since "
        "a time, in one changeset. Files that others have changed since are left and named. The "
        "revisions have the origin `restore`.",
        scope=WRITE,
        problems=(
            NotFound,
            TooManyFiles,
            MutationReused,
            UnrenderableNote,
            StorageLimitReached,
            WorkspaceBusy,
        ),
        body=contract.json_body(UndoInput, limit=_LONGEST_BODY),
    )
    async def undo_client_changes(
        self, call: contract.Call, path: WorkspacePath, body: UndoInput
    ) -> UndoResult:
        """Undo the changes of a program."""
        workspace_id = await self._submitter.access.workspace(
            caller_of(call), path.workspace_id, "write"
        )
        changes = _changes(call, body)
        requested = _fingerprint(changes)
        before = await self._accepted_before(workspace_id, body.mutation_id, requested)
        if before is not None:
            return await _result(before, await self._kept(workspace_id, changes))
        for _ in range(ATTEMPTS):
            outlook = await self._outlook(workspace_id, changes, "/since")
            # Don't wait: the request may hold the memory of its body. More is refused below.
            call.take(memory_of(min(outlook.size, MAX_BYTES)))
            try:
                operations = await self._undo.operations(workspace_id, outlook)
                # Even without any: the receipt tells a repeated request that there was nothing.
                receipt = await self._submitter.push(
                    call,
                    workspace_id,
                    operations,
                    body.mutation_id,
                    requested=requested,
                    restores=True,
                )
            except OutlookOutdated:
                continue
            except ChangesetRefused as refused:
                if not isinstance(refused.refusal, reversion.OUTDATED_BY):
                    raise
            else:
                return await _result(receipt, outlook.kept)
        raise WorkspaceBusy(_BUSY, retry_after=1)

    async def _outlook(
        self, workspace_id: WorkspaceId, changes: ChangesOfProgram, pointer: str
    ) -> UndoOutlook:
        try:
            return await self._undo.outlook(workspace_id, changes)
        except HistoryPruned as pruned:
            message = (
                "Earlier revisions may have been removed: give a time after "
                f"{contract.written_time(contract.timestamp(pruned.offered))}."
            )
            raise InvalidRequest(errors=[(pointer, message)]) from None

    async def _kept(
        self, workspace_id: WorkspaceId, changes: ChangesOfProgram
    ) -> Sequence[reversion.KeptFile]:
        """Return the files that are left as they are; none once their history may be removed."""
        try:
            return (await self._undo.outlook(workspace_id, changes)).kept
        except (HistoryPruned, TooManyFiles):
            return ()

    async def _accepted_before(
        self, workspace_id: WorkspaceId, mutation_id: str | MISSING, requested: Digest
    ) -> Receipt | None:
        if mutation_id is MISSING:
            return None
        mutation = MutationId(mutation_id)
        receipt = (await self._store.read(receipts(workspace_id, [mutation]))).get(mutation)
        if receipt is not None and receipt.fingerprint != requested:
            raise MutationReused
        return receipt


def _changes(call: contract.Call, asked: UndoQuery) -> ChangesOfProgram:
    account = asked.account_id or caller_of(call).account_id
    return ChangesOfProgram(asked.client, AccountId(account), contract.milliseconds_of(asked.since))


def _fingerprint(changes: ChangesOfProgram) -> Digest:
    text = "\n".join(("undo", changes.author, str(changes.since), changes.client_id))
    return Digest(hashlib.sha256(text.encode()).hexdigest()[:32])


def _changed(changes: ProgramChanges, account_name: str | None, *, undone: bool) -> ChangedByClient:
    return ChangedByClient(
        client=changes.program.client_id,
        name=changes.program.name,
        account_id=changes.author,
        account_name=account_name,
        revisions=changes.revisions,
        first_at=contract.timestamp(changes.first_at),
        last_at=contract.timestamp(changes.last_at),
        undone=undone,
    )


def _planned(file: reversion.Reversion) -> PlannedReversion:
    head, target = file.head, file.target
    after = None if target is None else target.path
    return PlannedReversion(
        file_id=head.file_id, path=head.path, action=file.action, path_after=after
    )


def _kept(kept: Sequence[reversion.KeptFile]) -> list[KeptFileSchema]:
    return [
        KeptFileSchema(file_id=file.head.file_id, path=file.head.path or None, reason=file.reason)
        for file in kept
    ]


async def _result(receipt: Receipt, kept: Sequence[reversion.KeptFile]) -> UndoResult:
    done = await changeset_result(receipt)
    return UndoResult.model_construct(
        mutation_id=done.mutation_id,
        position=done.position,
        mark=done.mark,
        changes=done.changes,
        kept=_kept(kept),
    )
