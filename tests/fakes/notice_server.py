"""A server that sends notices over real sockets, and devices that listen."""

import json
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from antechamber.limits import Limits
from antechamber.websocket import Frame
from greenroom import Supervisor, WorkerContext, WorkerSpec

from octavo.access.workspaces import Access
from octavo.actors.notice_hub import NoticeHub
from octavo.actors.workspace.actor import WorkspaceActor, workspaces
from octavo.features.accounts.api.authentication import SessionOrKey
from octavo.features.accounts.sign_in import SignedIn
from octavo.features.files.api.changeset_submission import ChangesetSubmitter
from octavo.features.files.api.files import FileOperations, RevisionTexts
from octavo.features.links.reading import link_sources
from octavo.features.members.api.workspaces import WorkspaceOperations
from octavo.features.sync.notices import PATH, NoticeOperations, NoticeSocket, NoticeStreams
from octavo.http.contract.application import Application
from octavo.http.contract.operation import Security
from octavo.http.contract.request_context import RequestRecord
from octavo.http.refusals import problem_of
from octavo.store.queries.marks import cursor_of
from octavo.ws.notice_stream import SUBPROTOCOL, changed_frame
from packages.antechamber.tests.conftest import Authority
from packages.antechamber.tests.http_server import QUICK, Response, Server, serving
from packages.antechamber.tests.websocket_peer import CLOSE, TEXT, Peer, frame
from tests.fakes.asgi_client import Headers, ask, ask_json
from tests.fakes.asgi_client import Response as AppResponse
from tests.fakes.identity_fixture import IdentityFixture, identity_fixture
from tests.fakes.inline_documents import inline_documents

ORIGIN = "https://notes.example"
ROOMY = replace(QUICK, write_timeout=60, connections_per_client=2000)
FROM_HERE = (b"origin", ORIGIN.encode())
NOBODYS = "01900000-0000-7000-8000-ffffffffffff"


def cookie(made: SignedIn) -> tuple[bytes, bytes]:
    return (b"cookie", b"__Host-octavo=" + made.token.encode())


def head(
    *headers: tuple[bytes, bytes], subprotocol: str | None = SUBPROTOCOL, query: str = ""
) -> bytes:
    """The request that opens the stream."""
    lines = [
        b"GET %b%b HTTP/1.1" % (PATH.encode(), f"?{query}".encode() if query else b""),
        b"host: notes.example",
        b"upgrade: websocket",
        b"connection: Upgrade",
        b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
        b"sec-websocket-version: 13",
        *(name + b": " + value for name, value in headers),
    ]
    if subprotocol is not None:
        lines.append(b"sec-websocket-protocol: " + subprotocol.encode("latin-1"))
    return b"\r\n".join([*lines, b"", b""])


@dataclass
class Device:
    """A device that listens.

    Attributes:
        mark: that of the last message with a position.
    """

    peer: Peer
    mark: str = ""

    async def say(self, **message: object) -> None:
        await self.peer.send(frame(TEXT, json.dumps(message).encode()))

    async def next_message(self) -> dict[str, Any]:
        """Return the next message without its mark."""
        opcode, payload = await self.peer.frame()
        assert opcode == TEXT, payload
        message: dict[str, Any] = json.loads(payload)
        assert ("mark" in message) == ("position" in message)
        self.mark = message.pop("mark", self.mark)
        return message

    async def closed(self) -> int:
        """Return the code that the server closes with; the close is acknowledged."""
        opcode = payload = None
        while opcode != CLOSE:
            opcode, payload = await self.peer.frame()
        assert payload is not None
        await self.peer.send(frame(CLOSE, payload))
        assert await self.peer.frames() == []
        return int.from_bytes(payload[:2], "big")

    async def subscribe(self, workspace_id: str) -> int:
        """Subscribe, and return the position."""
        await self.say(type="subscribe", workspaceId=workspace_id)
        message = await self.next_message()
        position: int = message.pop("position")
        assert message == {"type": "subscribed", "workspaceId": workspace_id}
        return position


