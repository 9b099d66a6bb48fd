"""A whole service in this process, whose database can be put back after each call.

It is wired as the server wires it, on a store without threads. Nothing runs besides the calls:
workers are left out, and what they would do in processes of their own is done inline. The service
takes its database for one that other processes write, so it holds nothing that a change behind its
back makes wrong.
"""

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

import trio
from antechamber.asgi import Event, Receive, Scope
from greenroom import Supervisor, WorkerSpec
from quart import Quart

from octavo.access.attempts import RATES, RouteRates
from octavo.access.audit import audit_log
from octavo.access.entropy import new_id
from octavo.features.accounts import passwords
from octavo.features.archives.job import free_slots_left
from octavo.features.legal.feature import read_legal
from octavo.http.contract.call import Principal
from octavo.http.contract.request_context import request_log
from octavo.model.access.rate import Rate
from octavo.service import components
from octavo.service import pages as service_pages
from octavo.service.components import Service, build_service
from octavo.service.features import LISTENERS
from octavo.service.health import Readiness
from octavo.service.settings import Settings
from octavo.service.wiring import wire_application
from octavo.store import Store
from octavo.store.engine import StoreEngine
from octavo.store.open_blobs import open_blob_folders
from octavo.store.postgres.store import PostgresStore
from octavo.store.sqlite import InlineStore
from octavo.workers import WorkerPool
from octavo.ws.notice_stream import SUBPROTOCOL
from tests.fakes.asgi_client import FakeExchange, Headers, Response, never, scope_of
from tests.fakes.identity_fixture import CHEAP
from tests.fakes.inline_work import run_inline

ORIGIN = "https://notes.example"
NEEDED = {"archive_jobs"}
OFTEN = Rate(1_000_000, 1.0)


class KeptStore(InlineStore):
    """A store whose content can be kept, and put back."""

    def __init__(self) -> None:
        super().__init__(None, None, LISTENERS)
        self._kept = sqlite3.connect(":memory:", check_same_thread=False)

    def keep(self) -> None:
        self._connection.backup(self._kept)

    def put_back(self) -> None:
        self._kept.backup(self._connection)

    @property
    def changes(self) -> int:
        """How many rows were ever changed."""
        return self._connection.total_changes


@dataclass(frozen=True)
class InlineEngine(StoreEngine):
    """An engine that claims to be shared with other processes."""

    inline: InlineStore = field(kw_only=True)

    @property
    def store(self) -> Store:
        return self.inline


class Idle(Supervisor):
    """A supervisor of no workers, but of those that requests wait for."""

    def add(self, spec: Any) -> Any:  # noqa: ANN401 - as the supervisor
        idle = isinstance(spec, WorkerSpec) and spec.name not in NEEDED
        return None if idle else super().add(spec)


@dataclass
class Upgrading(FakeExchange):
    """An exchange that notes whether a WebSocket is opened."""

    upgraded: bool = False
    stopping: trio.Event = field(default_factory=trio.Event)

    def upgrade(self, *_: object) -> None:
        self.upgraded = True


