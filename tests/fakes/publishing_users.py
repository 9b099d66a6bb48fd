"""The operations of identity and of published links, with notes that can be published."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from secrets import token_hex
from shutil import rmtree
from tempfile import gettempdir

from greenroom import Directory, Supervisor
from octavo_rules.content import note_text
from octavo_rules.identity import AccountId, Digest, FileId, MutationId, ProgramNumber, WorkspaceId

from octavo.actors.workspace.actor import WorkspaceActor, workspaces
from octavo.actors.workspace.messages import Push, WorkspaceMessage
from octavo.features.accounts.api.authentication import SessionOrKey
from octavo.features.archives.api.exports import ExportOperations
from octavo.features.archives.api.imports import ImportOperations
from octavo.features.archives.job import RecentWrites
from octavo.features.files.api.attachments import AttachmentOperations, UploadedImages
from octavo.features.files.api.changeset_submission import ChangesetSubmitter
from octavo.features.files.api.changesets import ChangesetOperations
from octavo.features.files.api.files import FileOperations, RevisionTexts
from octavo.features.files.api.reading import ReadingOperations, current_texts
from octavo.features.history.api.client_changes import ClientChangeOperations
from octavo.features.history.api.history import HistoryOperations
from octavo.features.history.api.restorations import RestorationOperations
from octavo.features.history.restorations import Restorations
from octavo.features.history.undo import ProgramUndo
from octavo.features.links.api import LinkOperations
from octavo.features.links.reading import link_sources
from octavo.features.oauth.sql.oauth_programs import number_of
from octavo.features.publishing.api.link_reports import LinkReportOperations
from octavo.features.publishing.api.publications import PublicationOperations
from octavo.features.publishing.rules import Reason
from octavo.features.search.api import SearchOperations
from octavo.features.search.note_search import SearchedTexts
from octavo.features.usage.api import Metering
from octavo.features.usage.meter import UsageMeter
from octavo.features.usage.storage import StorageQuota
from octavo.model.access.account import ClientId
from octavo.model.files.changeset import ChangeOperation, Changeset, CreateFile
from octavo.store import Transaction
from octavo.store.blobs import open_staging
from tests.fakes.archives_rig import archives_rig
from tests.fakes.identity_fixture import IdentityFixture
from tests.fakes.images_rig import images_in
from tests.fakes.inline_documents import inline_documents
from tests.fakes.publishing_rig import publishing_rig
from tests.fakes.restoring_rig import ALL_KEPT, restoring_job
from tests.fakes.users_api import ORIGIN, UsersApi

_WRITER = "01900000-0000-7000-8000-cccccccccccc"
_NOBODY = AccountId("01900000-0000-7000-8000-dddddddddddd")


class PublishingUsers(UsersApi):
    """An installation whose workspaces have notes, and publish them."""

    def __init__(self, identity: IdentityFixture) -> None:
        sources = identity.sources
        self.meter = UsageMeter(identity.store, now=sources.now, writer_id=_WRITER)
        self.publishing = publishing_rig(
            identity.store,
            audit=identity.audit,
            meter=self.meter,
            attempts=identity.attempts,
            now=sources.now,
            new_id=sources.new_id,
            new_entropy=sources.new_entropy,
        )
        self.identity = identity
        self._root, self._directory = self._workspaces()
        storage = StorageQuota(identity.store)
        # The folder exists while the actors run.
        self._folder = Path(gettempdir(), f"octavo-{token_hex(8)}")
        self.images = images_in(
            self._folder,
            identity.store,
            now=sources.now,
            new_id=sources.new_id,
            new_entropy=sources.new_entropy,
            meter=self.meter,
            storage=storage,
        )
        self.archives = archives_rig(
            identity.store,
            self.images,
            self._directory,
            storage,
            RecentWrites(),
            self._root,
            now=sources.now,
            new_id=sources.new_id,
        )
        self._restoring = restoring_job(
            identity.store, self._directory, self._root, now=sources.now
        )
        super().__init__(identity, more=self._of_notes)

    def _of_notes(self, api: UsersApi) -> Sequence[object]:
        sources, store = self.identity.sources, self.identity.store
        submitter = ChangesetSubmitter(self._directory, api.access, sources.new_id)
        undo = ProgramUndo(store, self._directory, now=sources.now, kept=ALL_KEPT)
        restorations = Restorations(store, self._restoring, now=sources.now, kept=ALL_KEPT)
        metering, texts = Metering(self.meter), RevisionTexts(store, api.access)
        uploaded = UploadedImages(store, api.access, sources.now)
        authenticator = SessionOrKey(
            self.identity.credentials, origin=ORIGIN, legal=self.identity.legal
        )
        return [
            FileOperations(submitter, texts),
            ChangesetOperations(submitter, store, uploaded),
            AttachmentOperations(submitter, self.images.uploads, uploaded, texts),
            ImportOperations(self.archives.imports, api.access),
            ExportOperations(
                self.archives.exports,
                api.access,
                authenticator,
                metering,
                now=sources.now,
                legal=self.identity.legal,
            ),
            HistoryOperations(store, api.access, metering),
            LinkOperations(store, api.access),
            SearchOperations(store, api.access, metering, SearchedTexts()),
            ReadingOperations(submitter, store, metering, current_texts(self._directory, store)),
            ClientChangeOperations(submitter, undo, store),
            RestorationOperations(restorations, api.access, sources.new_id),
            PublicationOperations(
                self.publishing.links, api.access, now=sources.now, public_url=ORIGIN
            ),
            LinkReportOperations(self.publishing.reports, public_url=ORIGIN),
        ]

    def _workspaces(self) -> tuple[Supervisor, Directory[WorkspaceId, WorkspaceMessage]]:
        root = Supervisor("test")
        spec = workspaces(
            partial(
                WorkspaceActor,
                store=self.identity.store,
                links=link_sources(self.identity.store),
                now=self.identity.sources.now,
                new_id=self.identity.sources.new_id,
                announce=lambda *_: None,
                shared=False,
                documents=inline_documents(),
            )
        )
        return root, root.add(spec)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the actors of the workspaces, for the operations that ask them."""
        await open_staging(self._folder, self.images.folder.name)
        try:
            async with self._root.running():
                yield
        finally:
            rmtree(self._folder)

    async def write_notes(self, workspace_id: str, *paths: str) -> None:
        """Create notes at paths of a workspace, while no actor runs."""
        new_id = self.identity.sources.new_id
        creations = tuple(
            CreateFile(FileId(new_id()), path, note_text(f"The text of {path}.")) for path in paths
        )
        changeset = Changeset(
            MutationId(new_id()), Digest(""), AccountId(_NOBODY), creations, repeatable=False
        )
        root, directory = self._workspaces()
        async with root.running():
            await directory.ask(WorkspaceId(workspace_id), Push(changeset))

    async def push(
        self,
        workspace_id: str,
        *operations: ChangeOperation,
        author: str = _NOBODY,
        program: ProgramNumber | None = None,
    ) -> None:
        """Commit a changeset, while the actors run."""
        changeset = Changeset(
            MutationId(self.identity.sources.new_id()),
            Digest(""),
            AccountId(author),
            operations,
            repeatable=False,
            origin="device" if program is None else "mcp",
            program=program,
        )
        await self._directory.ask(WorkspaceId(workspace_id), Push(changeset))

    async def program(self, client_id: str, name: str) -> ProgramNumber:
        """Return the number of a program, which may be new."""

        async def script(transaction: Transaction) -> ProgramNumber:
            return await number_of(transaction, ClientId(client_id), name)

        return await self.identity.store.write(script)

    async def report(self, address: str, reason: Reason, note: str | None = None) -> None:
        """Report the link of an address, as a reader."""
        token = address.rpartition("/")[2]
        await self.publishing.reports.submit(token, reason, note)
