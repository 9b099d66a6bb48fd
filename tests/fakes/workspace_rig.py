"""A workspace served without sockets or threads, for tests of its guarantees."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from greenroom import Directory, Intensity, Runtime, Supervisor
from greenroom.runtime import Faults
from octavo_rules.content import note_text
from octavo_rules.identity import AccountId, FileId, MutationId, Position, WorkspaceId
from octavo_rules.problems import Problem

from octavo.actors.workspace.actor import WorkspaceActor, workspaces
from octavo.actors.workspace.messages import (
    ChangesetRefused,
    HeadOf,
    Push,
    RebuildDocuments,
    WorkspaceMessage,
)
from octavo.actors.workspace.planning import DocumentServices, read_current
from octavo.features.links.reading import link_sources
from octavo.model.files.changeset import (
    ChangeOperation,
    Changeset,
    CreateFile,
    UpdateFile,
    fingerprint,
)
from octavo.model.files.plan import Receipt
from octavo.model.files.revision import Revision
from octavo.store import Store, Transaction
from octavo.store.queries.files import WholeFile, whole_file
from octavo.store.queries.workspaces import create
from octavo.store.sqlite import InlineStore
from tests.fakes.inline_documents import inline_documents
from tests.fakes.stores import open_inline

VAULT = WorkspaceId("vault")
ANN = AccountId("ann")


@dataclass
class Rig:
    """Clients of one workspace, and what they learned."""

    store: Store
    directory: Directory[WorkspaceId, WorkspaceMessage]
    announced: list[Position]
    purged: list[str] = field(default_factory=list)
    ids: Iterator[int] = field(default_factory=count)

    async def push(
        self,
        *operations: ChangeOperation,
        mutation: str | None = None,
        workspace_id: WorkspaceId = VAULT,
    ) -> Receipt:
        """Push a changeset; raise what the actor refuses it with."""
        mutation_id = MutationId(mutation or f"m{next(self.ids)}")
        changeset = Changeset(
            mutation_id,
            fingerprint(operations),
            ANN,
            operations,
            repeatable=mutation is not None,
        )
        return await self.directory.ask(workspace_id, Push(changeset))

    async def refusal(self, *operations: ChangeOperation, mutation: str | None = None) -> Problem:
        """Push a changeset that is refused; return the refusal."""
        try:
            receipt = await self.push(*operations, mutation=mutation)
        except ChangesetRefused as refused:
            return refused.refusal
        raise AssertionError(f"was accepted: {receipt}")

    async def whole(self, file: str) -> WholeFile:
        """Return a file with its present document, as the operations of the service do."""
        found = await read_current(
            lambda merge: self.store.read(whole_file(VAULT, FileId(file), merge)),
            lambda found: () if found is None else (found,),
            self._follow,
        )
        assert found is not None
        return found

    async def _follow(self, message: RebuildDocuments) -> bool:
        await self.directory.ask(VAULT, message)
        return True

    async def head(self, file: str) -> Revision | None:
        return await self.directory.ask(VAULT, HeadOf(FileId(file)))


def note(file: str, path: str, text: str = "text") -> CreateFile:
    return CreateFile(FileId(file), path, note_text(text))


def edit(
    head: Revision | str, *, file: str = "a", text: str | None = None, path: str | None = None
) -> UpdateFile:
    """An update that expects ``head``, or the revision of that id on ``file``."""
    expected = head if isinstance(head, str) else head.revision_id
    file_id = FileId(file) if isinstance(head, str) else head.file_id
    content = None if text is None else note_text(text)
    return UpdateFile(file_id, frozenset({expected}), content, path)


async def create_workspace(store: Store, workspace_id: WorkspaceId = VAULT) -> None:
    """Create a workspace, and its owner if needed."""

    async def owner(transaction: Transaction) -> None:
        await transaction.execute(
            "INSERT INTO accounts (id, address, display_name, password, role, state, created_at,"
            " updated_at)"
            " VALUES ($1::uuid, 'ann@example.org', 'Ann', '', 'member', 'enabled', 0, 0)"
            " ON CONFLICT DO NOTHING",
            ANN,
        )

    await store.write(owner)
    await store.write(create(workspace_id, "Vault", ANN, 0))


@asynccontextmanager
async def serving(
    store: Store | None = None,
    *,
    faults: Faults | None = None,
    shared: bool = False,
    documents: DocumentServices | None = None,
    name: str = "r",
    now: Callable[[], float] = lambda: 1_790_000_000.0,
) -> AsyncIterator[Rig]:
    """Serve the workspace ``VAULT``, created with the store; ids begin with ``name``."""
    own: InlineStore | None = None
    if store is None:
        store = own = open_inline()
        await create_workspace(store)
    announced: list[Position] = []
    purged: list[str] = []
    revisions = count()
    root = Supervisor(
        "test", intensity=Intensity(restarts=1000, period=1), runtime=Runtime(faults=faults)
    )
    spec = workspaces(
        partial(
            WorkspaceActor,
            store=store,
            links=link_sources(store),
            now=now,
            new_id=lambda: f"{name}{next(revisions)}",
            announce=lambda _, cursor: announced.append(cursor.position),
            shared=shared,
            documents=inline_documents() if documents is None else documents,
            purged=lambda: purged.append(name),
        )
    )
    directory = root.add(spec)
    try:
        async with root.running():
            yield Rig(store, directory, announced, purged)
    finally:
        if own is not None:
            own.close()
