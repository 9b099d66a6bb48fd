"""The pages of administration."""

from octavo.features.administration.pages.administration import (
    add_administration_pages,
    add_audit_page,
)
from octavo.http.pages.page_registry import PageRegistry
from octavo.http.pages.usage import ReadUsage


def add_pages(site: PageRegistry, usage: ReadUsage) -> None:
    """Serve the pages for administrators; ``usage`` returns that of the installation."""
    add_administration_pages(site, usage)
    add_audit_page(site)
