"""One process that serves workspaces, their members and the streams of their notices."""

import math
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING, cast

import trio
from antechamber.asgi import EXTENSION
from antechamber.asgi import Event as AsgiEvent
from antechamber.websocket import ConnectionGone, Frame, ServerWebSocket
from antechamber.websocket.serving import SharedTimer
from greenroom import WorkerContext, WorkerSpec
from octavo_rules.documents.document import yjs_client_id_of
from octavo_rules.identity import AccountId, WorkspaceId

from octavo.access.workspaces import Access
from octavo.actors.notice_hub import NoticeHub
from octavo.actors.workspace.actor import WorkspaceActor, workspaces
from octavo.features.accounts.api.authentication import SessionOrKey
from octavo.features.accounts.passwords import Passwords
from octavo.features.accounts.removal import AccountRemoval
from octavo.features.legal.rules import NO_TEXTS
from octavo.features.links.reading import link_sources
from octavo.features.members.invitations import Invitations
from octavo.features.members.members import Members
from octavo.features.sync.notices import CHECKED_EVERY, PATH, NoticeSocket, StreamCaller
from octavo.http.contract.request_context import RequestRecord
from octavo.service.components import relay_notifications
from octavo.store import StoreUnavailable
from octavo.store.queries.marks import cursor_of
from octavo.store.queries.workspaces import WorkspaceAccess
from octavo.ws.notice_stream import SUBPROTOCOL, NoticeStream, changed_frame
from tests.fakes.identity_fixture import CHEAP, IdentityFixture, hash_inline
from tests.fakes.inline_documents import inline_documents
from tests.features.accounts.simulation.process import Sources
from tests.simulation.access_device import DeviceSocket, Stream
from tests.simulation.bare_process import AT_ONCE, BareProcess
from tests.simulation.channel import Channel, ListeningStore
from tests.simulation.disk import Disk
from tests.simulation.weather import FaultSchedule

if TYPE_CHECKING:
    from octavo.store.postgres.store import PostgresStore

ORIGIN = "https://notes.example.org"


