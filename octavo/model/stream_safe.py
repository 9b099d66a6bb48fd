"""Keep marks from piling up on a letter, so that normalizing any text takes linear time.

`unicodedata.normalize` sorts the marks behind a letter by insertion: 40,000 of them take it
seconds, in which nothing else runs.
"""

import re
import unicodedata

MOST_MARKS = 30
"""On one letter; no writing has so many (Stream-Safe Text Format, UAX #15 section 13)."""

# Some are no marks by their class, and decompose to such: of Tibetan, and those of halfwidth kana.
_DECOMPOSED = frozenset("\u0f73\u0f75\u0f81\uff9e\uff9f")
# All marks, and some signs, which are told apart where a run is long. A search for runs that are
# long alone would look at each of the others from every character of it.
_MARKS = re.compile(r"(?:[^\w\x00-\u02ff\u2000-\u20cf\u2100-\u2bff]|[\uff9e\uff9f]){4,}+")


def stream_safe(text: str, most: int = MOST_MARKS) -> str:
    """Return ``text`` without the marks that are more than ``most`` in a row; in linear time.

    ``most`` is three or more.
    """
    if text.isascii():
        return text
    return _MARKS.sub(lambda run: run[0] if len(run[0]) <= most else _cut(run[0], most), text)


def _cut(run: str, most: int) -> str:
    kept = []
    marks = 0
    for character in run:
        marks = marks + 1 if is_mark(character) else 0
        if marks <= most:
            kept.append(character)
    return "".join(kept)


def is_mark(character: str) -> bool:
    """Return whether ``character`` is sorted among those behind a letter (a non-starter)."""
    return unicodedata.combining(character) != 0 or character in _DECOMPOSED
