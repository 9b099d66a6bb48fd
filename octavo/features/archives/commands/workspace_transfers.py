"""``octavo import`` and ``octavo export``: transfers between files and a workspace of any server.

They are clients, with a key of an account: the server checks the role, counts the storage, and
records the author. They have no mode that reads the database of the machine: it would bypass these
checks, and `octavo backup` copies a whole installation.
"""

import zipfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from uuid import UUID

import octavo_client
import trio
from attrs import define, field
from octavo_client.exporting import ExportedFiles
from octavo_client.importing import is_refusal
from octavo_rules.schemas import ImportWorkspaceResult, Workspace

from octavo.access.entropy import system_random
from octavo.cli.progress import Progress, Report
from octavo.features.archives.commands import transfer_reports as reports
from octavo.features.archives.commands.server_key import ServerAccess
from octavo.features.archives.commands.transfer_reports import TransferFailed
from octavo.features.archives.worker import folder_archive
from octavo.features.archives.worker.directory import entries_of, find_directory
from octavo.features.archives.worker.entry_reader import name_of, path_of_name
from octavo.features.archives.worker.folder_archive import FolderListing
from octavo.features.archives.worker.part_files import PartFiles
from octavo.features.archives.worker.refusal import ArchiveInvalid
from octavo.features.archives.worker.selection import Selection

# About ten minutes, in which a server can restart, or another job of the account can end.
_RETRYING = octavo_client.Retrying(attempts=60, first=0.5, longest=15.0, patience=60.0)
# A wrong address is reported soon.
_FIRST_CONTACT = octavo_client.Retrying(attempts=5, first=0.5, longest=2.0)
_NOTHING = "{source} has no notes and no images: nothing was sent"
_TOO_MANY = "too_many_imports"