@dataclass
class Installation:
    """A running service.

    Attributes:
        lines: what it wrote to the log, besides the modules' own messages.
        pages: the applications of the pages, of which there is one.
    """

    service: Service
    application: Any
    store: KeptStore
    lines: list[str]
    pages: list[Quart]
    _clients: Iterator[int] = field(default_factory=lambda: count(1))

    def _scope(
        self, method: str, target: str, headers: Headers, exchange: FakeExchange | None = None
    ) -> Scope:
        kind = "http" if exchange is None else "websocket"
        at = next(self._clients)
        network = f"2001:db8:{at >> 16:x}:{at & 0xFFFF:x}::1"
        return {
            **scope_of(method, target, headers, exchange, kind),
            "client": (network, 50000),
            "scheme": "https",
            "http_version": "1.1",
            "root_path": "",
            "subprotocols": [SUBPROTOCOL],
        }

    @property
    def static(self) -> dict[str, str]:
        """The paths of the files that pages load, by their suffix."""
        rules = [each.rule for each in self.pages[0].url_map.iter_rules()]
        found = [each for each in rules if each.startswith("/static/")]
        return {each[each.rindex(".") :]: each for each in found}

    async def connect(self, target: str, headers: Headers) -> Response:
        """Open a WebSocket; return the response to the handshake."""
        exchange = Upgrading()
        response = Response()
        await self.application(self._scope("GET", target, headers, exchange), never, response.take)
        if exchange.upgraded:
            return Response(101, ended=True)
        return exchange.taken if exchange.taken.ended else response

    async def ask(
        self, method: str, target: str, headers: Headers = (), body: bytes = b""
    ) -> Response:
        """Send a request from a network of its own, with the length of its body."""
        sized = [*headers, (b"content-length", b"%d" % len(body))] if body else [*headers]
        scope = self._scope(method, target, sized)
        events: list[Event] = [{"type": "http.request", "body": body, "more_body": False}]
        response = Response()

        async def receive() -> Event:
            if not events:
                await trio.sleep_forever()
            return events.pop()

        async def take(event: Event) -> None:
            await response.take({"body": b"", "more_body": False, **event})

        await self.application(scope, receive, take)
        return response


@contextmanager
def _inline() -> Iterator[None]:
    """Do the work of worker processes in this one, cheaply, and refuse no attempt."""
    with (
        patch.object(WorkerPool, "run", lambda _, *given, **named: run_inline(*given, **named)),
        patch.object(passwords, "Argon2", lambda: CHEAP),
        patch.object(components, "_rates", lambda _: {name: often() for name in RATES}),
    ):
        yield


def often() -> RouteRates:
    return RouteRates(client=OFTEN, account=OFTEN)


@asynccontextmanager
async def running(folder: Path, **settings: object) -> AsyncIterator[Installation]:
    """An installation without accounts."""
    with _inline():
        async with _running(Settings(data_dir=folder, public_url=ORIGIN, **settings)) as made:  # type: ignore[arg-type]
            yield made


@asynccontextmanager
async def _running(settings: Settings) -> AsyncIterator[Installation]:
    store, lines = KeptStore(), list[str]()
    engine = InlineEngine(postgres=cast(PostgresStore, object()), inline=store)
    folders = await open_blob_folders(settings, new_id())
    legal = await read_legal(settings)
    root = Idle("octavo")

    def write(level: str, members: dict[str, object]) -> None:
        lines.append(f"{level} {members}")

    async def perform(scope: Scope, receive: Receive, request_id: str, caller: Principal) -> object:
        return await application.perform(scope, receive, request_id, caller)

    async def ready() -> Readiness:
        return Readiness((), stopping=False)

    service = build_service(
        root,
        settings,
        engine,
        folders,
        legal,
        log_audit=audit_log(write),
        log_request=request_log(write),
        perform=perform,
    )
    application = wire_application(service, legal, readiness=ready)
    await free_slots_left(store)
    made: list[Quart] = []
    make_pages = service_pages.pages

    def pages(**given: Any) -> Quart:  # noqa: ANN401 - as the function
        made.append(make_pages(**given))
        return made[0]

    with patch.object(service_pages, "pages", pages):
        async with root.running(), _lifespan(application):
            yield Installation(service, application, store, lines, made)
    store.close()


@asynccontextmanager
async def _lifespan(application: Any) -> AsyncIterator[None]:  # noqa: ANN401
    stopping, started, stopped = trio.Event(), trio.Event(), trio.Event()
    waiting: list[Event] = [{"type": "lifespan.startup"}]

    async def receive() -> Event:
        if waiting:
            return waiting.pop()
        await stopping.wait()
        return {"type": "lifespan.shutdown"}

    async def send(event: Event) -> None:
        (started if "startup" in event["type"] else stopped).set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(application, {"type": "lifespan"}, receive, send)
        await started.wait()
        yield
        stopping.set()
        await stopped.wait()
        nursery.cancel_scope.cancel(reason="the installation stops")