@dataclass
class Installation:
    """An installation that sends notices of its changes."""

    identity: IdentityFixture
    hub: NoticeHub[Frame]
    application: Application
    server: Server
    records: list[RequestRecord]

    async def account(self, address: str = "ann@example.org") -> tuple[SignedIn, Headers]:
        """An account, and the headers that its browser sends."""
        made = await self.identity.account(address)
        return made, (cookie(made), FROM_HERE)

    async def workspace(self, headers: Headers) -> str:
        made = await ask_json(
            self.application, "POST", "/api/workspaces", {"name": "Vault"}, headers
        )
        workspace_id: str = made.json()["id"]
        return workspace_id

    async def write(self, workspace_id: str, path: str, headers: Headers) -> int:
        """Create a note; return the position."""
        response = await ask_json(
            self.application,
            "POST",
            f"/api/workspaces/{workspace_id}/files",
            {"path": path, "text": ""},
            headers,
        )
        position: int = response.json()["position"]
        return position

    async def delete(self, workspace_id: str, headers: Headers) -> AppResponse:
        place = f"/api/workspaces/{workspace_id}"
        return await ask(self.application, "DELETE", place, headers=headers)

    async def end_sessions(self, made: SignedIn) -> None:
        account_id = made.account.account_id
        await self.identity.execute("DELETE FROM sessions WHERE account_id = $1::uuid", account_id)
        self.identity.after.account_changed(account_id)

    async def refused(self, request: bytes) -> Response:
        """Return the response to a request that does not open a stream."""
        async with self.server.client() as client:
            return await client.ask(request)

    @asynccontextmanager
    async def device(self, *headers: tuple[bytes, bytes]) -> AsyncIterator[Device]:
        """Open the stream, and receive the hello."""
        async with self.server.client() as client:
            await client.send(head(*headers))
            peer = Peer(client.stream)
            response = await peer.head()
            assert response.startswith(b"HTTP/1.1 101 "), response
            assert b"\r\nsec-websocket-protocol: octavo.notices.v1\r\n" in response.lower()
            device = Device(peer)
            assert await device.next_message() == {"type": "hello", "protocol": SUBPROTOCOL}
            yield device

    @asynccontextmanager
    async def devices(self, count: int, headers: Headers) -> AsyncIterator[list[Device]]:
        async with AsyncExitStack() as stack:
            yield [await stack.enter_async_context(self.device(*headers)) for _ in range(count)]


@asynccontextmanager
async def caller_state(
    authority: Authority | None = None,
    *,
    limits: Limits = ROOMY,
    check_every: float = 60.0,
    close_time: float = 5.0,
    listener: socket.socket | None = None,
) -> AsyncIterator[Installation]:
    """Serve accounts, workspaces, files and notices."""
    with identity_fixture() as identity:
        sources, store = identity.sources, identity.store
        hub: NoticeHub[Frame] = NoticeHub(changed_frame, lambda each: store.read(cursor_of(each)))
        identity.after.account_changed.listen(hub.recheck_access)
        access = Access(store)
        root = Supervisor("test")
        streams = NoticeStreams(
            hub, check_every=check_every, close_time=close_time, ping_interval=None
        )

        async def tell(_: WorkerContext) -> None:
            await streams.run()

        root.add(WorkerSpec("notices", tell))
        directory = root.add(
            workspaces(
                partial(
                    WorkspaceActor,
                    store=store,
                    links=link_sources(store),
                    now=sources.now,
                    new_id=sources.new_id,
                    announce=hub.announce,
                    shared=False,
                    documents=inline_documents(),
                )
            )
        )
        records: list[RequestRecord] = []
        authenticator = SessionOrKey(identity.credentials, origin=ORIGIN)
        stream = NoticeSocket(
            authenticator,
            store,
            subprotocol=SUBPROTOCOL,
            serve=streams.serve,
            new_id=sources.new_id,
            log_request=records.append,
            public_url=ORIGIN,
        )
        application = Application(
            [
                WorkspaceOperations(
                    store,
                    access,
                    now=sources.now,
                    new_id=sources.new_id,
                    gone=hub.announce_gone,
                    erased=lambda: None,
                ),
                FileOperations(
                    ChangesetSubmitter(directory, access, sources.new_id),
                    RevisionTexts(store, access),
                ),
                NoticeOperations(),
            ],
            failure_problem=problem_of,
            new_id=sources.new_id,
            log_request=lambda _: None,
            authenticators={Security.SESSION_OR_KEY: authenticator},
            websockets={PATH: stream},
            public_url=ORIGIN,
            strict=True,
        )
        async with (
            root.running(),
            serving(
                application,
                limits,
                certificate=None if authority is None else authority.certificate,
                tls=None if authority is None else authority.context(),
                listener=listener,
            ) as server,
        ):
            yield Installation(identity, hub, application, server, records)
