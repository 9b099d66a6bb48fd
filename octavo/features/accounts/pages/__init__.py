"""The pages of accounts."""

from collections.abc import Mapping

from octavo.access.ports import Clock
from octavo.features.accounts.pages import account, keys, sign_in
from octavo.http.pages.page_registry import PageRegistry
from octavo.http.pages.usage import ReadUsage


def add_pages(
    site: PageRegistry,
    reset_opens: sign_in.ResetOpens,
    usage: ReadUsage,
    portal: Mapping[str, str],
    now: Clock,
    *,
    sends_mail: bool,
) -> None:
    """Serve the pages of accounts.

    ``reset_opens`` returns whether a link to choose a password is valid, ``usage`` what the
    installation has used in the month; ``portal`` has the addresses of the operator's portal by the
    name of each page. ``now`` is in seconds of Unix time. ``sends_mail`` is whether the
    installation can send messages.
    """
    sign_in.add_sign_in_pages(site)
    sign_in.add_password_reset_pages(site, reset_opens, sends_mail=sends_mail)
    account.add_account_pages(site, usage)
    account.add_portal_page(site, portal)
    keys.add_session_pages(site)
    keys.add_key_pages(site, now)
