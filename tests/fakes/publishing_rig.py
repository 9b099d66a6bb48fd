"""The use cases of published links, without worker processes."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache

from octavo.access.attempts import RATES, Attempts
from octavo.access.audit import Audit
from octavo.features.accounts.passwords import Passwords
from octavo.features.images.thumbnails import ImageVariant
from octavo.features.legal.rules import NO_TEXTS
from octavo.features.notes.member_notes import MemberNotes
from octavo.features.publishing.composition import ViewComposer, placeholders
from octavo.features.publishing.links import PublishedLinks
from octavo.features.publishing.pages.published import published_pages
from octavo.features.publishing.reading import PublishedReading
from octavo.features.publishing.renderings import Renderings
from octavo.features.publishing.reports import LinkReports
from octavo.features.publishing.signing import ReportAddresses, Tickets
from octavo.features.publishing.views import PublishedPages
from octavo.features.publishing.workspace_map import WorkspaceMaps
from octavo.features.usage.meter import UsageMeter
from octavo.store import Store
from octavo.store.blobs import BlobKey
from octavo.workers import RunWork
from tests.fakes.identity_fixture import CHEAP, hash_inline
from tests.fakes.inline_work import run_inline

PUBLIC_URL = "https://notes.example.org"
MAXIMUM = 5
"""Live links of a workspace."""


@dataclass
class PublishingRig:
    """The parts."""

    links: PublishedLinks
    reading: PublishedReading
    reports: LinkReports
    renderings: Renderings
    tickets: Tickets
    member_notes: MemberNotes

    async def pages(self) -> PublishedPages:
        """The HTML of the pages."""
        return published_html()


@cache
def published_html() -> PublishedPages:
    """The HTML of the pages, loaded once."""
    return published_pages(PUBLIC_URL, NO_TEXTS)


async def no_images(image: BlobKey) -> ImageVariant:
    """In place of the copies of images, which nobody reads."""
    raise AssertionError(f"{image} is read")


def publishing_rig(
    store: Store,
    *,
    audit: Audit,
    meter: UsageMeter,
    attempts: Attempts,
    now: Callable[[], float],
    new_id: Callable[[], str],
    new_entropy: Callable[[], bytes],
    cleaned: Callable[[BlobKey], Awaitable[ImageVariant]] = no_images,
    html: PublishedPages | None = None,
    hashing: RunWork = hash_inline,
    rendering: RunWork = run_inline,
) -> PublishingRig:
    """Build the parts over a database; ``html`` is in place of the pages of the service."""
    passwords = Passwords(new_entropy=new_entropy, cost=CHEAP, run=hashing)
    links = PublishedLinks(
        store,
        attempts,
        passwords,
        audit=audit,
        now=now,
        new_id=new_id,
        new_token=new_entropy,
        maximum=MAXIMUM,
    )

    async def made() -> PublishedPages:
        return published_html() if html is None else html

    renderings = Renderings(store, rendering, now=now, most_bytes=1_000_000)
    sites = WorkspaceMaps(store)
    tickets = Tickets(store, now=now, new_secret=new_entropy)
    reading = PublishedReading(
        store,
        made,
        ViewComposer(placeholders(new_entropy())),
        renderings,
        sites,
        cleaned,
        tickets,
        passwords,
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
        mail_added=None,
    )
    member_notes = MemberNotes(store, sites, renderings)
    return PublishingRig(links, reading, reports, renderings, tickets, member_notes)
