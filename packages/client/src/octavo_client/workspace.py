"""One workspace: changes to its files, and notifications, snapshots and the feed."""

from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import trio
from octavo_rules import schemas
from octavo_rules.identity import Epoch, FileId, MutationId, Position, RevisionId, WorkspaceId
from pydantic import BaseModel

from octavo_client.changes import Delete, Operation, encoded, present_members
from octavo_client.connection import ApiConnection, Request
from octavo_client.content import FileForm, Source
from octavo_client.errors import NotFoundError
from octavo_client.importing import ArchiveImport, ImportProgress, import_archive
from octavo_client.notices import Notices
from octavo_client.reading import WorkspaceReader
from octavo_client.syncing import Feed, Snapshot, snapshot

M = TypeVar("M", bound=BaseModel)


class Listen(Protocol):
    """Listens to workspaces."""

    def __call__(
        self, workspace_ids: Collection[WorkspaceId]
    ) -> AbstractAsyncContextManager[Notices]:
        """Return the notifications of the workspaces."""


class WorkspaceClient(WorkspaceReader):
    """A workspace, with the credential of the client that returned it; raises `ClientError`.

    Each change has a ``mutation_id``, which is generated if omitted, so it is retried until its
    outcome is known. To repeat a change whose outcome is unknown, pass the id in the error.
    """

    def __init__(
        self, connection: ApiConnection, workspace_id: WorkspaceId, listen: Listen
    ) -> None:
        super().__init__(connection, workspace_id)
        self._listen = listen

    # Copies

    def notices(self) -> AbstractAsyncContextManager[Notices]:
        """Listen to this workspace; see `Client.notices`."""
        return self._listen([self.id])

    def snapshot(self) -> AbstractAsyncContextManager[Snapshot]:
        """Read every live file at one position; see `octavo_client.syncing.snapshot`."""
        return snapshot(self.connection, self.path)

    def feed(
        self, after: Position, mark: RevisionId | None = None
    ) -> AsyncIterator[schemas.FeedPage]:
        """Iterate over the changes after a position; see `octavo_client.syncing.Feed`."""
        return Feed(self, after, mark)

    # Changes

    async def push(
        self, operations: Sequence[Operation], mutation_id: MutationId | None = None
    ) -> schemas.ChangesetResult:
        """Push a changeset, which is accepted or refused as a whole (pushChangeset).

        Raises `HeadMovedError` with all files whose heads differ.
        """
        body = {"operations": encoded(operations)}
        return await self._ask(schemas.ChangesetResult, "POST", "/changesets", body, mutation_id)

    async def create(
        self, path: str, text: str, mutation_id: MutationId | None = None
    ) -> schemas.FileChange:
        """Create a note (createFile). A path in use raises `ProblemError`, ``path_conflict``."""
        body = {"path": path, "text": text}
        return await self._ask(schemas.FileChange, "POST", "/files", body, mutation_id)

    async def update(
        self,
        file_id: FileId,
        if_match: RevisionId,
        *,
        text: str | None = None,
        path: str | None = None,
        rewrite_links: bool = False,
        mutation_id: MutationId | None = None,
    ) -> schemas.FileChange:
        """Change a file's text or path, or both, if its head is ``if_match`` (updateFile).

        Raises `HeadMovedError`. With ``rewrite_links``, links to the file are rewritten when it
        moves; only `push` returns the changes to the notes that contain them.
        """
        body = present_members(text=text, path=path, rewriteLinks=rewrite_links or None)
        target = f"/files/{file_id}"
        return await self._ask(schemas.FileChange, "PUT", target, body, mutation_id, if_match)

    async def delete(
        self, file_id: FileId, if_match: RevisionId, mutation_id: MutationId | None = None
    ) -> schemas.FileChange:
        """Delete a file if its head is ``if_match``; raises `HeadMovedError`.

        This uses a changeset, as the operation for a single file has no mutation id.
        """
        result = await self.push([Delete(file_id, if_match)], mutation_id)
        return result.changes[0]

    async def restore(
        self,
        file_id: FileId,
        if_match: RevisionId,
        *,
        path: str | None = None,
        revision_id: RevisionId | None = None,
        rewrite_links: bool = False,
        mutation_id: MutationId | None = None,
    ) -> schemas.FileChange:
        """Restore a deleted file, or the text of a revision (restoreFile).

        Raises `HeadMovedError`; the head of a deleted file is the revision that deleted it. With
        ``rewrite_links``, the links of a note keep their targets at another path.
        """
        body = present_members(
            path=path, revisionId=revision_id, rewriteLinks=rewrite_links or None
        )
        target = f"/files/{file_id}/restore"
        return await self._ask(schemas.FileChange, "POST", target, body, mutation_id, if_match)

    async def save(
        self,
        file_id: FileId,
        epoch: Epoch,
        update: bytes,
        state_vector: bytes,
        mutation_id: MutationId | None = None,
    ) -> schemas.NoteSave:
        """Merge a Yjs update into a document, and return the update it lacks (saveNote).

        `NoteDocument` does this and keeps unsaved edits. Raises `EpochMismatchError`.
        """
        body = {
            "epoch": epoch,
            "update": b64encode(update).decode(),
            "stateVector": b64encode(state_vector).decode(),
        }
        return await self._ask(
            schemas.NoteSave, "POST", f"/files/{file_id}/saves", body, mutation_id
        )

    async def purge(
        self, file_id: FileId, mutation_id: MutationId | None = None
    ) -> schemas.FileChange:
        """Remove the contents of a deleted file permanently (purgeFile)."""
        return await self._ask(
            schemas.FileChange, "POST", f"/files/{file_id}/purge", {}, mutation_id
        )

    # Images and archives

    async def upload_image(
        self, source: Source, name: str, media_type: str
    ) -> schemas.AttachmentUploadResult:
        """Upload an image, which becomes a file with `attach` (uploadAttachment).

        It is temporary: an upload that is not attached expires. Chunks can be sent only once, so an
        upload from an iterator is not retried. Raises OSError if the file can't be read.

        Args:
            source: the file, its bytes, or chunks of them; neither is held in memory as a whole.
            name: the file name; its ending must be one of the type.
            media_type: such as ``image/png``.
        """
        length: int | None = None
        attempts: int | None = None
        if isinstance(source, Path):
            length = (await trio.Path(source).stat()).st_size
        elif isinstance(source, bytes):
            length = len(source)
        else:
            attempts = 1
        form = FileForm(source, length, name, media_type, self.connection.new_id())
        # Sent again, it makes another upload; the first one expires.
        request = Request(
            "POST", f"{self.path}/attachments", effect="repeatable", content=form, attempts=attempts
        )
        return await self.connection.ask(schemas.AttachmentUploadResult, request)

    async def attach(
        self,
        object_id: str,
        path: str,
        file_id: FileId | None = None,
        if_match: RevisionId | None = None,
        mutation_id: MutationId | None = None,
    ) -> schemas.FileChange:
        """Make an uploaded image the file at ``path``, or the next revision (finalizeAttachment).

        Args:
            object_id: the upload, which can be attached once.
            path: below ``attachments/``, with an ending of the type of the image.
            file_id: the image file to replace, or an id chosen for a new one.
            if_match: the head of the file to replace; `HeadMovedError` if it is another one.
            mutation_id: repeats a change.
        """
        body = present_members(path=path, fileId=file_id)
        target = f"/attachments/{object_id}/finalize"
        return await self._ask(schemas.FileChange, "POST", target, body, mutation_id, if_match)

    async def import_archive(
        self,
        source: Source,
        *,
        size: int = 0,
        import_id: str | None = None,
        progress: Callable[[ImportProgress], object] = lambda _: None,
        abort_on_cancel: bool = False,
    ) -> schemas.ImportWorkspaceResult:
        """Import a zip archive: send it in parts, complete the import, wait for the result.

        Nothing is committed before the whole archive was sent and checked. The import survives
        lost connections and restarts of the server, within the limits of `Retrying`. If it fails or
        is cancelled, call again with its ``import_id``: parts that the server has are not sent
        again, and files that were imported are not imported again. If it is cancelled while
        the server imports, the import goes on. An import that was refused is removed from the
        server, unless it was continued with its ``import_id``.

        Args:
            source: the archive; chunks of it are read once, and a part is held in memory.
            size: its size in bytes, or more, if ``source`` is chunks; 0 if it is not known.
            import_id: continue this import, with the same archive.
            progress: called with the progress, first with the id of the import; must not raise.
            abort_on_cancel: remove the import if this call is cancelled.

        Raises:
            ArchiveDiffers: the import has parts of another archive.
            OSError: the file can't be read.
            ClientError: as other methods.
        """
        if isinstance(source, Path):
            size = (await trio.Path(source).stat()).st_size
        elif isinstance(source, bytes):
            size = len(source)
        importing = ArchiveImport(self.connection, self.path, size, progress)
        return await import_archive(importing, source, import_id, abort_on_cancel=abort_on_cancel)

    async def import_state(self, import_id: str) -> schemas.Import:
        """Return how far an import of the account is (getWorkspaceImport)."""
        return await self.connection.ask(
            schemas.Import, Request("GET", f"{self.path}/imports/{import_id}")
        )

    async def abort_import(self, import_id: str) -> None:
        """Remove an import with its parts, if it exists (abortWorkspaceImport).

        Files that were imported stay.
        """
        await self.connection.send(
            Request("DELETE", f"{self.path}/imports/{import_id}", effect="repeatable")
        )

    # Results

    async def receipt(self, mutation_id: MutationId) -> schemas.ChangesetResult | None:
        """Return the result of a change; None if it was not accepted so far (getReceipt)."""
        request = Request("GET", f"{self.path}/receipts/{mutation_id}")
        try:
            return await self.connection.ask(schemas.ChangesetResult, request)
        except NotFoundError:
            return None

    def new_file_id(self) -> FileId:
        """Return an id for a new file."""
        return FileId(self.connection.new_id())

    async def _ask(
        self,
        kind: type[M],
        method: str,
        path: str,
        body: dict[str, Any],
        mutation_id: MutationId | None,
        if_match: RevisionId | None = None,
    ) -> M:
        mutation_id = mutation_id or self.connection.new_mutation()
        request = Request(
            method,
            self.path + path,
            {**body, "mutationId": mutation_id},
            headers={} if if_match is None else {"if-match": f'"{if_match}"'},
            effect="repeatable",
            mutation_id=mutation_id,
        )
        return await self.connection.ask(kind, request)
