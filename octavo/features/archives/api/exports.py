"""Export a workspace as a zip archive."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial

from attrs import define
from octavo_rules.identity import READ, WorkspaceId
from octavo_rules.problems import AccountLocked, NotFound

from octavo.access.ports import Clock
from octavo.access.workspaces import Access
from octavo.features.archives.exports import ExportFormat, Exports
from octavo.features.archives.job import ARCHIVE_JOB_PROBLEMS
from octavo.features.legal.rules import NO_TEXTS, ConsentDue, LegalTexts
from octavo.features.usage.api import METERED, Metering
from octavo.http import contract
from octavo.http.blob_stream import content_disposition
from octavo.http.callers import caller_of
from octavo.http.file_schemas import WorkspacePath
from octavo.store.queries.changesets import WorkspaceGone

ZIP = "application/zip"
TRANSFER_SECONDS = 60.0
"""Seconds in which an export has to progress."""
_KINDS: Mapping[ExportFormat, str] = {"all": "", "notes": " notes", "history": " with history"}
_UNSAFE = '\\/:*?"<>|'


class ExportQuery(contract.Model):
    """What the archive has."""

    format: ExportFormat = "all"
    """``notes`` leaves out images; ``history`` adds the earlier revisions."""


@define(eq=False)
class ExportOperations:
    """Exports of workspaces.

    Args:
        exports: the use case.
        access: checks the members.
        authenticator: checks during a long response whether the caller is still authorised.
        metering: counts the files.
        now: the clock, for the file names.
        legal: the documents that accounts must have accepted.
    """

    _exports: Exports
    _access: Access
    _authenticator: contract.Authenticator
    _metering: Metering
    _now: Clock
    _legal: LegalTexts = NO_TEXTS

    @contract.operation(
        id="exportWorkspace",
        method="GET",
        path="/api/workspaces/{workspaceId}/export",
        tag="archives",
        summary="Export a workspace as a zip archive",
        description="The archive has the live files at one position, whatever is changed "
        "meanwhile. What an export has, an import takes unchanged. A locked account, or one that "
        "has not accepted the legal documents, can export the workspaces that it owns alone: those "
        "without any other member.",
        scope=READ,
        confinable=True,
        locked=contract.Locked.CONDITIONAL,
        headers={"content-disposition": "The file name of the archive."},
        media_types=(ZIP,),
        problems=(NotFound, *ARCHIVE_JOB_PROBLEMS, *METERED),
        time=TRANSFER_SECONDS,
        renews_time=True,
    )
    async def export_workspace(
        self, call: contract.Call, path: WorkspacePath, query: ExportQuery
    ) -> contract.Stream:
        """Export a workspace."""
        workspace_id, within = await self._access.visible(caller_of(call), path.workspace_id)
        await self._require_alone_if_restricted(call, workspace_id)
        await self._metering.admit(call)
        if await self._metering.limited(call):
            # An export that would be cut off is not begun.
            size = await self._exports.size(workspace_id, query.format, within)
            await self._metering.admit(call, size)
        workspace = await self._access.seen(caller_of(call), workspace_id)
        name = "".join("_" if character in _UNSAFE else character for character in workspace.name)
        day = datetime.fromtimestamp(self._now(), UTC).date().isoformat()
        name = f"{name} {day}{_KINDS[query.format]}.zip"
        headers = ((b"content-disposition", content_disposition("attachment", name)),)
        account_id = caller_of(call).account_id
        if call.method == "HEAD":
            await self._exports.require_free(account_id)
            return contract.Stream(contract.NoBytes(), ZIP, headers=headers)

        async def permit() -> None:
            call.authenticated_as(await self._authenticator.authenticate(call))
            await self._access.check(workspace_id, caller_of(call), "read")
            await self._require_alone_if_restricted(call, workspace_id)

        count = partial(self._metering.count, call)
        try:
            export = await self._exports.start(
                workspace_id, account_id, query.format, permit, count, within
            )
        except WorkspaceGone:
            raise NotFound from None
        return contract.Stream(export.chunks, ZIP, headers=headers)

    async def _require_alone_if_restricted(
        self, call: contract.Call, workspace_id: WorkspaceId
    ) -> None:
        """Raise `AccountLocked` or `ConsentDue` for what other members may have written."""
        caller = caller_of(call)
        if not caller.locked and not caller.consent_due:
            return
        if await self._access.alone(workspace_id, caller):
            return
        if caller.locked:
            raise AccountLocked
        raise ConsentDue(self._legal)
