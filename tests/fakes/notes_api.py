"""The application of the workspace operations, and clients that are members."""

import json
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any
from urllib.parse import urlencode

from antechamber.network_prefix import network_prefix
from greenroom import Directory, Supervisor
from octavo_rules.identity import READ, WRITE, AccountId, Cursor, ProgramNumber, WorkspaceId
from octavo_rules.problems import NotSignedIn

from octavo.access.after_commit import AfterCommit
from octavo.access.attempts import Attempts
from octavo.access.audit import Audit
from octavo.access.caller import Caller
from octavo.access.workspaces import Access
from octavo.actors.workspace.actor import WorkspaceActor, workspaces
from octavo.actors.workspace.messages import WorkspaceMessage
from octavo.features.accounts.api.authentication import AttemptLimiter
from octavo.features.archives.api.exports import ExportOperations
from octavo.features.archives.api.imports import ImportOperations
from octavo.features.archives.job import RecentWrites
from octavo.features.files.api.attachments import AttachmentOperations, UploadedImages
from octavo.features.files.api.changeset_submission import ChangesetSubmitter
from octavo.features.files.api.changesets import ChangesetOperations, SaveOperations
from octavo.features.files.api.contents import ContentOperations
from octavo.features.files.api.files import FileOperations, RevisionTexts
from octavo.features.files.api.reading import CurrentTexts, ReadingOperations, current_texts
from octavo.features.history.api.client_changes import ClientChangeOperations
from octavo.features.history.api.history import HistoryOperations
from octavo.features.history.api.restorations import RestorationOperations
from octavo.features.history.restorations import Restorations
from octavo.features.history.undo import ProgramUndo
from octavo.features.links.api import LinkOperations
from octavo.features.links.reading import link_sources
from octavo.features.mcp.api.mcp import Exchange, McpOperations, OwnOriginOnly, token_missing
from octavo.features.mcp.api.mcp_notes import mcp_exchange
from octavo.features.members.api.invitations import InvitationOperations
from octavo.features.members.api.members import MemberOperations
from octavo.features.members.api.workspaces import WorkspaceOperations
from octavo.features.members.invitations import Invitations
from octavo.features.members.members import Members
from octavo.features.oauth.sql.oauth_programs import number_of
from octavo.features.publishing.api.link_reports import LinkReportOperations
from octavo.features.publishing.api.publications import PublicationOperations
from octavo.features.publishing.api.published import PublishedOperations
from octavo.features.publishing.api.reader_problems import reader_problems
from octavo.features.search.api import SearchOperations
from octavo.features.search.note_search import SearchedTexts
from octavo.features.sync.api import SyncOperations
from octavo.features.usage.api import Metering
from octavo.features.usage.meter import UsageMeter
from octavo.features.usage.storage import StorageQuota
from octavo.http.contract.application import Application
from octavo.http.contract.call import Call
from octavo.http.contract.operation import Security
from octavo.http.refusals import problem_of
from octavo.model.access.account import AccessLimits, ClientId, GrantId, parse_scopes
from octavo.model.access.account import Role as AccountRole
from octavo.model.usage import NO_LIMITS, InstallationLimits
from octavo.store import Transaction, Value
from tests.fakes.archives_rig import ArchivesRig, archives_rig
from tests.fakes.asgi_client import Response, ask
from tests.fakes.faulty_store import FaultyStore
from tests.fakes.identity_fixture import PredictableSources
from tests.fakes.images_rig import ImagesRig, images_rig
from tests.fakes.inline_documents import inline_documents
from tests.fakes.publishing_rig import PUBLIC_URL, PublishingRig, published_html, publishing_rig
from tests.fakes.restoring_rig import ALL_KEPT, restoring_job
from tests.fakes.stores import open_inline

Json = dict[str, Any]
ROLES = ("owner", "administrator", "editor", "reader")
NOBODYS = "01900000-0000-7000-8000-ffffffffffff"
ADMINISTRATOR = "root"
"""The administrator of the installation."""
WRITER = "01900000-0000-7000-8000-cccccccccccc"


def account_id(name: str) -> AccountId:
    """The id of the account that tests call ``name``; a UUID stands for itself."""
    if len(name) == len(NOBODYS):
        return AccountId(name)
    return AccountId(f"01900000-0000-7000-8000-{name.encode().hex()[:12]:0>12}")


