"""Addresses that a page may send a browser to."""

from urllib.parse import urlsplit


def is_external_redirect(url: str, origin: str) -> bool:
    """Return whether the redirect target ``url`` is outside ``origin``.

    Absolute paths and addresses that begin with the origin are inside, except those that browsers
    interpret differently.
    """
    if not url.isascii() or not url.isprintable() or "\\" in url or " " in url:
        return True
    if url.startswith("/"):
        return url.startswith("//")
    try:
        parts = urlsplit(url)
    except ValueError:
        return True
    return f"{parts.scheme}://{parts.netloc}" != origin
