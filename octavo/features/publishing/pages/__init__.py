"""The pages of published links."""

from octavo.access.ports import Clock
from octavo.features.publishing.pages.publications import add_publication_pages, add_report_pages
from octavo.http.pages.page_registry import PageRegistry


def add_pages(site: PageRegistry, now: Clock) -> None:
    """Serve the pages of published links and their reports; ``now`` is in seconds."""
    add_publication_pages(site, now)
    add_report_pages(site)