class ByName:
    """Authenticates the name in ``authorization``; the accounts ``locked`` are locked.

    A name followed by a space and a word is a key of the account, with ``limits``, or an access
    token of the program in ``programs``.
    """

    def __init__(self) -> None:
        self.locked: set[str] = set()
        self.limits: dict[str, AccessLimits] = {}
        self.programs: dict[str, ProgramNumber] = {}

    async def authenticate(self, call: Call) -> Caller:
        given = call.header(b"authorization")
        if given is None:
            raise NotSignedIn
        credential = given.decode()
        name = credential.partition(" ")[0]
        role: AccountRole = "administrator" if name == ADMINISTRATOR else "member"
        limits = self.limits.get(credential)
        program = self.programs.get(credential)
        return Caller(
            account_id(name),
            role,
            name in self.locked,
            limits=limits,
            grant_id=None if program is None else GrantId(NOBODYS),
            program=program,
        )


class ByToken:
    """Authenticates the name in ``authorization: Bearer …`` with tokens that may only read.

    ``name+write`` may change notes, too. The accounts ``locked`` are locked, and those ``due`` have
    documents to accept.
    """

    def __init__(self) -> None:
        self.locked: set[str] = set()
        self.due: set[str] = set()

    async def authenticate(self, call: Call) -> Caller:
        given = (call.header(b"authorization") or b"").decode()
        if not given.startswith("Bearer "):
            raise token_missing(PUBLIC_URL)
        name, _, write = given.removeprefix("Bearer ").partition("+")
        limits = AccessLimits(frozenset({READ, WRITE} if write else {READ}))
        return Caller(
            account_id(name), "member", name in self.locked, name in self.due, limits=limits
        )


@dataclass
class Client:
    """A caller, identified by account name."""

    application: Application
    name: str

    async def ask(
        self,
        method: str,
        target: str,
        document: object = None,
        /,
        **headers: str,
    ) -> Response:
        """Send ``document`` as JSON, if there is one; bytes are sent unchanged."""
        sent = [(b"authorization", self.name.encode())]
        sent += [(n.replace("_", "-").encode(), v.encode("latin-1")) for n, v in headers.items()]
        if document is None:
            return await ask(self.application, method, target, headers=sent)
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        if "content_type" not in headers:
            sent.append((b"content-type", b"application/json"))
        sent.append((b"content-length", b"%d" % len(body)))
        return await ask(self.application, method, target, headers=sent, body=[body])

    async def get(self, target: str, /, **headers: str) -> Response:
        return await self.ask("GET", target, None, **headers)

    async def put(self, target: str, document: object, /, **headers: str) -> Response:
        return await self.ask("PUT", target, document, **headers)

    async def post(self, target: str, document: object, /, **headers: str) -> Response:
        return await self.ask("POST", target, document, **headers)

    async def delete(self, target: str, /, **headers: str) -> Response:
        return await self.ask("DELETE", target, None, **headers)

    async def upload(
        self,
        place: str,
        data: bytes,
        name: str = "a.png",
        media_type: str = "image/png",
        **more: str,
    ) -> Response:
        """Upload an image to a workspace, with ``more`` fields before it."""
        body, content_type = form(data, name, media_type, more)
        return await self.post(f"{place}/attachments", body, content_type=content_type)

    async def pages(self, target: str, limit: int) -> list[Json]:
        """The items of every page of a list, from the first to the last."""
        items: list[Json] = []
        joint = "&" if "?" in target else "?"
        after = ""
        while True:
            page = (await self.get(f"{target}{joint}limit={limit}{after}")).json()
            items += page["items"]
            assert len(page["items"]) <= limit
            if page["next"] is None:
                return items
            assert len(page["items"]) == limit
            after = f"&after={page['next']}"


def form(
    data: bytes, name: str, media_type: str = "image/png", fields: Mapping[str, str] | None = None
) -> tuple[bytes, str]:
    """The body of an upload, and its media type."""
    body = b"".join(
        f'--b\r\ncontent-disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'.encode()
        for field, value in (fields or {}).items()
    )
    body += (
        f'--b\r\ncontent-disposition: form-data; name="file"; filename="{name}"\r\n'
        f"content-type: {media_type}\r\n\r\n"
    ).encode()
    return body + data + b"\r\n--b--\r\n", "multipart/form-data; boundary=b"


