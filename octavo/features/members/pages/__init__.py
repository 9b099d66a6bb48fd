"""The pages of members."""

from octavo.features.legal.rules import LegalDocuments
from octavo.features.members.pages.members import add_member_pages, add_workspace_pages
from octavo.features.members.pages.register import FindInvited, Opens, add_register_pages
from octavo.http.pages.page_registry import PageRegistry


def add_pages(
    site: PageRegistry, opens: Opens, invited_into: FindInvited, legal: LegalDocuments
) -> None:
    """Serve the pages of workspaces and their members.

    ``opens`` returns whether an invitation is valid, ``invited_into`` what its holder may know of
    it; people accept the documents ``legal``.
    """
    add_register_pages(site, opens, invited_into, legal)
    add_workspace_pages(site)
    add_member_pages(site)
