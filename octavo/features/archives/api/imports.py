"""Import zip archives into workspaces, in parts."""

import json
from functools import partial
from typing import Annotated, Literal

from octavo_rules import schemas
from octavo_rules.identity import WRITE, Position
from octavo_rules.problems import NotFound
from pydantic import Field

from octavo.access.workspaces import Access
from octavo.features.archives.import_run import ImportIncomplete, ImportResult, read_result
from octavo.features.archives.imports import MAX_PARTS, PART_SIZE, Imports
from octavo.features.archives.job import ARCHIVE_JOB_PROBLEMS
from octavo.features.archives.rules import ImportNotOpen, PathsTaken, TooManyImports
from octavo.features.archives.sql import StoredImport
from octavo.features.archives.worker import refusal
from octavo.http import contract
from octavo.http.callers import caller_of
from octavo.http.file_schemas import WorkspacePath
from octavo.model.usage import StorageLimitReached, WriteLimitReached
from octavo.store.blobs.blob_store import digest_of_key

TRANSFER_SECONDS = 60.0
"""Seconds in which the upload of a part has to progress."""
COMPLETION_SECONDS = 6 * 3600.0
"""Seconds that a client can wait for the result; the import itself has no limit."""
_SHORT_BODY = 4096


class StartImportInput(contract.Model):
    """An archive that is about to be sent."""

    size: Annotated[int, Field(ge=0), contract.WHOLE] = 0
    """Its size in bytes, if it is known."""


class ImportPath(WorkspacePath):
    """An import."""

    import_id: Annotated[str, contract.IN_PATH]


class PartPath(ImportPath):
    """A part of an archive."""

    number: int = Field(ge=1, le=MAX_PARTS)
    """The parts are numbered from 1, in the order of their bytes."""


class ImportOperations:
    """Imports into workspaces.

    Args:
        imports: the use case.
        access: checks the members.
    """

    def __init__(self, imports: Imports, access: Access) -> None:
        self._imports = imports
        self._access = access

    @contract.operation(
        id="startWorkspaceImport",
        method="POST",
        path="/api/workspaces/{workspaceId}/imports",
        tag="archives",
        summary="Start the import of a zip archive",
        description="Send the archive in parts, and complete the import. It expires a week after "
        "its last part.",
        scope=WRITE,
        status=201,
        problems=(NotFound, TooManyImports, refusal.ArchiveTooLarge),
        body=contract.json_body(StartImportInput, limit=_SHORT_BODY),
    )
    async def start_workspace_import(
        self, call: contract.Call, path: WorkspacePath, body: StartImportInput
    ) -> schemas.StartedImport:
        """Start an import."""
        caller = caller_of(call)
        workspace_id = await self._access.workspace(caller, path.workspace_id, "write")
        import_id = await self._imports.start(workspace_id, caller.account_id, body.size)
        return schemas.StartedImport(import_id=import_id, part_size=PART_SIZE, max_parts=MAX_PARTS)

    @contract.operation(
        id="putImportPart",
        method="PUT",
        path="/api/workspaces/{workspaceId}/imports/{importId}/parts/{number}",
        tag="archives",
        summary="Send a part of an archive",
        description="Parts may be sent in any order, and again. They are concatenated by number.",
        scope=WRITE,
        problems=(
            NotFound,
            ImportNotOpen,
            refusal.ArchiveTooLarge,
            StorageLimitReached,
            WriteLimitReached,
        ),
        body=contract.raw_body("application/octet-stream", limit=PART_SIZE),
        time=TRANSFER_SECONDS,
        renews_time=True,
    )
    async def put_import_part(
        self, call: contract.Call, path: PartPath, body: contract.BodyStream
    ) -> schemas.ImportPart:
        """Receive a part."""
        caller = caller_of(call)
        workspace_id = await self._access.workspace(caller, path.workspace_id, "write")
        part = await self._imports.receive_part(
            workspace_id, caller.account_id, path.import_id, path.number, body
        )
        return schemas.ImportPart(number=part.number, size=part.size, digest=part.digest)

    @contract.operation(
        id="getWorkspaceImport",
        method="GET",
        path="/api/workspaces/{workspaceId}/imports/{importId}",
        tag="archives",
        summary="Get the progress of an import, or its result",
        description="The result is kept for a day.",
        scope=WRITE,
        problems=(NotFound,),
    )
    async def get_workspace_import(self, call: contract.Call, path: ImportPath) -> schemas.Import:
        """Return an import of the caller."""
        caller = caller_of(call)
        workspace_id = await self._access.workspace(caller, path.workspace_id, "write")
        stored = await self._imports.find(workspace_id, caller.account_id, path.import_id)
        return _import(stored)

    @contract.operation(
        id="completeWorkspaceImport",
        method="POST",
        path="/api/workspaces/{workspaceId}/imports/{importId}/complete",
        tag="archives",
        summary="Import the archive whose parts were sent",
        description="Every file is checked before the first one is committed. The import goes on "
        "when the client leaves; completing it again has the same result.",
        scope=WRITE,
        problems=(
            NotFound,
            PathsTaken,
            refusal.ArchiveInvalid,
            refusal.ArchiveTooManyFiles,
            refusal.ArchiveTooLarge,
            *ARCHIVE_JOB_PROBLEMS,
            ImportIncomplete,
            WriteLimitReached,
        ),
        time=COMPLETION_SECONDS,
    )
    async def complete_workspace_import(
        self, call: contract.Call, path: ImportPath
    ) -> schemas.ImportWorkspaceResult:
        """Import an archive."""
        caller = caller_of(call)
        workspace_id = await self._access.workspace(caller, path.workspace_id, "write")
        permit = partial(self._access.check_later, workspace_id, caller, "write")
        return _result(
            await self._imports.complete(workspace_id, caller.account_id, path.import_id, permit)
        )

    @contract.operation(
        id="abortWorkspaceImport",
        method="DELETE",
        path="/api/workspaces/{workspaceId}/imports/{importId}",
        tag="archives",
        summary="Remove an import and its parts",
        description="Files that came in stay. An import that does not exist counts as removed.",
        scope=WRITE,
        problems=(NotFound,),
    )
    async def abort_workspace_import(
        self, call: contract.Call, path: ImportPath
    ) -> contract.Removed:
        """Abort an import."""
        caller = caller_of(call)
        workspace_id = await self._access.workspace(caller, path.workspace_id, "write")
        await self._imports.abort(workspace_id, caller.account_id, path.import_id)
        return contract.REMOVED


def _import(stored: StoredImport) -> schemas.Import:
    state: Literal["started", "running", "done", "failed"] = "started"
    failure = None
    if stored.result is not None:
        state = "done"
    elif stored.running:
        state = "running"
    elif stored.failure is not None:
        state = "failed"
        failure = schemas.ImportFailure(**json.loads(stored.failure))
    return schemas.Import(
        import_id=stored.import_id,
        state=state,
        parts=tuple(part.number for part in stored.parts),
        received=tuple(
            schemas.ImportPart(number=part.number, size=part.size, digest=digest_of_key(part.key))
            for part in stored.parts
            if state in ("started", "failed")
        ),
        read=stored.bytes_read,
        total=stored.total,
        result=None if stored.result is None else _result(read_result(stored.result)),
        failure=failure,
    )


def _result(result: ImportResult) -> schemas.ImportWorkspaceResult:
    return schemas.ImportWorkspaceResult(
        notes=result.notes,
        attachments=result.attachments,
        left_out=result.left_out,
        cleaned=result.cleaned,
        position=Position(result.position),
    )
