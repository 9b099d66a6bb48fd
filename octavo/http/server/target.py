"""The request target and the host (RFC 9112 section 3.2), each in its one accepted form."""

import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from octavo.http.server.rejection import malformed

_HOST = re.compile(
    rb"(?:\[[0-9A-Fa-f:.]{2,45}\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2}){1,255})(?::[0-9]{0,5})?"
)
_IN_TARGET = bytes((*range(0x21, 0x23), *range(0x24, 0x7F)))
_BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_ABSOLUTE = re.compile(rb"https?://([^/?]*)", re.IGNORECASE)


class Target(NamedTuple):
    """A request target, taken apart.

    ``path`` is decoded, ``raw_path`` and ``query`` are as they came. ``authority`` is the host
    that an absolute target names, which counts in place of the host header.
    """

    path: str
    raw_path: bytes
    query: bytes
    authority: bytes | None = None


# Clients of one installation name few hosts, again and again.
@lru_cache(maxsize=256)
def check_host(host: bytes) -> None:
    """Refuse with 400 what is no host with an optional port (RFC 9110 section 7.2)."""
    if not _HOST.fullmatch(host):
        raise malformed("The header host has to name one host, with an optional port.")


# What is asked for again and again, as clients poll; a target is bounded before it comes here.
@lru_cache(maxsize=512)
def read_target(target: bytes, *, of_options: bool = False) -> Target:
    """Take the target of a request apart: origin form, absolute form, or ``*`` for OPTIONS.

    Raises `Refusal` (400) for anything else, for an escape that is none, and for a path that is
    no UTF-8 once decoded.
    """
    if target.translate(None, _IN_TARGET):
        raise malformed("The request target holds a character that has to be percent-encoded.")
    authority = None
    if target[:1] != b"/":
        if target == b"*" and of_options:
            return Target("*", target, b"")
        absolute = _ABSOLUTE.match(target)
        if absolute is None:
            raise malformed("The request target has to be a path that starts with '/'.")
        authority = absolute[1]
        check_host(authority)
        target = target[absolute.end() :]
        if not target.startswith(b"/"):
            target = b"/" + target
    raw_path, _, query = target.partition(b"?")
    if b"%" not in raw_path:
        return Target(raw_path.decode("ascii"), raw_path, query, authority)
    if _BAD_ESCAPE.search(raw_path):
        raise malformed("The path holds a '%' that two hexadecimal digits don't follow.")
    try:
        path = unquote_to_bytes(raw_path).decode()
    except UnicodeDecodeError:
        raise malformed("The path is no UTF-8 once its escapes are decoded.") from None
    if "\0" in path:
        raise malformed("The path holds the character NUL, which no path can.")
    return Target(path, raw_path, query, authority)
