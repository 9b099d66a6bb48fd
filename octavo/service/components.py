"""The components of the service below HTTP, each under supervision."""

import logging
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import _lru_cache_wrapper, partial
from typing import TYPE_CHECKING

import trio
from antechamber.websocket import Frame
from greenroom import Supervisor, WorkerContext, WorkerSpec
from octavo_rules.documents.document import client_of
from octavo_rules.identity import AccountId, Cursor, WorkspaceId

from octavo.access.attempts import KNOWN_DEVICES, RATES, Attempts, RouteRates
from octavo.access.audit import Audit, AuditLog, server_audit
from octavo.access.entropy import elapsed, new_entropy, new_id, now
from octavo.access.workspaces import Access
from octavo.actors.group_commit import GroupCommit, storage_spec
from octavo.actors.jobs.indexing import IndexingJob
from octavo.actors.jobs.sweeping import SweepingJob
from octavo.actors.notice_hub import NoticeHub
from octavo.actors.workspace.actor import workspaces
from octavo.actors.workspace.current_files import MAX_BYTES as MAX_CACHED_BYTES
from octavo.actors.workspace.document_services import DocumentServices, Threads
from octavo.documents import DocumentCache
from octavo.features.accounts.activity import Activity
from octavo.features.accounts.credentials import CACHE_SECONDS, Credentials
from octavo.features.accounts.passwords import Passwords, hash_workers
from octavo.features.accounts.rules.session import DAY, SessionLife
from octavo.features.archives.feature import Archives, add_archives
from octavo.features.archives.recent_writes import RecentWrites
from octavo.features.files.api.changeset_submission import Workspaces
from octavo.features.files.api.reading import CurrentTexts, current_texts
from octavo.features.history.feature import add_restorations
from octavo.features.history.restorations import Restorations
from octavo.features.history.undo import ProgramUndo
from octavo.features.images.feature import Attachments, BlobFolders, add_attachments
from octavo.features.legal.feature import Legal
from octavo.features.mail.delivery import MailDelivery
from octavo.features.mail.feature import mail_delivery
from octavo.features.members.rules import Prerequisites, RegistrationPolicy
from octavo.features.publishing.feature import Publishing, add_publishing
from octavo.features.search.note_search import MAX_BYTES as MAX_SEARCHED_BYTES
from octavo.features.search.note_search import SearchedTexts
from octavo.features.sync.notices import NoticeStreams
from octavo.features.usage.feature import add_usage
from octavo.features.usage.meter import UsageMeter
from octavo.features.usage.storage import StorageQuota
from octavo.model.access.rate import Rate
from octavo.model.documents.limits import DocumentLimits
from octavo.render.limits import check_changed
from octavo.service.retention import all_kept, retention_job
from octavo.settings import Settings
from octavo.store import Store, StoreUnavailable
from octavo.store import postgres as postgres_engine
from octavo.store.content_cache import Cache
from octavo.store.engine import StoreEngine
from octavo.store.queries.marks import cursor_of
from octavo.store.queries.process_notices import CHANNEL, AccessNotice, read_notice
from octavo.ws.notice_stream import changed_frame

if TYPE_CHECKING:
    from octavo.features.oauth.tokens import AuthorizationServer
    from octavo.store.postgres import PostgresStore

