"""Build the kernel and the features, and connect them."""

import logging
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import _lru_cache_wrapper, partial
from typing import TYPE_CHECKING

import trio
from antechamber.websocket import Frame
from greenroom import Supervisor, WorkerContext, WorkerSpec
from octavo_rules.documents.document import yjs_client_id_of
from octavo_rules.identity import AccountId, Cursor, WorkspaceId
from octavo_rules.problems import AccountLocked, KeyRefused, RateLimited

from octavo.access.after_commit import AfterCommit
from octavo.access.attempts import KNOWN_DEVICES, RATES, Attempts, RouteRates
from octavo.access.audit import AuditLog, RefusedAttempts, server_audit
from octavo.access.entropy import elapsed, new_id, now
from octavo.access.workspaces import Access
from octavo.actors.group_commit import GroupCommit, storage_spec
from octavo.actors.notice_hub import NoticeHub
from octavo.actors.workspace.actor import WorkspaceActor, workspaces
from octavo.actors.workspace.planning import MAX_THREADS, DocumentServices
from octavo.documents import DocumentCache
from octavo.features.accounts.credentials import CACHE_SECONDS
from octavo.features.files.api.changeset_submission import Workspaces
from octavo.features.legal.feature import Legal
from octavo.features.links.reading import link_sources
from octavo.features.usage.feature import usage_feature
from octavo.http import contract
from octavo.kernel import Kernel, worker
from octavo.model.access.audit import account_of
from octavo.model.access.rate import Rate
from octavo.model.documents.update_log import DocumentLimits
from octavo.render.limits import check_changed
from octavo.service.features import (
    Features,
    blob_collection,
    build_features,
    indexing_job,
    retention_job,
    sweeping_job,
)
from octavo.service.settings import Settings
from octavo.store import Store, StoreUnavailable
from octavo.store.content_cache import Cache
from octavo.store.engine import StoreEngine
from octavo.store.fair_turns import FairThreads
from octavo.store.open_blobs import BlobFolders
from octavo.store.queries.marks import cursor_of
from octavo.store.queries.process_notices import CHANNEL, AccessNotice, read_notice
from octavo.ws.notice_stream import changed_frame

if TYPE_CHECKING:
    from octavo.store.postgres.store import PostgresStore