@dataclass
class NotesApi:
    """A workspace with a member of each role, a stranger, and the files they change."""

    application: Application
    store: FaultyStore
    directory: Directory[WorkspaceId, WorkspaceMessage]
    sources: PredictableSources
    authenticator: ByName
    tokens: ByToken
    images: ImagesRig
    archives: ArchivesRig
    publishing: PublishingRig
    meter: UsageMeter
    storage: StorageQuota
    texts: CurrentTexts
    workspace_id: str = ""
    announced: list[tuple[str, int]] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)

    def client(self, name: str) -> Client:
        return Client(self.application, name)

    def key(
        self,
        *scopes: str,
        workspaces: Collection[str] | None = None,
        folder: str | None = None,
        account: str = "owner",
    ) -> Client:
        """A limited key of an account; one of a folder is limited to the workspace."""
        if folder is not None and workspaces is None:
            workspaces = [self.workspace_id]
        chosen = None if workspaces is None else frozenset(map(WorkspaceId, workspaces))
        credential = f"{account} key-{len(self.authenticator.limits)}"
        limits = AccessLimits(parse_scopes(scopes), chosen, folder)
        self.authenticator.limits[credential] = limits
        return self.client(credential)

    async def program(self, client_id: str, name: str, account: str = "owner") -> Client:
        """A program that acts for an account, as by the MCP endpoint."""

        async def script(transaction: Transaction) -> ProgramNumber:
            return await number_of(transaction, ClientId(client_id), name)

        credential = f"{account} program-{len(self.authenticator.programs)}"
        self.authenticator.programs[credential] = await self.store.write(script)
        return self.client(credential)

    @property
    def owner(self) -> Client:
        return self.client("owner")

    @property
    def place(self) -> str:
        """The URL of the workspace."""
        return f"/api/workspaces/{self.workspace_id}"

    @property
    def files(self) -> str:
        return f"{self.place}/files"

    async def note(self, path: str, text: str = "text", **more: str) -> "Note":
        """Create a note as the owner."""
        response = await self.owner.post(self.files, {"path": path, "text": text, **more})
        assert response.status == 201, response.body
        return Note(self, response.json()["fileId"], tag_of(response))

    async def upload(self, data: bytes, name: str = "a.png", media_type: str = "image/png") -> str:
        """Upload an image as the owner; return the id of the object."""
        response = await self.owner.upload(self.place, data, name, media_type)
        assert response.status == 201, response.body
        return str(response.json()["objectId"])

    async def publish(self, target: Json, **how: object) -> "Published":
        """Publish something as the owner."""
        response = await self.owner.post(f"{self.place}/publications", {"target": target, **how})
        assert response.status == 201, response.body
        return Published(self, response.json()["id"], response.json()["token"])

    async def push(self, *operations: Json, mutation: str | None = None) -> Response:
        document = {"mutationId": mutation or self.new_id(), "operations": list(operations)}
        return await self.owner.post(f"{self.place}/changesets", document)

    def new_id(self) -> str:
        return self.sources.new_id()

    async def execute(self, sql: str, *arguments: Value) -> None:
        async def script(transaction: Transaction) -> None:
            await transaction.execute(sql, *arguments)

        await self.store.write(script)

    async def forget_indexes(self) -> None:
        """Reset all files to the state before the indexes of links and words existed."""
        for table in (
            "link_index",
            "link_targets",
            "link_sources",
            "fulltext_notes",
            "index_cursors",
        ):
            await self.execute(f"DELETE FROM {table}")

    async def invitation(self, invitation_id: str) -> None:
        """An invitation into the workspace."""
        await self.execute(
            "INSERT INTO invitations"
            " (id, digest, role, created_at, expires_at, workspace_id, workspace_role)"
            " VALUES ($1::uuid, $2, 'member', 0, 0, $3::uuid, 'reader') ON CONFLICT DO NOTHING",
            invitation_id,
            b"",
            self.workspace_id,
        )

    async def member(self, name: str, role: str) -> None:
        """An account; with a role, a member of the workspace."""
        await self.execute(
            "INSERT INTO accounts (id, address, display_name, password, role, state, created_at,"
            " updated_at) VALUES ($1::uuid, $2, $2, '', 'member', 'enabled', 0, 0)"
            " ON CONFLICT DO NOTHING",
            account_id(name),
            name,
        )
        if role:
            await self.execute(
                "INSERT INTO members (workspace_id, account_id, role, joined_at)"
                " VALUES ($1::uuid, $2::uuid, $3, 0) ON CONFLICT DO NOTHING",
                self.workspace_id,
                account_id(name),
                role,
            )


