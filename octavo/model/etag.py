"""Entity tags, and the two headers that compare them (RFC 9110 sections 8.8.3 and 13.1)."""

import re
from typing import NamedTuple

_TAG = re.compile(r'(W/)?"([\x21\x23-\x7e\x80-\U0010ffff]*)"')
_BETWEEN = re.compile(r"[ \t]*(?:,[ \t]*)*")


class EntityTag(NamedTuple):
    """One entity tag: its opaque part, without the quotes."""

    opaque: str
    weak: bool = False


class EntityTags(NamedTuple):
    """The value of ``if-match`` or ``if-none-match``: tags, or ``*`` for whatever there is."""

    tags: tuple[EntityTag, ...]
    anything: bool = False

    @property
    def strong(self) -> frozenset[str]:
        """The opaque parts that match by strong comparison, as ``if-match`` compares.

        A weak tag never does. ``*`` names no head, so it has none either.
        """
        return frozenset(tag.opaque for tag in self.tags if not tag.weak)

    def names_weakly(self, opaque: str) -> bool:
        """Return whether a tag matches by weak comparison, as ``if-none-match`` compares."""
        return self.anything or any(tag.opaque == opaque for tag in self.tags)


def parse_entity_tags(value: str) -> EntityTags:
    """Read a list of entity tags, or ``*``.

    Empty members of a list are passed over (RFC 9110 section 5.6.1.2). Raises ValueError, whose
    text says what was wrong, for anything else.
    """
    text = value.strip(" \t")
    if text == "*":
        return EntityTags((), anything=True)
    tags: list[EntityTag] = []
    at = _skip(text, 0)
    while at < len(text):
        found = _TAG.match(text, at)
        if found is None:
            raise ValueError('takes "*" or a list of entity tags, each in double quotes')
        tags.append(EntityTag(found[2], weak=found[1] is not None))
        at = found.end()
        after = _skip(text, at)
        if after < len(text) and "," not in text[at:after]:
            raise ValueError("takes a list of entity tags with commas between them")
        at = after
    if not tags:
        raise ValueError("names no entity tag")
    return EntityTags(tuple(tags))


def _skip(text: str, at: int) -> int:
    found = _BETWEEN.match(text, at)
    return at if found is None else found.end()


def entity_tag(opaque: str) -> bytes:
    """Return the strong entity tag of ``opaque`` as the value of a header."""
    return b'"%b"' % opaque.encode()