UNUSED_SECONDS = 600.0
"""Seconds between two rounds that drop what nobody has used since the one before from memory."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Service:
    """The running service: the kernel, the actors of the workspaces, and the features."""

    settings: Settings
    kernel: Kernel
    workspaces: Workspaces
    features: Features


def build_service(
    root: Supervisor,
    settings: Settings,
    engine: StoreEngine,
    folders: BlobFolders,
    legal: Legal,
    *,
    log_audit: AuditLog,
    log_request: contract.RequestLog,
    perform: contract.PerformAs,
) -> Service:
    """Add all parts to the supervisor, each after its dependencies; nothing runs yet.

    ``log_audit`` receives each entry of the audit, ``log_request`` the record of each request.
    ``perform`` performs an operation of the API.
    """
    store: Store = engine.store
    if engine.sqlite is not None:
        writer = root.add(storage_spec(engine.sqlite))
        store = engine.reporting(GroupCommit(writer, engine.sqlite))
    shared = engine.postgres is not None
    after = AfterCommit()
    hub = NoticeHub(changed_frame, lambda workspace_id: store.read(cursor_of(workspace_id)))
    audit = server_audit(store, log_audit, after)
    # Another process may change a membership, and the next request must be refused.
    access = Access(store, fresh=0.0 if shared else CACHE_SECONDS, elapsed=elapsed)
    collection = blob_collection(store, folders.blobs, now)
    indexer = indexing_job(store)
    sweeper = sweeping_job(store, after.swept)
    retention = retention_job(store, now, settings)
    # The client id of this process's edits must be unique: neither another process nor an earlier
    # run may have used it, also when the installation was restored from a backup.
    cache = DocumentCache(lambda: yjs_client_id_of(new_id()))
    kernel = Kernel(
        settings=settings,
        store=store,
        shared=shared,
        blobs=folders.blobs,
        staging=folders.staging,
        collection=collection,
        audit=audit,
        attempts=Attempts(_rates(settings)),
        access=access,
        hub=hub,
        after=after,
        log_request=counting_refusals(log_request, audit.refused),
    )

    after.committed.listen(hub.announce, indexer.wake)
    after.account_changed.listen(hub.recheck_access)
    after.workspace_changed.listen(access.forget)
    after.workspace_gone.listen(hub.announce_gone)
    after.erased.listen(sweeper.wake)
    # The index of words may have been emptied.
    after.swept.listen(collection.wake, indexer.look)
    usage = usage_feature(kernel, settings)
    root.add(worker("refusals", audit.refused.run, audit.refused.flush))
    root.add(worker("indexer", indexer.run))
    root.add(worker("sweeper", sweeper.run))
    root.add(worker("retention", retention.run))
    root.add(worker("blobs", collection.run))
    if engine.postgres is not None:
        root.add(WorkerSpec("pg_listener", partial(relay_notifications, engine.postgres, hub)))
    run = FairThreads(MAX_THREADS).run
    limits = DocumentLimits(
        settings.document_update_size, settings.document_size, settings.document_history
    )
    documents = DocumentServices(cache, check_changed, limits, run)
    directory = root.add(
        workspaces(
            partial(
                WorkspaceActor,
                store=store,
                now=now,
                new_id=new_id,
                announce=after.committed,
                shared=shared,
                documents=documents,
                purged=after.erased,
                links=link_sources(store),
                storage=usage.storage,
            )
        )
    )
    features = build_features(kernel, settings, legal, usage, directory, perform)
    caches = [cache, *(other for parts in features.parts for other in parts.caches)]
    root.add(worker("caches", partial(_drop_unused, caches)))
    for parts in features.parts:
        for spec in parts.workers:
            root.add(spec)
    return Service(settings, kernel, directory, features)


async def _drop_unused(caches: Sequence[Cache]) -> None:
    # Their contents may have been deleted, also by another process.
    while True:
        await trio.sleep(UNUSED_SECONDS)
        for cache in caches:
            cache.drop_unused()
        forget_arguments()


def forget_arguments() -> None:
    """Clear the caches of functions: their arguments are parts of texts, paths and queries."""
    for name, module in [*sys.modules.items()]:
        if name.partition(".")[0] in ("antechamber", "greenroom", "octavo", "octavo_rules"):
            for value in [*vars(module).values()]:
                # A cache without a limit holds what is loaded once.
                if isinstance(value, _lru_cache_wrapper) and value.cache_parameters()["maxsize"]:
                    value.cache_clear()
    re.purge()


async def relay_notifications(
    postgres: "PostgresStore", hub: NoticeHub[Frame], _: WorkerContext
) -> None:
    """Relay the notifications of other processes to the hub, until cancelled."""
    async with postgres.listen(CHANNEL) as messages:
        async for message in messages:
            if isinstance(message, str):
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


COUNTED = frozenset({AccountLocked.code, KeyRefused.code, RateLimited.code})
"""Problems of any operation that are counted. Wrong passwords and operator tokens are counted where
they are verified, as the account is known there."""


def counting_refusals(
    log_request: contract.RequestLog, refused: RefusedAttempts
) -> contract.RequestLog:
    """Return a request log that counts refusals with a code of `COUNTED`, and calls another."""

    def log(record: contract.RequestRecord) -> None:
        if record.failure is not None and record.failure in COUNTED:
            principal = None if record.principal is None else AccountId(record.principal)
            refused.note(
                record.failure,
                record.operation,
                subject=account_of(principal),
                remote_address=record.remote_address,
            )
        log_request(record)

    return log
