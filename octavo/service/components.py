"""The components of the service below HTTP, each under supervision."""

import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import trio

from octavo.accounts.activity import Activity
from octavo.accounts.attempts import RATES, Attempts, RouteRates
from octavo.accounts.credentials import REMEMBERED, Credentials
from octavo.actors.core import Supervisor, WorkerContext, WorkerSpec
from octavo.actors.group_commit import GroupCommit, storage
from octavo.actors.jobs.indexing import IndexingJob
from octavo.actors.jobs.retention import RetentionJob
from octavo.actors.jobs.sweeping import SweepingJob
from octavo.actors.notice_hub import NoticeHub
from octavo.actors.workspace.actor import workspaces
from octavo.actors.workspace.document_services import DocumentServices, Threads
from octavo.documents import DocumentCache
from octavo.http.api.access import Access
from octavo.http.api.changeset_submission import Workspaces
from octavo.model.accounts.attempts import Rate
from octavo.model.accounts.session import DAY, SessionLife
from octavo.model.documents.initial_document import client_of
from octavo.model.documents.limits import DocumentLimits
from octavo.model.files.retention import Retention
from octavo.model.identity import Position, WorkspaceId
from octavo.render.limits import check_renderable
from octavo.service.engine import StoreEngine
from octavo.service.entropy import new_id, now
from octavo.settings import Settings
from octavo.store import Script, Store, StoreUnavailable
from octavo.store import postgres as postgres_engine
from octavo.store.scripts.expiry import expire_receipts, expire_sessions
from octavo.store.scripts.feed import position_of
from octavo.store.scripts.position_notices import CHANNEL, read_notice
from octavo.ws import Frame
from octavo.ws.notice_stream import changed_frame

if TYPE_CHECKING:
    from octavo.store.postgres import PostgresStore

RECEIPT_DAYS = 31
"""Days that a receipt is kept: promised are 30."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Components:
    """What the operations work with."""

    store: Store
    workspaces: Workspaces
    hub: NoticeHub[Frame]
    sweeper: SweepingJob
    access: Access
    credentials: Credentials
    attempts: Attempts
    life: SessionLife


def add_components(root: Supervisor, settings: Settings, engine: StoreEngine) -> Components:
    """Put the parts under supervision, each after those that it needs; nothing runs yet."""
    if engine.sqlite is not None:
        writer = root.add(storage(engine.sqlite))
        store = engine.reporting(GroupCommit(writer, engine.sqlite))
    else:
        store = engine.store
    hub = NoticeHub(changed_frame)
    activity = Activity(store)
    life = SessionLife(settings.session_idle_days * DAY, settings.session_absolute_days * DAY)
    sweeper = SweepingJob(store)
    # Another process may revoke anything, and the next request has to be refused.
    fresh = 0.0 if engine.postgres is not None else REMEMBERED
    credentials = Credentials(
        store, activity, now=now, life=life, fresh=fresh, forgotten=hub.look_again
    )

    indexer = IndexingJob(store)

    def announce(workspace_id: WorkspaceId, position: Position) -> None:
        hub.announce(workspace_id, position)
        indexer.wake(workspace_id)

    async def index(worker: WorkerContext) -> None:
        await indexer.run()

    async def notices(worker: WorkerContext) -> None:
        await hub.run()

    async def sweep(worker: WorkerContext) -> None:
        await sweeper.run()

    housekeeper = _housekeeper(store, settings, life)

    async def keep_house(worker: WorkerContext) -> None:
        await housekeeper.run()

    async def write_activity(worker: WorkerContext) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(activity.run)
            await worker.stopping.wait()
            nursery.cancel_scope.cancel(reason="the service stops")
        try:
            await activity.write_down()
        except StoreUnavailable:
            _log.warning("the last activity of sessions and keys could not be written down")

    root.add(WorkerSpec("notices", notices))
    root.add(WorkerSpec("activity", write_activity, drain_timeout=2))
    root.add(WorkerSpec("indexer", index))
    root.add(WorkerSpec("sweeper", sweep))
    root.add(WorkerSpec("housekeeper", keep_house))
    if engine.postgres is not None:
        root.add(WorkerSpec("elsewhere", partial(relay_notifications, engine.postgres, hub)))
    # What this process writes into documents must never be taken for the work of another, nor for
    # what an installation wrote that is now back to an older copy of itself.
    shelf = DocumentCache(client_of(new_id()))
    documents = DocumentServices(shelf, check_renderable, _document_limits(settings), Threads())
    directory = root.add(
        workspaces(
            store,
            now=now,
            new_id=new_id,
            announce=announce,
            shared=engine.postgres is not None,
            documents=documents,
            purged=sweeper.wake,
        )
    )
    return Components(
        store=store,
        workspaces=directory,
        hub=hub,
        sweeper=sweeper,
        access=Access(store, fresh=fresh),
        credentials=credentials,
        attempts=Attempts(_rates(settings)),
        life=life,
    )


async def relay_notifications(
    postgres: "PostgresStore", hub: NoticeHub[Frame], _: WorkerContext
) -> None:
    """Pass on what other processes announce, until cancelled."""
    async with postgres.listen(CHANNEL) as messages:
        async for message in messages:
            if not isinstance(message, postgres_engine.Gap):
                try:
                    _pass_on(hub, *read_notice(message))
                except ValueError:
                    # Any client of the database can send to this channel.
                    _log.warning("another program speaks on %s: it is not heard", CHANNEL)
                continue
            # Nobody knows what was missed: each workspace that is listened to is looked up.
            for workspace_id in hub.listened_to():
                try:
                    position = await postgres.read(position_of(workspace_id))
                except StoreUnavailable:
                    # The listener comes back with another gap.
                    break
                _pass_on(hub, workspace_id, position)


def _pass_on(hub: NoticeHub[Frame], workspace_id: WorkspaceId, position: Position | None) -> None:
    if position is None:
        hub.announce_gone(workspace_id)
    else:
        hub.announce(workspace_id, position)


def _document_limits(settings: Settings) -> DocumentLimits:
    return DocumentLimits(
        update=settings.document_update_size,
        state=settings.document_size,
        history=settings.document_history,
    )


def _housekeeper(store: Store, settings: Settings, life: SessionLife) -> RetentionJob:
    retention = Retention(
        all_of=int(settings.history_all_days * DAY * 1000),
        hourly=int(settings.history_hourly_days * DAY * 1000),
        least=settings.history_least,
    )

    def end_sessions(now: int) -> Script[bool]:
        return expire_sessions(*life.alive_since(now))

    return RetentionJob(
        store,
        now=now,
        retention=retention,
        steps=(lambda now: expire_receipts(now - RECEIPT_DAYS * 86_400_000), end_sessions),
    )


def _rates(settings: Settings) -> dict[str, RouteRates]:
    within = settings.sign_in_attempts_time
    sign_in = RouteRates(
        client=Rate(settings.sign_in_attempts_per_client, within),
        account=Rate(settings.sign_in_attempts_per_address, within),
    )
    return {**RATES, "sign-in": sign_in}
