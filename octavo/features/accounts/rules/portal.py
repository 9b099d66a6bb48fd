"""The hand-off of a person to a page of the operator's account portal."""

from urllib.parse import urlencode, urlsplit, urlunsplit

from octavo_rules.problems import NotFound

TOKEN_SECONDS = 60.0
"""Seconds for which a portal token is valid (specification, "Limits")."""

LONGEST_PAGE = 50
"""Characters of the name of a page."""


class PortalMissing(NotFound):
    """The portal has no page with this name, or there is no portal."""

    detail = "The account portal of this installation has no such page."


class PortalTokenUnusable(NotFound):
    """The portal token is unknown, used or expired, or its account can't sign in any more."""

    detail = "The portal token is not valid: it works once, for 60 seconds."


def with_token(address: str, token: str) -> str:
    """Return ``address`` with the parameter ``token`` added at the end of its query."""
    parts = urlsplit(address)
    added = urlencode({"token": token})
    query = f"{parts.query}&{added}" if parts.query else added
    return urlunsplit(parts._replace(query=query))