@dataclass
class Note:
    """A file, and the entity tag of its last known head."""

    api: NotesApi
    id: str
    tag: str

    @property
    def place(self) -> str:
        return f"{self.api.files}/{self.id}"

    @property
    def revision(self) -> str:
        return self.tag.strip('"')

    async def read(self, **headers: str) -> Response:
        return await self.api.owner.get(self.place, **headers)

    async def update(self, **document: object) -> Response:
        return self._seen(await self.api.owner.put(self.place, document, if_match=self.tag))

    async def delete(self) -> Response:
        return self._seen(await self.api.owner.delete(self.place, if_match=self.tag))

    async def restore(self, **document: object) -> Response:
        return self._seen(
            await self.api.owner.post(f"{self.place}/restore", document, if_match=self.tag)
        )

    async def purge(self, **document: str) -> Response:
        return self._seen(await self.api.owner.post(f"{self.place}/purge", document))

    def _seen(self, response: Response) -> Response:
        if response.status == 200:
            self.tag = tag_of(response)
        return response


@dataclass
class Published:
    """A published link, as readers reach it."""

    api: NotesApi
    id: str
    token: str

    @property
    def path(self) -> str:
        return f"/published/{self.token}"

    async def read(self, query: str = "") -> str:
        """The page, without what differs between tokens."""
        return self._page(await ask(self.api.application, "GET", self.path + query))

    async def open(self, password: str = "", query: str = "") -> str:
        """The page after the form."""
        body = urlencode({"password": password}).encode()
        return self._page(
            await ask(
                self.api.application,
                "POST",
                self.path + query,
                headers=[
                    (b"content-type", b"application/x-www-form-urlencoded"),
                    (b"content-length", b"%d" % len(body)),
                ],
                body=[body],
            )
        )

    async def image(self, path: str) -> Response:
        """Get an image by its address on a page."""
        return await ask(self.api.application, "GET", f"/published/{path}")

    def _page(self, response: Response) -> str:
        assert response.status == 200, response.body
        return response.body.decode().replace(self.token, "TOKEN")


def tag_of(response: Response) -> str:
    tag = response.header("etag")
    assert tag is not None
    return tag


def refusal(response: Response) -> tuple[int, str]:
    """The status and the code of a problem."""
    return response.status, response.code


@asynccontextmanager
async def opened(
    limits: InstallationLimits = NO_LIMITS, fresh: float = 0.0
) -> AsyncIterator[NotesApi]:
    """Serve a workspace whose members are named after their roles, and a ``stranger``.

    Roles are cached for ``fresh`` seconds.
    """
    inline = open_inline()
    store, sources = FaultyStore(inline), PredictableSources()
    meter = UsageMeter(store, now=sources.now, writer_id=WRITER, limits=limits)
    storage = StorageQuota(store)
    making = images_rig(
        store,
        now=sources.now,
        new_id=sources.new_id,
        new_entropy=sources.new_entropy,
        meter=meter,
        storage=storage,
    )
    with closing(inline):
        async with making as images:
            access = Access(store, fresh=fresh)
            async with _serving(store, access, sources, images, meter, storage) as api:
                yield api