UNUSED_SECONDS = 600.0
"""Seconds between two rounds that drop what nobody has used since the one before from memory."""
MAIL_DRAIN_SECONDS = 2.0
"""Seconds of a stop in which messages that are being sent can finish."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Components:
    """The components that operations use."""

    store: Store
    audit: Audit
    workspaces: Workspaces
    hub: NoticeHub[Frame]
    streams: NoticeStreams
    meter: UsageMeter
    storage: StorageQuota
    sweeper: SweepingJob
    searched: SearchedTexts
    texts: CurrentTexts
    attachments: Attachments
    archives: Archives
    publishing: Publishing
    undo: ProgramUndo
    restorations: Restorations
    mail: MailDelivery
    access: Access
    credentials: Credentials
    attempts: Attempts
    passwords: Passwords
    life: SessionLife
    operator_tokens: tuple[str, ...]
    legal: Legal
    prerequisites: Prerequisites
    portal: Mapping[str, str]
    authorization: "AuthorizationServer | None"
    mcp_write: bool


def add_components(
    root: Supervisor,
    settings: Settings,
    engine: StoreEngine,
    folders: BlobFolders,
    legal: Legal,
    *,
    log_audit: AuditLog,
) -> Components:
    """Add the components to the supervisor, each after its dependencies; nothing runs yet.

    ``log_audit`` receives each entry of the audit.
    """
    if engine.sqlite is not None:
        writer = root.add(storage_spec(engine.sqlite))
        store = engine.reporting(GroupCommit(writer, engine.sqlite))
    else:
        store = engine.store
    hub = NoticeHub(changed_frame, lambda each: store.read(cursor_of(each)))
    streams = NoticeStreams(hub)
    activity = Activity(store)
    audit = server_audit(store, log_audit)
    life = SessionLife(settings.session_idle_days * DAY, settings.session_absolute_days * DAY)

    def swept() -> None:
        attachments.collection.wake()
        # The index of words may have been emptied.
        indexer.look()

    shared = engine.postgres is not None
    # Another process would not learn what this one deletes.
    searched = SearchedTexts(0 if shared else MAX_SEARCHED_BYTES)

    def forget() -> None:
        searched.clear()
        texts.forget()

    sweeper = SweepingJob(store, swept=swept, forget=forget)
    # Another process may revoke a credential, and the next request must be refused.
    fresh = 0.0 if shared else CACHE_SECONDS
    meter, storage = add_usage(root, settings, store, shared=shared)

    def account_changed(account_id: AccountId) -> None:
        hub.recheck_access(account_id)
        meter.forget(account_id)
        storage.forget_account(account_id)

    credentials = Credentials(
        store,
        activity,
        now=now,
        life=life,
        fresh=fresh,
        legal=legal.documents,
        forgotten=account_changed,
        elapsed=elapsed,
    )

    indexer = IndexingJob(store)
    others = RecentWrites(elapsed)

    def announce(workspace_id: WorkspaceId, cursor: Cursor) -> None:
        hub.announce(workspace_id, cursor)
        indexer.wake(workspace_id)
        others.committed(workspace_id)

    async def index(worker: WorkerContext) -> None:
        await indexer.run()

    async def notices(worker: WorkerContext) -> None:
        await streams.run()

    async def sweep(worker: WorkerContext) -> None:
        await sweeper.run()

    async def drop_unused(worker: WorkerContext) -> None:
        # What they hold may have been deleted, also by another process.
        while True:
            await trio.sleep(UNUSED_SECONDS)
            caches: list[Cache] = [cache, searched, texts.cache, *publishing.caches]
            for each in caches:
                each.drop_unused()
            forget_arguments()

    retention = retention_job(store, settings, life)

    async def run_retention(worker: WorkerContext) -> None:
        await retention.run()

    async def write_activity(worker: WorkerContext) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(activity.run)
            await worker.stopping.wait()
            nursery.cancel_scope.cancel(reason="the service stops")
        try:
            await activity.flush()
        except StoreUnavailable:
            _log.warning("the last activity of sessions and keys was not recorded")

    async def write_refusals(worker: WorkerContext) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(audit.refused.run)
            await worker.stopping.wait()
            nursery.cancel_scope.cancel(reason="the service stops")
        await audit.refused.flush()

    mail = mail_delivery(store, settings)
    workers = hash_workers()

    async def run_hash_workers(worker: WorkerContext) -> None:
        await workers.serve()

    async def deliver_mail(worker: WorkerContext) -> None:
        await mail.run(worker.stopping, alone=engine.postgres is None)

    root.add(WorkerSpec("notices", notices))
    root.add(WorkerSpec("passwords", run_hash_workers))
    root.add(WorkerSpec("activity", write_activity, drain_timeout=2))
    root.add(WorkerSpec("refusals", write_refusals, drain_timeout=2))
    root.add(WorkerSpec("mail", deliver_mail, drain_timeout=MAIL_DRAIN_SECONDS))
    root.add(WorkerSpec("indexer", index))
    root.add(WorkerSpec("sweeper", sweep))
    root.add(WorkerSpec("retention", run_retention))
    root.add(WorkerSpec("caches", drop_unused))
    if engine.postgres is not None:
        root.add(WorkerSpec("pg_listener", partial(relay_notifications, engine.postgres, hub)))
    # The client id of this process's edits must be unique: neither another process nor an earlier
    # run may have used it, also when the installation was restored from a backup.
    cache = DocumentCache(lambda: client_of(new_id()))
    documents = DocumentServices(cache, check_changed, _document_limits(settings), Threads())
    attachments = add_attachments(root, settings, store, folders, meter, storage)
    directory = root.add(
        workspaces(
            store,
            now=now,
            new_id=new_id,
            announce=announce,
            shared=shared,
            documents=documents,
            purged=sweeper.wake,
            storage=storage,
        )
    )
    texts = current_texts(directory, store, 0 if shared else MAX_CACHED_BYTES)
    archives = add_archives(root, settings, store, attachments, directory, storage, others)
    restorations = add_restorations(root, settings, store, directory, shared=shared)
    attempts = Attempts(_rates(settings))
    passwords = Passwords(
        new_entropy=new_entropy, run=workers.run, known_waiting=settings.known_device_queue
    )
    publishing = add_publishing(
        root,
        settings,
        store,
        attempts=attempts,
        passwords=passwords,
        audit=audit,
        meter=meter,
        mail=mail,
        legal=legal,
        thumbnails=attachments.thumbnails,
    )
    return Components(
        store=store,
        audit=audit,
        workspaces=directory,
        hub=hub,
        streams=streams,
        meter=meter,
        storage=storage,
        sweeper=sweeper,
        searched=searched,
        texts=texts,
        attachments=attachments,
        archives=archives,
        publishing=publishing,
        undo=ProgramUndo(store, directory, now=now, kept=all_kept(settings)),
        restorations=restorations,
        mail=mail,
        access=Access(store, fresh=fresh, elapsed=elapsed),
        credentials=credentials,
        attempts=attempts,
        passwords=passwords,
        life=life,
        operator_tokens=settings.operator_tokens,
        legal=legal,
        prerequisites=Prerequisites(
            _policy(settings),
            mail_transport=bool(settings.smtp_host),
            legal_documents=legal.documents.complete,
        ),
        portal={each.name: each.address for each in settings.portal},
        authorization=_authorization(settings, store, credentials, attempts, audit),
        mcp_write=settings.mcp_write,
    )


def forget_arguments() -> None:
    """Forget what functions remember of their arguments: parts of texts, paths and queries."""
    for name, module in [*sys.modules.items()]:
        if name.partition(".")[0] in ("antechamber", "greenroom", "octavo", "octavo_rules"):
            for each in [*vars(module).values()]:
                # Those without a limit remember what was loaded.
                if isinstance(each, _lru_cache_wrapper) and each.cache_parameters()["maxsize"]:
                    each.cache_clear()
    re.purge()


def _authorization(
    settings: Settings, store: Store, credentials: Credentials, attempts: Attempts, audit: Audit
) -> "AuthorizationServer | None":
    if not settings.mcp:
        return None
    from octavo.features.oauth.feature import authorization_server  # noqa: PLC0415 - it is optional

    return authorization_server(settings, store, credentials, attempts, audit)


async def relay_notifications(
    postgres: "PostgresStore", hub: NoticeHub[Frame], _: WorkerContext
) -> None:
    """Relay the notifications of other processes to the hub, until cancelled."""
    async with postgres.listen(CHANNEL) as messages:
        async for message in messages:
            if not isinstance(message, postgres_engine.Gap):
                try:
                    notice = read_notice(message)
                except ValueError:
                    # Any client of the database can send to this channel.
                    _log.warning("a malformed notification on %s was ignored", CHANNEL)
                    continue
                if isinstance(notice, AccessNotice):
                    hub.recheck_access(notice.account_id)
                else:
                    _notify(hub, *notice)
                continue
            # Notifications may have been missed: check each listener, and look up each workspace
            # that has some.
            hub.recheck_all()
            for workspace_id in hub.listened_to():
                try:
                    cursor = await postgres.read(cursor_of(workspace_id))
                except StoreUnavailable:
                    # The connection is down again, and its return causes another gap.
                    break
                _notify(hub, workspace_id, cursor)


def _notify(hub: NoticeHub[Frame], workspace_id: WorkspaceId, cursor: Cursor | None) -> None:
    if cursor is None:
        hub.announce_gone(workspace_id)
    else:
        hub.announce(workspace_id, cursor)


def _policy(settings: Settings) -> RegistrationPolicy | None:
    match settings.registration_policy:
        case "invitation" | "open" as policy:
            return policy
        case _:
            return None


def _document_limits(settings: Settings) -> DocumentLimits:
    return DocumentLimits(
        update=settings.document_update_size,
        state=settings.document_size,
        history=settings.document_history,
    )


def _rates(settings: Settings) -> dict[str, RouteRates]:
    within = settings.sign_in_attempts_time
    sign_in = RouteRates(
        client=Rate(settings.sign_in_attempts_per_client, within),
        account=Rate(settings.sign_in_attempts_per_address, within),
    )
    registration = RouteRates(
        client=Rate(settings.registration_attempts_per_client, within),
        account=RATES["registration"].account,
    )
    return {
        **RATES,
        "sign-in": sign_in,
        "known-device": sign_in,
        "known-devices": RouteRates(
            client=sign_in.client,
            account=Rate(KNOWN_DEVICES * settings.sign_in_attempts_per_address, within),
        ),
        "registration": registration,
        "password-reset-request": sign_in,
        "password-reset": RouteRates(client=sign_in.client),
    }