@define(eq=False)
class WorkspaceTransfers:
    """Imports into a workspace of a server, and exports of it.

    Args:
        access: the server.
        workspace: the name of the workspace, or its id; empty to find an import to abort.
        report: called with the progress.
        waiting: called with the reason of a wait, once for each.

    Attributes:
        import_id: the id of the import, as soon as it has one; it can be continued until it is
            done.
    """

    _access: ServerAccess
    _wanted: str = field(alias="workspace")
    _report: Report
    _waiting: Callable[[str], object]
    import_id: str | None = field(default=None, init=False)
    _created: bool = field(default=False, init=False)
    _left_empty: bool = field(default=False, init=False)
    _progressed: bool = field(default=False, init=False)
    _waited_for: set[str] = field(factory=set, init=False)

    async def import_from(
        self, source: Path, *, create: bool, import_id: str | None
    ) -> reports.ImportReport:
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
            workspace = await self._resolved(create=create, remedy="; --create creates it")
            async with self._client(_RETRYING) as client:
                summary = await self._imported(client.workspace(workspace.id), source, listing)
        except TransferFailed as error:
            if not self._left_empty:
                raise
            empty = f"the workspace {self._wanted} was created, and is empty"
            raise TransferFailed(*error.problems, empty) from None
        except OSError as error:
            raise TransferFailed(f"{source} can't be read: {error.strerror}") from None
        except folder_archive.FolderChanged as error:
            raise TransferFailed(str(error)) from None
        self.import_id = None
        if not self._progressed:
            # Earlier files may be from another folder.
            listing = None
        return reports.import_report(
            workspace.name, summary, listing, was_done=not self._progressed
        )

    async def abort(self, import_id: str) -> bool:
        """Remove an import of the account with its parts; files that were imported stay.

        Without a workspace, search all of them. Return whether the import was open; a complete one
        stays. Raises `TransferFailed`, also if there is no such import.
        """
        async with self._client(_RETRYING) as client:
            if self._wanted:
                places = [client.workspace((await self._resolved(create=False)).id)]
            else:
                places = [client.workspace(workspace.id) async for workspace in client.workspaces()]
            for place in places:
                try:
                    state = await place.import_state(import_id)
                except octavo_client.NotFoundError:
                    continue
                if state.result is None:
                    await place.abort_import(import_id)
                return state.result is None
        where = f"in the workspace {self._wanted}" if self._wanted else "in any workspace"
        raise TransferFailed(
            f"there is no import {import_id} of this account {where}: it has expired, or was"
            " removed already"
        )

    async def export_to(self, target: Path, export_format: ExportedFiles) -> reports.ExportReport:
        """Export the workspace to the file ``target``.

        Raises `TransferFailed`; then, and if it is cancelled, ``target`` is as it was before.
        """
        try:
            workspace = await self._resolved(create=False)
            lacked: Sequence[str] = ()
            async with self._client(_RETRYING) as client:
                try:
                    size = await client.workspace(workspace.id).export_archive(
                        target,
                        format=export_format,
                        progress=lambda size: self._report(Progress("receiving", size, None)),
                    )
                except octavo_client.ExportIncomplete as incomplete:
                    size, lacked = incomplete.size, incomplete.paths
            # The report of missing images is not a file of the workspace.
            files = await trio.to_thread.run_sync(_entries, target) - bool(lacked)
            return reports.ExportReport(size, files, lacked)
        except OSError as error:
            raise TransferFailed(f"{target} can't be written: {error.strerror}") from None

    async def _imported(
        self, workspace: octavo_client.WorkspaceClient, source: Path, listing: FolderListing | None
    ) -> ImportWorkspaceResult:
        self._report(Progress("sending", 0, None))
        continued = self.import_id
        chunks = source if listing is None else _ThreadedChunks(folder_archive.pack_folder(listing))
        try:
            return await workspace.import_archive(
                chunks,
                size=0 if listing is None else listing.largest_archive,
                import_id=continued,
                progress=self._importing,
            )
        except (octavo_client.ProblemError, octavo_client.ImportRefused) as error:
            # Other refusals, such as of storage, may come after some files.
            nothing_came_in = error.code.startswith("archive_") or error.code == _TOO_MANY
            self._left_empty = self._created and nothing_came_in
            if is_refusal(error):
                if continued is not None:
                    # As the client does with a new one: it would count as an open import.
                    with suppress(octavo_client.ClientError):
                        await workspace.abort_import(continued)
                self.import_id = None
            raise

    def _importing(self, progress: octavo_client.ImportProgress) -> None:
        self._progressed = True
        self.import_id = progress.import_id
        self._report(Progress(progress.step, progress.done, progress.total or None))

    @asynccontextmanager
    async def _client(
        self, retrying: octavo_client.Retrying
    ) -> AsyncIterator[octavo_client.Client]:
        """Provide a client; what it raises becomes `TransferFailed`."""
        try:
            client = octavo_client.Client(
                self._access.url,
                entropy=system_random(),
                key=self._access.key,
                retrying=retrying,
                on_retry=self._retried,
            )
        except ValueError as error:
            raise TransferFailed(str(error)) from None
        try:
            async with client:
                yield client
        except octavo_client.ClientError as error:
            raise TransferFailed(self._problem(error)) from None

    def _retried(self, error: octavo_client.ClientError) -> None:
        """Report the reason of a wait if it is a new one."""
        reason = reports.reason_of_wait(error, self._access.url)
        if reason not in self._waited_for:
            self._waited_for.add(reason)
            self._waiting(reason)

    async def _resolved(self, *, create: bool, remedy: str = "") -> Workspace:
        """Return the workspace that is meant; ``remedy`` is what to do if none has the name."""
        wanted = self._wanted
        async with self._client(_FIRST_CONTACT) as client:
            workspaces = [workspace async for workspace in client.workspaces()]
            named = [workspace for workspace in workspaces if workspace.id == wanted.lower()]
            named = named or [workspace for workspace in workspaces if workspace.name == wanted]
            if not named and create and not _is_id(wanted):
                made = await client.create_workspace(wanted)
                self._created = True
                named = [
                    workspace async for workspace in client.workspaces() if workspace.id == made.id
                ]
        if not named:
            # One is created under a name, not under an id.
            raise TransferFailed(
                reports.unknown_workspace(wanted, workspaces) + ("" if _is_id(wanted) else remedy)
            )
        if len(named) > 1:
            ids = ", ".join(workspace.id for workspace in named)
            raise TransferFailed(
                f"there are {len(named)} workspaces with this name: give one of the ids {ids}"
            )
        return named[0]

    def _problem(self, error: octavo_client.ClientError) -> str:
        """Return what was wrong and what to do."""
        tries = reports.tries_of(error)
        match error:
            case octavo_client.NotSignedInError():
                return "the key is not valid, or has expired: create another one"
            case octavo_client.ArchiveDiffers():
                self.import_id = None
                return f"{error}, without --resume"
            case octavo_client.NotFoundError() if self.import_id is not None:
                gone, self.import_id = self.import_id, None
                return (
                    f"there is no import {gone} of this account in the workspace {self._wanted}: it"
                    " goes into another one, has expired, or was removed; start again without"
                    " --resume"
                )
            case octavo_client.ProblemError(code=code) if code == _TOO_MANY:
                return (
                    f"the server refused: {error.detail} ({error.code}): continue one with"
                    " --resume, or remove one with `octavo import --abort ID --server"
                    f" {self._access.url}`"
                )
            case octavo_client.ProblemError():
                return f"the server refused: {error.detail} ({error.code}){tries}"
            case octavo_client.ImportRefused():
                return f"the server refused: {error}"
            case octavo_client.ConnectionFailed():
                return f"the connection to {self._access.url} failed: {error}{tries}"
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
        listing = folder_archive.list_folder(source)
        if listing.problems:
            raise TransferFailed(*sorted(listing.problems), "nothing was sent")
        if not listing.files:
            raise TransferFailed(_NOTHING.format(source=source))
        return listing
    try:
        with source.open("rb") as file:
            is_archive = zipfile.is_zipfile(file)
    except OSError as error:
        raise TransferFailed(f"{source} can't be read: {error.strerror}") from None
    if not is_archive:
        raise TransferFailed(f"{source} is neither a folder nor a complete zip archive")
    if not _has_files(source):
        raise TransferFailed(_NOTHING.format(source=source))
    return None


def _has_files(archive: Path) -> bool:
    """Return whether an archive has a note or an image, or is one that the server refuses."""
    with PartFiles([str(archive)]) as source:
        try:
            directory = find_directory(source)
            selection = Selection(directory.comment)
            return any(
                selection.kind(entry, path_of_name(name_of(entry))) in ("note", "image")
                for entry in entries_of(source, directory)
            )
        except ArchiveInvalid:
            return True


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _entries(archive: Path) -> int:
    """Return the number of entries of an archive."""
    with PartFiles([str(archive)]) as source:
        return find_directory(source).entries