@asynccontextmanager
async def _serving(
    store: FaultyStore,
    access: Access,
    sources: PredictableSources,
    images: ImagesRig,
    meter: UsageMeter,
    storage: StorageQuota,
) -> AsyncIterator[NotesApi]:
    authenticator, tokens = ByName(), ByToken()
    announced: list[tuple[str, int]] = []
    gone: list[str] = []
    others = RecentWrites()

    def announce(workspace_id: WorkspaceId, cursor: Cursor) -> None:
        announced.append((workspace_id, cursor.position))
        others.committed(workspace_id)

    root = Supervisor("test")
    directory = root.add(
        workspaces(
            partial(
                WorkspaceActor,
                store=store,
                links=link_sources(store),
                now=sources.now,
                new_id=sources.new_id,
                announce=announce,
                shared=False,
                documents=inline_documents(),
                storage=storage,
            )
        )
    )
    audit = Audit(
        store,
        now=sources.now,
        new_id=sources.new_audit_id,
        network=network_prefix,
        log=lambda _: None,
        after=AfterCommit(),
    )
    pushing = ChangesetSubmitter(directory, access, sources.new_id)
    attempts, metering = Attempts(), Metering(meter)
    archives = archives_rig(
        store, images, directory, storage, others, root, now=sources.now, new_id=sources.new_id
    )
    publishing = publishing_rig(
        store,
        audit=audit,
        meter=meter,
        attempts=attempts,
        now=sources.now,
        new_id=sources.new_id,
        new_entropy=sources.new_entropy,
        cleaned=images.thumbnails.without_metadata,
    )
    texts = RevisionTexts(store, access)
    texts_at_heads = current_texts(directory, store)
    restoring = restoring_job(store, directory, root, now=sources.now)
    restorations = Restorations(store, restoring, now=sources.now, kept=ALL_KEPT)

    @cache
    def loaded_exchange() -> Exchange:
        return mcp_exchange(application.perform, public_url=PUBLIC_URL, writes=True)

    async def exchange() -> Exchange:
        return loaded_exchange()

    uploaded = UploadedImages(store, access, sources.now)
    application = Application(
        [
            WorkspaceOperations(
                store,
                access,
                now=sources.now,
                new_id=sources.new_id,
                gone=gone.append,
                erased=texts_at_heads.forget,
            ),
            MemberOperations(Members(store, audit=audit, now=sources.now), access),
            InvitationOperations(
                Invitations(
                    store,
                    attempts,
                    audit=audit,
                    now=sources.now,
                    new_id=sources.new_id,
                    new_token=sources.new_entropy,
                ),
                access,
                now=sources.now,
                public_url=PUBLIC_URL,
            ),
            FileOperations(pushing, texts),
            SaveOperations(pushing, metering, store),
            ChangesetOperations(pushing, store, uploaded),
            AttachmentOperations(pushing, images.uploads, uploaded, texts),
            ContentOperations(store, images.blobs, images.thumbnails, access, metering),
            ImportOperations(archives.imports, access),
            ExportOperations(archives.exports, access, authenticator, metering, now=sources.now),
            ReadingOperations(pushing, store, metering, texts_at_heads),
            HistoryOperations(store, access, metering),
            ClientChangeOperations(
                pushing, ProgramUndo(store, directory, now=sources.now, kept=ALL_KEPT), store
            ),
            RestorationOperations(restorations, access, sources.new_id),
            LinkOperations(store, access),
            SearchOperations(store, access, metering, SearchedTexts()),
            SyncOperations(store, access, authenticator, metering),
            PublicationOperations(publishing.links, access, now=sources.now, public_url=PUBLIC_URL),
            PublishedOperations(
                publishing.reading, publishing.reports, publishing.pages, images.blobs, meter
            ),
            LinkReportOperations(publishing.reports, public_url=PUBLIC_URL),
            McpOperations(exchange),
        ],
        failure_problem=problem_of,
        problem_html=reader_problems(published_html),
        new_id=lambda: "made-here",
        log_request=lambda _: None,
        authenticators={
            Security.SESSION_OR_KEY: authenticator,
            Security.MCP: OwnOriginOnly(tokens, origin=PUBLIC_URL),
        },
        rate_limiter=AttemptLimiter(attempts),
        strict=True,
    )
    api = NotesApi(
        application,
        store,
        directory,
        sources,
        authenticator,
        tokens,
        images,
        archives,
        publishing,
        meter,
        storage,
        texts_at_heads,
        announced=announced,
        gone=gone,
    )
    async with root.running():
        await api.member("owner", "")
        made = await api.owner.post("/api/workspaces", {"name": "Vault"})
        api.workspace_id = made.json()["id"]
        for role in ROLES[1:]:
            await api.member(role, role)
        await api.member("stranger", "")
        yield api
