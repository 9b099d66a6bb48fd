"""The parts of the service that publish notes to readers."""

from functools import partial
from typing import NamedTuple

import trio
from greenroom import Supervisor, WorkerContext, WorkerSpec

from octavo.access.attempts import RATES, Attempts
from octavo.access.audit import Audit
from octavo.access.entropy import new_entropy, new_id, now
from octavo.features.accounts.passwords import Passwords, link_hash_workers
from octavo.features.images.thumbnails import Thumbnails
from octavo.features.legal.feature import Legal
from octavo.features.mail.delivery import MailDelivery
from octavo.features.notes.member_notes import MemberNotes
from octavo.features.publishing.composition import ViewComposer, placeholders
from octavo.features.publishing.links import PublishedLinks
from octavo.features.publishing.reading import PublishedReading
from octavo.features.publishing.renderings import Renderings, render_workers
from octavo.features.publishing.reports import LinkReports
from octavo.features.publishing.signing import ReportAddresses, Tickets
from octavo.features.publishing.views import PublishedPages
from octavo.features.publishing.workspace_maps import WorkspaceMaps
from octavo.features.usage.meter import UsageMeter
from octavo.http.lazy import LazyValue
from octavo.settings import Settings
from octavo.store import Store
from octavo.store.content_cache import Cache

DRAIN_SECONDS = 2.0
"""Seconds of a stop in which rendered notes can be written."""


class Publishing(NamedTuple):
    """The use cases of published links; ``caches`` have what was rendered."""

    links: PublishedLinks
    reading: PublishedReading
    reports: LinkReports
    pages: LazyValue[PublishedPages]
    member_notes: MemberNotes
    caches: tuple[Cache, ...]


def add_publishing(
    root: Supervisor,
    settings: Settings,
    store: Store,
    *,
    attempts: Attempts,
    passwords: Passwords,
    audit: Audit,
    meter: UsageMeter,
    mail: MailDelivery,
    legal: Legal,
    thumbnails: Thumbnails,
) -> Publishing:
    """Add the workers that render notes and verify the passwords of links; nothing runs yet."""
    sites = WorkspaceMaps(store)
    workers, hashers = render_workers(), link_hash_workers()
    renderings = Renderings(store, workers.run, now=now, most_bytes=settings.rendered_notes_size)

    async def run_workers(worker: WorkerContext) -> None:
        await workers.serve()

    async def run_hash_workers(worker: WorkerContext) -> None:
        await hashers.serve()

    async def keep_rendered(worker: WorkerContext) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(renderings.run)
            await worker.stopping.wait()
            nursery.cancel_scope.cancel(reason="the service stops")
        await renderings.flush()

    root.add(WorkerSpec("renderers", run_workers))
    root.add(WorkerSpec("link_passwords", run_hash_workers))
    root.add(WorkerSpec("renderings", keep_rendered, drain_timeout=DRAIN_SECONDS))
    pages = LazyValue(partial(_pages, settings.public_url, legal))
    links = PublishedLinks(
        store,
        attempts,
        passwords,
        audit=audit,
        now=now,
        new_id=new_id,
        new_token=new_entropy,
        maximum=settings.published_links,
    )
    reading = PublishedReading(
        store,
        pages.get,
        ViewComposer(placeholders(new_entropy())),
        renderings,
        sites,
        thumbnails.without_metadata,
        Tickets(store, now=now, new_secret=new_entropy),
        Passwords(new_entropy=new_entropy, run=hashers.run, at_once=1),
        # Attempts of readers don't push those of people who sign in out of memory.
        Attempts(RATES),
        meter,
        now=now,
    )
    reports = LinkReports(
        store,
        ReportAddresses(store, now=now, new_secret=new_entropy),
        audit=audit,
        now=now,
        new_id=new_id,
        mail_added=mail.wake if settings.smtp_host else None,
    )
    notes = MemberNotes(store, sites, renderings)
    return Publishing(links, reading, reports, pages, notes, (renderings, sites, reading))


def _pages(public_url: str, legal: Legal) -> PublishedPages:
    from octavo.features.publishing.pages.published import published_pages  # noqa: PLC0415 - loads the templates

    return published_pages(public_url, legal.documents)
