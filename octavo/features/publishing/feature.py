"""The parts of the service that publish notes to readers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from octavo.access.attempts import RATES, Attempts
from octavo.access.entropy import new_entropy, new_id, now
from octavo.actors.jobs.housekeeping import removal
from octavo.features.accounts.passwords import Passwords, hash_workers
from octavo.features.publishing.api.link_reports import LinkReportOperations
from octavo.features.publishing.api.publications import PublicationOperations
from octavo.features.publishing.api.published import PublishedOperations
from octavo.features.publishing.composition import ViewComposer, placeholders
from octavo.features.publishing.links import PublishedLinks
from octavo.features.publishing.reading import PublishedReading
from octavo.features.publishing.renderings import Renderings, render_workers
from octavo.features.publishing.reports import LinkReports
from octavo.features.publishing.settings import PublishingSettings
from octavo.features.publishing.signing import ReportAddresses, Tickets
from octavo.features.publishing.sql import publications
from octavo.features.publishing.sql.folder_links import follow_folders
from octavo.features.publishing.views import PublishedPages
from octavo.features.publishing.workspace_map import WorkspaceMaps
from octavo.http.lazy import LazyValue
from octavo.http.pages.menus import WORKSPACE, MenuEntry, members_with
from octavo.kernel import Feature, Kernel, Parts, worker
from octavo.store.transaction import Listeners

if TYPE_CHECKING:
    from octavo.features.accounts.feature import Accounts
    from octavo.features.images.feature import Images
    from octavo.features.legal.feature import Legal
    from octavo.features.mail.feature import Mail
    from octavo.features.usage.feature import Usage
    from octavo.http.pages.page_registry import PageRegistry

LINK_DAYS = 90
"""Days that a published link is kept after it was revoked or has expired."""

LINKS = f"{WORKSPACE}/links"

FEATURE = Feature(
    "publishing",
    operations=[PublicationOperations, PublishedOperations, LinkReportOperations],
    listeners=Listeners(
        committing=[follow_folders], account_removing=[publications.forget_creator]
    ),
    retention=lambda _: [removal(publications.expire, LINK_DAYS)],
    menu=[
        MenuEntry("administration", "Reports", "/administration/reports", 40),
        MenuEntry("workspace", "Published links", LINKS, 40, members_with("manage")),
        MenuEntry("notes", "Published links", LINKS, 70, members_with("manage")),
    ],
)


@dataclass(frozen=True)
class Publishing:
    """What other features use: the maps of workspaces, rendered notes, and readers' pages."""

    parts: Parts
    sites: WorkspaceMaps
    renderings: Renderings
    pages: LazyValue[PublishedPages]


def publishing_feature(
    kernel: Kernel,
    settings: PublishingSettings,
    mail: Mail,
    legal: Legal,
    usage: Usage,
    accounts: Accounts,
    images: Images,
) -> Publishing:
    """Return the feature; nothing runs yet."""
    store, audit = kernel.store, kernel.audit
    sites = WorkspaceMaps(store)
    # Readers can't delay people who sign in: their passwords have a process of their own.
    workers, hashers = render_workers(), hash_workers(1, ahead=False)
    renderings = Renderings(store, workers.run, now=now, most_bytes=settings.rendered_notes_size)
    readers_pages = LazyValue(partial(_pages, settings.public_url, legal))
    links = PublishedLinks(
        store,
        kernel.attempts,
        accounts.passwords,
        audit=audit,
        now=now,
        new_id=new_id,
        new_token=new_entropy,
        maximum=settings.published_links,
    )
    reading = PublishedReading(
        store,
        readers_pages.get,
        ViewComposer(placeholders(new_entropy())),
        renderings,
        sites,
        images.thumbnails.without_metadata,
        Tickets(store, now=now, new_secret=new_entropy),
        Passwords(new_entropy=new_entropy, run=hashers.run, at_once=1),
        # Counted apart: many readers can't evict the attempts of people who sign in.
        Attempts(RATES),
        usage.meter,
        now=now,
    )
    reports = LinkReports(
        store,
        ReportAddresses(store, now=now, new_secret=new_entropy),
        audit=audit,
        now=now,
        new_id=new_id,
        mail_added=mail.delivery.wake if settings.smtp_host else None,
    )

    def pages(site: PageRegistry) -> None:
        from octavo.features.publishing.pages import publications

        publications.add_publication_pages(site, now)
        publications.add_report_pages(site)

    parts = Parts(
        operations=[
            PublicationOperations(links, kernel.access, now=now, public_url=settings.public_url),
            PublishedOperations(reading, reports, readers_pages.get, kernel.blobs, usage.meter),
            LinkReportOperations(reports, public_url=settings.public_url),
        ],
        pages=pages,
        workers=[
            worker("renderers", workers.serve),
            worker("link_passwords", hashers.serve),
            worker("renderings", renderings.run, renderings.flush),
        ],
        caches=[renderings, sites, reading],
    )
    return Publishing(parts, sites, renderings, readers_pages)


def _pages(public_url: str, legal: Legal) -> PublishedPages:
    from octavo.features.publishing.pages.published import published_pages

    return published_pages(public_url, legal.documents)