class AccessProcess(BareProcess):
    """Serves until it is stopped or killed.

    Attributes:
        listening: hears of the commits of the other processes, and of its own; None if it is alone.
        identity: the use cases of accounts and credentials.
        members: those of members.
        invitations: those of invitations.
        removal: removes accounts.
        access: looks up the roles of members.
        directory: the actors of the workspaces.
    """

    def __init__(
        self,
        name: str,
        disk: Disk,
        faults: FaultSchedule,
        random: Random,
        *,
        sources: Sources,
        channel: Channel | None,
        fresh: float,
    ) -> None:
        super().__init__(name, disk, faults, random)
        self._scopes: dict[trio.CancelScope, None] = {}
        self._stopping = False
        self._hub: NoticeHub[Frame] = NoticeHub(
            changed_frame, lambda each: self.store.read(cursor_of(each))
        )
        self._checks = SharedTimer(CHECKED_EVERY, NoticeStream.recheck_access)
        self._root.add(WorkerSpec("notices", self._run_hub))
        self.listening: ListeningStore | None = None
        if channel is not None:
            self.listening = ListeningStore(channel, self.store, random)
            relay = partial(relay_notifications, cast("PostgresStore", self.listening), self._hub)
            self._root.add(WorkerSpec("pg_listener", relay, backoff=AT_ONCE))
        self.identity = IdentityFixture(
            self.store,
            NO_TEXTS,
            sources=sources,
            passwords=Passwords(new_entropy=sources.new_salt, cost=CHEAP, run=hash_inline),
            fresh=fresh,
        )
        self.access = Access(self.store, fresh=fresh)
        self._wire(sources)
        spec = workspaces(
            partial(
                WorkspaceActor,
                store=self.store,
                links=link_sources(self.store),
                now=sources.now,
                new_id=sources.new_id,
                announce=self._hub.announce,
                shared=channel is not None,
                documents=inline_documents(client=yjs_client_id_of(sources.new_id())),
            )
        )
        self.directory = self._root.add(
            replace(
                spec,
                backoff=AT_ONCE,
                start_timeout=math.inf,
                drain_timeout=math.inf,
                stopping_timeout=math.inf,
            )
        )

    def _wire(self, sources: Sources) -> None:
        """Announce changes as the service does."""
        identity = self.identity
        after = identity.after
        after.account_changed.listen(self._hub.recheck_access)
        after.workspace_changed.listen(self.access.forget)
        after.workspace_gone.listen(self._hub.announce_gone)
        self.gone = after.deleted
        self.members = Members(self.store, audit=identity.audit, now=sources.now)
        self.invitations = Invitations(
            self.store,
            identity.attempts,
            audit=identity.audit,
            now=sources.now,
            new_id=sources.new_id,
            new_token=sources.new_entropy,
        )
        self.removal = AccountRemoval(
            identity.audit,
            now=sources.now,
            gone=self.gone,
            removed=lambda: None,
        )

    @property
    def hears(self) -> bool:
        """Whether it hears of the commits of others, or is alone."""
        return self.listening is None or self.listening.is_open

    def stop(self) -> None:
        """See `BareProcess`; streams end first."""
        self._stopping = True
        for scope in self._scopes:
            scope.cancel(reason="the service stops")
        super().stop()

    async def serve_stream(
        self, told: Stream, socket: DeviceSocket, headers: Sequence[tuple[bytes, bytes]]
    ) -> None:
        """Serve a stream until it ends, and tell how; it is not opened if it is refused."""

        async def serve(
            stream: trio.abc.HalfCloseableStream,
            caller_state: StreamCaller,
            *,
            stopping: trio.Event,
        ) -> None:
            told.opened = True

            async def access_to(
                workspace_ids: Sequence[WorkspaceId],
            ) -> dict[WorkspaceId, WorkspaceAccess]:
                with _noting(told):
                    return await caller_state.workspace_access(workspace_ids)

            async def still_valid() -> bool:
                with _noting(told):
                    return await caller_state.still_valid()

            notices = NoticeStream(
                cast(ServerWebSocket, socket),
                self._hub,
                account_id=AccountId(told.account_id),
                workspace_access=access_to,
                still_valid=still_valid,
                checks=self._checks,
            )
            try:
                await notices.run()
            except* ConnectionGone:
                pass

        endpoint = NoticeSocket(
            SessionOrKey(self.identity.credentials, origin=ORIGIN),
            self.store,
            subprotocol=SUBPROTOCOL,
            serve=serve,
            new_id=lambda: "request",
            log_request=_unlogged,
            public_url=ORIGIN,
        )
        exchange = _Exchange(socket)
        scope = {
            "type": "websocket",
            "path": PATH,
            "client": ("192.0.2.1", 1),
            "headers": [*headers, (b"origin", ORIGIN.encode())],
            "query_string": b"",
            "subprotocols": [SUBPROTOCOL],
            "extensions": {EXTENSION: exchange, "websocket.http.response": {}},
        }
        with self.connected() as scope_of_process:
            if self._stopping:
                scope_of_process.cancel(reason="the service stops")
            self._scopes[scope_of_process] = None
            try:
                await endpoint(scope, _never, _refused)
                if exchange.serve is not None:
                    await exchange.serve()
            finally:
                del self._scopes[scope_of_process]
        told.end(0)

    async def _run_hub(self, worker: WorkerContext) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._hub.run)
            nursery.start_soon(self._checks.run)


@contextmanager
def _noting(stream: Stream) -> Iterator[None]:
    """Note a failure of the store."""
    try:
        yield
    except StoreUnavailable:
        stream.failed.append(trio.current_time())
        raise


class _Exchange:
    """The request of a WebSocket, as the server passes it on."""

    request_id = "request"
    request_id_accepted = True
    rejected = None

    def __init__(self, socket: DeviceSocket) -> None:
        self._socket = socket
        self.stopping = trio.Event()
        self.serve: Callable[[], Awaitable[None]] | None = None

    async def respond(self, *_: object) -> None:
        await trio.lowlevel.checkpoint()

    def upgrade(self, serve: Callable[[DeviceSocket], Awaitable[None]], *_: object) -> None:
        self.serve = partial(serve, self._socket)


async def _never() -> AsgiEvent:
    await trio.sleep_forever()


async def _refused(_: AsgiEvent) -> None:
    await trio.lowlevel.checkpoint()


def _unlogged(_: RequestRecord) -> None:
    pass
