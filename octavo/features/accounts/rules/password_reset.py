"""Tokens to choose a new password: how long they are valid, and their links."""

from urllib.parse import quote

RESET_SECONDS = 3600.0
"""Seconds for which a token is valid."""

RESET_PATH = "/reset-password"
"""The path of the page that takes a token and a new password."""


def reset_link(public_url: str, token: str) -> str:
    """Return the link of ``token`` at the installation with the origin ``public_url``."""
    return f"{public_url}{RESET_PATH}?token={quote(token, safe='')}"
