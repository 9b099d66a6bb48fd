"""``octavo import`` and ``octavo export``: transfers between files and a workspace of any server.

They are clients, with a key of an account: the server checks the role, counts the storage, and
records the author. They have no mode that reads the database of the machine: it would bypass these
checks, and `octavo backup` copies a whole installation.
"""

import zipfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import trio

from octavo.archives.folder_archive import FolderChanged, FolderListing, list_folder, pack_folder
from octavo.client import (
    ArchiveDiffers,
    Client,
    ClientError,
    ConnectionFailed,
    ImportProgress,
    ImportSummary,
    NotFoundError,
    NotSignedInError,
    ProblemError,
    Retrying,
    WorkspaceClient,
)
from octavo.client.exporting import ExportedFiles
from octavo.client.responses import WorkspaceInfo
from octavo.service.entropy import system_random
from octavo.service.progress import Progress, Report

# About ten minutes, in which a server can restart, or another job of the account can end.
_RETRYING = Retrying(attempts=60, first=0.5, longest=15.0, patience=60.0)
# A wrong address is reported soon.
_FIRST_CONTACT = Retrying(attempts=5, first=0.5, longest=2.0)
# The archive is at fault: its parts are of no further use.
_REFUSED = frozenset((413, 422))


class TransferFailed(Exception):
    """Nothing was transferred, or not everything.

    Attributes:
        problems: a text for each reason, with its remedy.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class ServerAccess:
    """A server, and how to be authenticated there.

    Attributes:
        url: its URL.
        key: an API key.
    """

    url: str
    key: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What was imported.

    Attributes:
        workspace: the name of the workspace.
        summary: the result of the server.
        left_out: the number of files that were left out, by kind, with those that were not sent.
        links: the number of symbolic links in the folder.
    """

    workspace: str
    summary: ImportSummary
    left_out: dict[str, int]
    links: int


