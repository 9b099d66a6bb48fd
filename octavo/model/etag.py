"""Entity tags, and the headers that compare them (RFC 9110 sections 8.8.3 and 13.1)."""

import re
from typing import NamedTuple

MOST_TAGS = 100
"""Entity tags in a list."""
_STRONG = r'"([\x21\x23-\x7e\x80-\U0010ffff]*)"'
_ONE_STRONG = re.compile(_STRONG)
_TAG = re.compile(f"(W/)?{_STRONG}")
_BETWEEN = re.compile(r"[ \t]*(?:,[ \t]*)*")


class EntityTag(NamedTuple):
    """An entity tag: its opaque part, without the quotes."""

    opaque: str
    weak: bool = False


class EntityTags(NamedTuple):
    """The value of ``if-match`` or ``if-none-match``: tags, or ``*`` for any."""

    tags: tuple[EntityTag, ...]
    anything: bool = False

    @property
    def strong(self) -> frozenset[str]:
        """The opaque parts that match by strong comparison, as ``if-match`` requires.

        Weak tags never match; ``*`` has no opaque part.
        """
        return frozenset([tag.opaque for tag in self.tags if not tag.weak])

    def names_weakly(self, opaque: str) -> bool:
        """Return whether a tag matches by weak comparison, as ``if-none-match`` compares."""
        return self.anything or opaque in [tag.opaque for tag in self.tags]


def parse_entity_tags(value: str) -> EntityTags:
    """Parse a list of entity tags, or ``*``.

    Empty list members are ignored (RFC 9110 section 5.6.1.2). Raises ValueError for anything
    else, and for a list of more than `MOST_TAGS`; its text describes the error.
    """
    only = one_strong_tag(value)
    if only is not None:
        return EntityTags((EntityTag(only),))
    text = value.strip(" \t")
    if text == "*":
        return EntityTags((), anything=True)
    if text.count('"') > 2 * MOST_TAGS:
        raise ValueError(f"must be a list of at most {MOST_TAGS} entity tags")
    tags: list[EntityTag] = []
    at = _skip(text, 0)
    while at < len(text):
        tag = _TAG.match(text, at)
        if tag is None:
            raise ValueError("must be a list of entity tags, each in double quotes")
        tags.append(EntityTag(tag[2], weak=tag[1] is not None))
        at = tag.end()
        after = _skip(text, at)
        if after < len(text) and "," not in text[at:after]:
            raise ValueError("must be a list of entity tags separated by commas")
        at = after
    if not tags:
        raise ValueError("contains no entity tag")
    return EntityTags(tuple(tags))


def one_strong_tag(value: str) -> str | None:
    """Return the opaque part of a list of one strong tag, as clients send it; None for others."""
    one = _ONE_STRONG.fullmatch(value)
    return None if one is None else one[1]


def _skip(text: str, at: int) -> int:
    between = _BETWEEN.match(text, at)
    return at if between is None else between.end()


def entity_tag(opaque: str) -> bytes:
    """Return the strong entity tag of ``opaque`` as the value of a header."""
    return b'"%b"' % opaque.encode()
