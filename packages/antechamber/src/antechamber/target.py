"""Parse and validate the request target and the host (RFC 9112 section 3.2)."""

import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from antechamber.rejection import malformed

_HOST = re.compile(
    rb"(?:\[[0-9A-Fa-f:.]{2,45}\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2}){1,255})(?::[0-9]{0,5})?"
)
_IN_TARGET = bytes((*range(0x21, 0x23), *range(0x24, 0x7F)))
_BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_ABSOLUTE = re.compile(rb"https?://([^/?]*)", re.IGNORECASE)


class Target(NamedTuple):
    """A parsed request target.

    ``path`` is decoded, ``raw_path`` and ``query`` are as received. ``authority`` is the host of an
    absolute target, which overrides the host header.
    """

    path: str
    raw_path: bytes
    query: bytes
    authority: bytes | None = None


# An installation is addressed by few hosts.
@lru_cache(maxsize=256)
def check_host(host: bytes) -> None:
    """Raise `RequestRejected` (400) unless ``host`` is a host with an optional port.

    See RFC 9110 section 7.2.
    """
    if not _HOST.fullmatch(host):
        raise malformed("The header host must be one host, with an optional port.")


# Polling clients repeat their targets. The length is checked before this call.
@lru_cache(maxsize=512)
def read_target(target: bytes, *, of_options: bool = False) -> Target:
    """Parse a request target: origin form, absolute form, or ``*`` for OPTIONS.

    Any octet may be percent-encoded (RFC 3986 section 2.1): what is not UTF-8 is decoded as U+FFFD,
    which the application finds nowhere. Raises `RequestRejected` (400) for anything else, and for
    an invalid escape.
    """
    if target.translate(None, _IN_TARGET):
        raise malformed("The request target contains a character that must be percent-encoded.")
    authority = None
    if target[:1] != b"/":
        if target == b"*" and of_options:
            return Target("*", target, b"")
        absolute = _ABSOLUTE.match(target)
        if absolute is None:
            raise malformed("The request target must be a path that starts with '/'.")
        authority = absolute[1]
        check_host(authority)
        target = target[absolute.end() :]
        if not target.startswith(b"/"):
            target = b"/" + target
    raw_path, _, query = target.partition(b"?")
    if b"%" not in raw_path:
        return Target(raw_path.decode("ascii"), raw_path, query, authority)
    if _BAD_ESCAPE.search(raw_path):
        raise malformed("The path contains a '%' that is not followed by two hexadecimal digits.")
    path = unquote_to_bytes(raw_path).decode(errors="replace")
    return Target(path, raw_path, query, authority)
