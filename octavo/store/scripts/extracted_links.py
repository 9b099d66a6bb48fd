"""The links of notes as they are extracted from their texts; the last ones are remembered.

The index says which notes link to a file, but not how: their texts do. The page of a note asks for
that with every view, and the texts seldom change.
"""

from collections import OrderedDict
from hashlib import blake2b
from threading import Lock
from typing import NamedTuple

from octavo.store.compression import undamaged
from octavo.store.scripts.link_index import NoteLink, links_in
from octavo.store.transaction import indexed_title

MOST_BYTES = 16 * 1024 * 1024
"""Of the links in memory, about."""
_EACH = 400
"""Bytes of a link, or of a note, without its texts."""
_SHARE = 8
"""A note that takes more than one of so many shares is not remembered: it would displace others."""


class ExtractedLinks(NamedTuple):
    """The title of a note as it is indexed, and its links in their order."""

    title: str
    links: tuple[NoteLink, ...]


class LinkMemory:
    """Extracts links, and remembers them by text and path; safe to be used by many threads.

    Args:
        most_bytes: in memory, about; what was used longest ago is forgotten first.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._known: OrderedDict[tuple[bytes, str], tuple[ExtractedLinks, int]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._known)

    def links(self, data: bytes, path: str) -> ExtractedLinks:
        """Return the links of the note at ``path``, whose text ``data`` stores.

        A damaged text has none.
        """
        key = (blake2b(data, digest_size=16).digest(), path)
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
                return known[0]
        text = undamaged(data) or ""
        found = ExtractedLinks(indexed_title(text), tuple(links_in(text, path)))
        size = _size(found) + len(path)
        with self._lock:
            if key not in self._known and size <= self._most_bytes // _SHARE:
                self._known[key] = (found, size)
                self._bytes += size
            while self._bytes > self._most_bytes:
                _, (_, forgotten) = self._known.popitem(last=False)
                self._bytes -= forgotten
        return found


def _size(found: ExtractedLinks) -> int:
    return _EACH + len(found.title) + sum(map(_link_size, found.links))


def _link_size(link: NoteLink) -> int:
    return _EACH + len(link.target) + len(link.heading) + sum(map(len, link.keys))
