"""The pages of accounts."""

from collections.abc import Mapping

from octavo.access.ports import Clock
from octavo.features.accounts.pages.account import add_account_pages, add_portal_page
from octavo.features.accounts.pages.keys import add_key_pages, add_session_pages
from octavo.features.accounts.pages.sign_in import (
    ResetOpens,
    add_password_reset_pages,
    add_sign_in_pages,
)
from octavo.http.pages.page_registry import PageRegistry
from octavo.http.pages.usage import ReadUsage


def add_pages(
    site: PageRegistry,
    reset_opens: ResetOpens,
    usage: ReadUsage,
    portal: Mapping[str, str],
    now: Clock,
) -> None:
    """Serve the pages of accounts.

    ``reset_opens`` returns whether a link to choose a password is valid, ``usage`` what the
    installation has used in the month; ``portal`` has the addresses of the operator's portal by the
    name of each page. ``now`` is in seconds of Unix time.
    """
    add_sign_in_pages(site)
    add_password_reset_pages(site, reset_opens)
    add_account_pages(site, usage)
    add_portal_page(site, portal)
    add_session_pages(site)
    add_key_pages(site, now)
