"""What a browser prefers, from headers whose length is bounded, parsed once for each value."""

from functools import lru_cache

from antechamber.rejection import MEDIA_TYPE
from babel import Locale
from werkzeug.datastructures import LanguageAccept, MIMEAccept
from werkzeug.http import parse_accept_header

from octavo.http.pages.localized import locale_of

MOST_BYTES = 1024
"""Characters of a header with preferences; a longer one counts as none."""
MOST_MEMBERS = 32
"""Members of its list."""
_KNOWN = 512
_OFFERED = ("text/html", MEDIA_TYPE, "application/json")


@lru_cache(_KNOWN)
def prefers_document(accept: str) -> bool:
    """Return whether a client that sent ``accept`` wants problem details instead of a page.

    It does when it prefers JSON to HTML (RFC 9110 section 12.5.1). Clients without a preference get
    the page.
    """
    best = parse_accept_header(_bounded(accept), MIMEAccept).best_match(_OFFERED)
    return best not in (None, _OFFERED[0])


@lru_cache(_KNOWN)
def accepts_gzip(accept_encoding: str) -> bool:
    """Return whether a client that sent ``accept-encoding`` decompresses gzip."""
    return parse_accept_header(_bounded(accept_encoding)).quality("gzip") > 0


@lru_cache(_KNOWN)
def preferred_locale(accept_language: str) -> Locale:
    """Return the locale of a reader who sent ``accept-language``."""
    return locale_of(parse_accept_header(_bounded(accept_language), LanguageAccept).values())


def _bounded(header: str) -> str:
    if len(header) > MOST_BYTES or header.count(",") >= MOST_MEMBERS:
        return ""
    return header
