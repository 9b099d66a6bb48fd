"""What the service gives to its features, and what a feature gives to the service."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import trio
from antechamber.asgi import Application as ASGIApplication
from antechamber.websocket import Frame
from greenroom import WorkerContext, WorkerSpec

from octavo.access.after_commit import AfterCommit
from octavo.access.attempts import Attempts
from octavo.access.audit import Audit
from octavo.access.workspaces import Access
from octavo.actors.jobs.housekeeping import RetentionStep, StepLoop
from octavo.actors.notice_hub import NoticeHub
from octavo.control.serving import Commands
from octavo.http import contract
from octavo.http.pages.menus import MenuEntry
from octavo.settings import KernelSettings
from octavo.store import Script, Store
from octavo.store.blobs import BlobStore, Staging
from octavo.store.content_cache import Cache
from octavo.store.queries.index_backlog import FileIndex
from octavo.store.transaction import NO_LISTENERS, Listeners

if TYPE_CHECKING:
    from octavo.http.pages.page_registry import PageRegistry

FLUSH_SECONDS = 2.0
"""Seconds of a stop in which a worker can write what it has collected."""


@dataclass(frozen=True)
class Kernel:
    """What the service gives to every feature.

    Attributes:
        settings: its own section of the settings.
        store: the database.
        shared: whether other processes use the same database.
        blobs: where images are stored.
        staging: the files on their way there.
        collection: deletes blobs that nothing refers to any more.
        audit: records changes and refused attempts.
        attempts: limits attempts.
        access: decides who may do what with a workspace.
        hub: announces changes to streams.
        after: the events after a commit.
        log_request: receives the record of each request.
    """

    settings: KernelSettings
    store: Store
    shared: bool
    blobs: BlobStore
    staging: Staging
    collection: StepLoop
    audit: Audit
    attempts: Attempts
    access: Access
    hub: NoticeHub[Frame]
    after: AfterCommit
    log_request: contract.RequestLog


AddPages = Callable[["PageRegistry"], None]
"""Registers pages, and imports what they need; called once, in a thread."""


@dataclass(frozen=True)
class Parts:
    """What a feature adds to a running service.

    Attributes:
        operations: instances whose classes declare operations.
        absent: classes whose operations are not offered, as the feature is off, and why.
        websockets: serve the WebSockets of a path from their handshake on.
        authenticators: of the credentials that operations require.
        pages: adds its pages.
        workers: run below the supervisor of the service, after those of the kernel.
        caches: entries that nobody uses are dropped from them in rounds.
        commands: of the control socket.
    """

    operations: Sequence[object] = ()
    absent: Mapping[type, str] = field(default_factory=dict)
    websockets: Mapping[str, ASGIApplication] = field(default_factory=dict)
    authenticators: Mapping[contract.Security, contract.Authenticator] = field(default_factory=dict)
    pages: AddPages | None = None
    workers: Sequence[WorkerSpec] = ()
    caches: Sequence[Cache] = ()
    commands: Commands = field(default_factory=dict)


def no_retention(settings: KernelSettings) -> Sequence[RetentionStep]:
    """Return no steps: nothing expires."""
    return ()


@dataclass(frozen=True)
class Feature:
    """What a feature adds to the rules of the service, whether it is on or off.

    Attributes:
        name: that of its folder.
        operations: the classes whose methods declare its operations.
        listeners: what it does in the transactions of others.
        indexes: its indexes, which follow the commits; earlier ones are updated first.
        retention: returns what removes expired rows, by the settings; the order doesn't matter.
        sweeps: return scripts that erase more of what was deleted, and return whether more is left.
        expired_blobs: return scripts for a time in Unix milliseconds; each removes what has expired
            and refers to blobs, and returns whether more is left.
        menu: its entries in the menus of the pages.
    """

    name: str
    operations: Sequence[type] = ()
    listeners: Listeners = NO_LISTENERS
    indexes: Sequence[FileIndex[Any]] = ()
    retention: Callable[[Any], Sequence[RetentionStep]] = no_retention
    sweeps: Sequence[Callable[[], Script[bool]]] = ()
    expired_blobs: Sequence[Callable[[int], Script[bool]]] = ()
    menu: Sequence[MenuEntry] = ()


def worker(
    name: str,
    run: Callable[[], Awaitable[None]],
    flush: Callable[[], Awaitable[None]] | None = None,
) -> WorkerSpec:
    """Return a worker that runs until the service stops.

    With ``flush``, it then has `FLUSH_SECONDS` to write what it has collected.
    """

    async def run_and_flush(context: WorkerContext) -> None:
        if flush is None:
            await run()
            return
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            await context.stopping.wait()
            nursery.cancel_scope.cancel(reason="the service stops")
        await flush()

    return WorkerSpec(name, run_and_flush, drain_timeout=0.0 if flush is None else FLUSH_SECONDS)