class WorkspaceTransfers:
    """Imports into a workspace of a server, and exports of it.

    Args:
        access: the server.
        workspace: the name of the workspace, or its id.
        report: called with the progress.

    Attributes:
        import_id: the id of the import, as soon as it has one; it can be continued until it is
            done.
    """

    def __init__(self, access: ServerAccess, workspace: str, report: Report) -> None:
        self.import_id: str | None = None
        self._access = access
        self._wanted = workspace
        self._report = report

    async def import_from(
        self, source: Path, *, create: bool, import_id: str | None
    ) -> ImportReport:
        """Import a zip archive, or the notes and images of a folder.

        Raises `TransferFailed`. If it is cancelled, the import can be continued.

        Args:
            source: the archive or the folder.
            create: create the workspace if there is none of this name.
            import_id: continue this import.
        """
        listing = await trio.to_thread.run_sync(_listed, source)
        self.import_id = import_id
        try:
            workspace = await self._resolved(create=create)
            async with self._client(_RETRYING) as client:
                summary = await self._imported(client.workspace(workspace.id), source, listing)
        except OSError as error:
            raise TransferFailed(f"{source} can't be read: {error.strerror}") from None
        except FolderChanged as error:
            raise TransferFailed(str(error)) from None
        self.import_id = None
        return _report_of(workspace.name, summary, listing)

    async def export_to(self, target: Path, export_format: ExportedFiles) -> int:
        """Export the workspace to the file ``target``; return its size in bytes.

        Raises `TransferFailed`; then, and if it is cancelled, ``target`` is as it was before.
        """
        try:
            workspace = await self._resolved(create=False)
            async with self._client(_RETRYING) as client:
                return await client.workspace(workspace.id).export_archive(
                    target,
                    format=export_format,
                    progress=lambda size: self._report(Progress("receiving", size, None)),
                )
        except OSError as error:
            raise TransferFailed(f"{target} can't be written: {error.strerror}") from None

    async def _imported(
        self, workspace: WorkspaceClient, source: Path, listing: FolderListing | None
    ) -> ImportSummary:
        self._report(Progress("sending", 0, None))
        chunks = source if listing is None else _ThreadedChunks(pack_folder(listing))
        try:
            return await workspace.import_archive(
                chunks,
                size=0 if listing is None else listing.largest_archive,
                import_id=self.import_id,
                progress=self._importing,
            )
        except ProblemError as error:
            if error.status in _REFUSED and self.import_id is not None:
                with suppress(ClientError):
                    await workspace.abort_import(self.import_id)
                self.import_id = None
            raise

    def _importing(self, progress: ImportProgress) -> None:
        self.import_id = progress.import_id
        self._report(Progress(progress.step, progress.done, progress.total or None))

    @asynccontextmanager
    async def _client(self, retrying: Retrying) -> AsyncIterator[Client]:
        """Provide a client; what it raises becomes `TransferFailed`."""
        try:
            client = Client(
                self._access.url,
                entropy=system_random(),
                key=self._access.key,
                retrying=retrying,
            )
        except ValueError as error:
            raise TransferFailed(str(error)) from None
        try:
            async with client:
                yield client
        except ClientError as error:
            raise TransferFailed(self._problem(error)) from None

    async def _resolved(self, *, create: bool) -> WorkspaceInfo:
        """Return the workspace that is meant."""
        wanted = self._wanted
        async with self._client(_FIRST_CONTACT) as client:
            found = [each async for each in client.workspaces()]
            named = [each for each in found if each.id == wanted.lower()]
            named = named or [each for each in found if each.name == wanted]
            if not named and create and not _is_id(wanted):
                made = await client.create_workspace(wanted)
                named = [each async for each in client.workspaces() if each.id == made.id]
        if not named:
            raise TransferFailed(_unknown(wanted, found))
        if len(named) > 1:
            ids = ", ".join(each.id for each in named)
            raise TransferFailed(
                f"there are {len(named)} workspaces with this name: give one of the ids {ids}"
            )
        return named[0]

    def _problem(self, error: ClientError) -> str:
        """Return what was wrong and what to do."""
        match error:
            case NotSignedInError():
                return "the key is not valid, or has expired: create another one"
            case ArchiveDiffers():
                self.import_id = None
                return f"{error}, without --resume"
            case NotFoundError() if self.import_id is not None:
                gone, self.import_id = self.import_id, None
                return (
                    f"there is no import {gone} of this account in this workspace: it has expired,"
                    " or was removed; start again without --resume"
                )
            case ProblemError():
                return f"the server refused: {error.detail} ({error.code})"
            case ConnectionFailed():
                return f"the connection to {self._access.url} failed: {error}"
            case _:
                return f"{self._access.url} does not respond as Octavo does: {error}"


class _ThreadedChunks:
    """Steps through an iterator in threads."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        chunk = await trio.to_thread.run_sync(next, self._chunks, None)
        if chunk is None:
            raise StopAsyncIteration
        return chunk


def _listed(source: Path) -> FolderListing | None:
    """Return the files of a folder; None for an archive. Raises `TransferFailed`."""
    if source.is_dir():
        listing = list_folder(source)
        if listing.problems:
            raise TransferFailed(*sorted(listing.problems), "nothing was sent")
        return listing
    try:
        with source.open("rb") as file:
            is_archive = zipfile.is_zipfile(file)
    except OSError as error:
        raise TransferFailed(f"{source} can't be read: {error.strerror}") from None
    if not is_archive:
        raise TransferFailed(f"{source} is neither a folder nor a complete zip archive")
    return None


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _unknown(wanted: str, found: list[WorkspaceInfo]) -> str:
    names = ", ".join(sorted({each.name for each in found})[:10])
    known = f"this account has {names}" if found else "this account has none"
    return f"there is no workspace {wanted}: {known}"


def _report_of(name: str, summary: ImportSummary, listing: FolderListing | None) -> ImportReport:
    left_out = dict(summary.left_out)
    if listing is not None:
        for kind, number in listing.left_out.items():
            left_out[kind] = left_out.get(kind, 0) + number
    return ImportReport(name, summary, left_out, 0 if listing is None else listing.links)
