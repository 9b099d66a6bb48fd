"""The addresses in a note: those of other sites, and those of files of the workspace."""

import re
from typing import NamedTuple
from urllib.parse import unquote

from markdown_it.common.normalize_url import normalizeLink

from octavo.render.allowed import SCHEMES

_EXTERNAL = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*+):|//|\\\\")
_END_OF_PATH = re.compile(r"[?#]")
# What browsers remove from an address before they look for its scheme.
_REMOVED = re.compile(r"[\x00-\x20\x7f]")


class ExternalAddress(NamedTuple):
    """The address of another site, encoded."""

    href: str


class LocalAddress(NamedTuple):
    """A file of the workspace, and a place in it; both decoded, and either may be empty."""

    target: str
    heading: str


def read_address(written: str) -> ExternalAddress | LocalAddress | None:
    """Return the address of a link as a person wrote it; None if links may not lead there.

    A query in the address of a file is dropped, as `octavo.model.links.extraction` does.
    """
    cut = _END_OF_PATH.search(written)
    path, rest = (written, "") if cut is None else (written[: cut.start()], written[cut.start() :])
    # Local addresses may have spaces, but what hides a scheme is none.
    external = _EXTERNAL.match(path) or _EXTERNAL.match(_REMOVED.sub("", path))
    if external is None:
        return LocalAddress(unquote(path), unquote(rest.partition("#")[2]))
    if external[1] and external[1].lower() in SCHEMES and path.startswith(external[0]):
        return ExternalAddress(normalizeLink(written))
    return None
