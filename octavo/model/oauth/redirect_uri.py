"""Redirect URIs: which ones clients may register, and which request uses a registered one."""

import re
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from octavo.model.oauth.refusal import OAuthRefusal

LONGEST = 2_000
"""Characters of a redirect URI."""

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*")
_HOST = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?")
_BRACKETS = re.compile(r"\[[^\[\]]*\](?::[0-9]*)?")
_VISIBLE = re.compile(r"[!-~]+")
# Browsers interpret these themselves, or they lead to files.
_DANGEROUS = frozenset(
    {
        "about",
        "blob",
        "chrome",
        "data",
        "file",
        "filesystem",
        "ftp",
        "intent",
        "javascript",
        "mailto",
        "res",
        "resource",
        "sms",
        "tel",
        "vbscript",
        "view-source",
        "ws",
        "wss",
    }
)


def check_redirect_uri(uri: str) -> None:
    """Raise `OAuthRefusal` unless a client may register ``uri``.

    Allowed are https addresses, http addresses of the loopback interface (RFC 8252 section 7.3),
    and schemes of applications (RFC 8252 section 7.1), all without a fragment (RFC 6749 section
    3.1.2).
    """
    fault = _fault(uri)
    if fault is not None:
        raise OAuthRefusal("invalid_redirect_uri", f"The redirect URI {fault}.")


def _fault(uri: str) -> str | None:
    if not 0 < len(uri) <= LONGEST:
        return f"must have 1 to {LONGEST} characters"
    if _VISIBLE.fullmatch(uri) is None or "\\" in uri:
        return "must contain only visible ASCII characters, and no backslash"
    parts = _split(uri)
    if parts is None or _SCHEME.fullmatch(parts.scheme) is None:
        return "must be an absolute URI"
    if "#" in uri:
        return "must not have a fragment"
    if parts.scheme in _DANGEROUS:
        return f"must not have the scheme {parts.scheme}"
    if parts.scheme in ("https", "http"):
        # The standard library finds an address in brackets anywhere in the authority.
        misplaced = "[" in parts.netloc and _BRACKETS.fullmatch(parts.netloc) is None
        if not parts.hostname or "@" in parts.netloc or misplaced or not _is_host(parts.hostname):
            return "must name a host, and no user"
        if parts.scheme == "http" and not _is_loopback(parts.hostname):
            return "must use https, except for the loopback interface (127.0.0.1, [::1], localhost)"
    return None


def uses_redirect_uri(registered: str, given: str) -> bool:
    """Return whether a request with ``given`` uses the URI that its client ``registered``.

    They are compared as strings (RFC 6749 section 3.1.2.3); only the port of the loopback interface
    may differ (RFC 8252 section 7.3).
    """
    if given == registered:
        return True
    if _fault(given) is not None:
        return False
    ours, theirs = _split(registered), _split(given)
    if ours is None or theirs is None or (ours.scheme, theirs.scheme) != ("http", "http"):
        return False
    if not (ours.hostname and _is_loopback(ours.hostname)):
        return False
    return _without_port(ours) == _without_port(theirs)


def form_action_of(uri: str) -> str:
    """Return the source of a Content Security Policy that lets a form be redirected to ``uri``.

    Browsers apply ``form-action`` to redirects, too.
    """
    parts = urlsplit(uri)
    if parts.scheme in ("https", "http") and ":" not in (parts.hostname or ":"):
        return f"{parts.scheme}://{parts.netloc}"
    return f"{parts.scheme}:"


def host_of(uri: str) -> str:
    """Return what a person can recognise the target of ``uri`` by: its host, or its scheme."""
    parts = urlsplit(uri)
    if parts.scheme in ("https", "http"):
        return parts.netloc
    return f"{parts.scheme}:"


def leads_to_this_device(uri: str) -> bool:
    """Return whether ``uri`` leads to a program on the device of the browser."""
    parts = urlsplit(uri)
    return parts.scheme != "https"


def _split(uri: str) -> SplitResult | None:
    try:
        parts = urlsplit(uri)
        # Raises ValueError for a port that is none.
        parts.port  # noqa: B018
    except ValueError:
        return None
    return parts


def _without_port(parts: SplitResult) -> tuple[str | None, str, str, bool]:
    return parts.hostname, parts.path, parts.query, "@" in parts.netloc


def _is_host(host: str) -> bool:
    if _HOST.fullmatch(host):
        return True
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
