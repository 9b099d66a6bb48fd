"""The hand-off of a signed-in person to a page of the operator's account portal."""

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from quart import Response

from octavo.features.accounts.api.account import PortalOpened
from octavo.http.pages.page_registry import PageRegistry, Visitor
from octavo.http.pages.responses import show


class PortalLink(NamedTuple):
    """What leads to a page of the portal.

    Attributes:
        page: the name of the page.
        title: the name for people.
        host: where the page is.
    """

    page: str
    title: str
    host: str


def portal_links(portal: Mapping[str, str]) -> tuple[PortalLink, ...]:
    """Return what leads to the pages of ``portal``: addresses by name."""
    return tuple(
        PortalLink(page, page.replace("-", " ").strip().capitalize(), urlsplit(address).netloc)
        for page, address in portal.items()
    )


def add_portal_page(site: PageRegistry, portal: Mapping[str, str]) -> None:
    """Serve the form that opens a page of ``portal``: addresses by name."""
    site.provide(portal_links=portal_links(portal))

    @site.form("/account/portal")
    async def open_portal(visitor: Visitor) -> Response:
        body = {"path": visitor.given.get("page", "")}
        opened = await visitor.api.send(PortalOpened, "POST", "/api/account/portal", body)
        # A redirect of a form to another origin would be blocked: the policy is form-action 'self'.
        host = urlsplit(opened.address).netloc
        return await show("account/portal.html", address=opened.address, host=host)
