"""The operations of identity and of published links, with notes that can be published."""

from collections.abc import Sequence

from octavo.actors.core import Directory, Supervisor
from octavo.actors.workspace.actor import WorkspaceActor, workspaces
from octavo.actors.workspace.messages import Push
from octavo.http.api.changeset_submission import ChangesetSubmitter
from octavo.http.api.link_reports import LinkReportOperations
from octavo.http.api.metering import Metering
from octavo.http.api.publications import PublicationOperations
from octavo.http.api.reading import ReadingOperations
from octavo.model.files.changeset import Changeset, CreateFile
from octavo.model.files.content import note_text
from octavo.model.identity import AccountId, Digest, FileId, MutationId, WorkspaceId
from octavo.model.publishing.report import Reason
from octavo.usage.meter import UsageMeter
from tests.fakes.identity_fixture import IdentityFixture
from tests.fakes.inline_documents import inline_documents
from tests.fakes.publishing_rig import publishing_rig
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
        super().__init__(identity, more=self._publishing)

    def _publishing(self, api: UsersApi) -> Sequence[object]:
        _, directory = self._workspaces()
        submitter = ChangesetSubmitter(directory, api.access, self.identity.sources.new_id)
        return [
            # Lists of files ask no actor.
            ReadingOperations(submitter, self.identity.store, Metering(self.meter)),
            PublicationOperations(
                self.publishing.links,
                api.access,
                now=self.identity.sources.now,
                public_url=ORIGIN,
            ),
            LinkReportOperations(self.publishing.reports, public_url=ORIGIN),
        ]

    def _workspaces(self) -> tuple[Supervisor, Directory[WorkspaceId, WorkspaceActor]]:
        root = Supervisor("test")
        spec = workspaces(
            self.identity.store,
            now=self.identity.sources.now,
            new_id=self.identity.sources.new_id,
            announce=lambda *_: None,
            shared=False,
            documents=inline_documents(),
        )
        return root, root.add(spec)

    async def write_notes(self, workspace_id: str, *paths: str) -> None:
        """Create notes at paths of a workspace."""
        new_id = self.identity.sources.new_id
        creations = tuple(
            CreateFile(FileId(new_id()), path, note_text(f"The text of {path}.")) for path in paths
        )
        changeset = Changeset(
            MutationId(new_id()), Digest(""), _NOBODY, creations, repeatable=False
        )
        root, directory = self._workspaces()
        async with root.running():
            await directory.ask(WorkspaceId(workspace_id), Push(changeset))

    async def report(self, address: str, reason: Reason, note: str | None = None) -> None:
        """Report the link of an address, as a reader."""
        token = address.rpartition("/")[2]
        await self.publishing.reports.submit(token, reason, note)
