"""Limit the combining marks on a letter, so that normalizing any text takes linear time.

`unicodedata.normalize` sorts the marks after a letter by insertion: 40,000 of them block the
process for seconds.
"""

import re
import unicodedata

MAX_MARKS = 30
"""Marks on one letter; no script needs more (Stream-Safe Text Format, UAX #15 section 13)."""

# Characters that are not marks but decompose to marks: Tibetan signs and halfwidth kana.
_DECOMPOSED = frozenset("\u0f73\u0f75\u0f81\uff9e\uff9f")
# All marks, and some signs, which are told apart within long runs. A search for long runs of marks
# alone would rescan the others from each of their characters.
_MARKS = re.compile(r"(?:[^\w\x00-\u02ff\u2000-\u20cf\u2100-\u2bff]|[\uff9e\uff9f]){4,}+")


def stream_safe(text: str, maximum: int = MAX_MARKS) -> str:
    """Return ``text`` without the marks that exceed ``maximum`` in a row; in linear time.

    ``maximum`` must be at least three.
    """
    if text.isascii():
        return text
    return _MARKS.sub(lambda run: run[0] if len(run[0]) <= maximum else _cut(run[0], maximum), text)


def _cut(run: str, maximum: int) -> str:
    kept = []
    marks = 0
    for character in run:
        marks = marks + 1 if is_mark(character) else 0
        if marks <= maximum:
            kept.append(character)
    return "".join(kept)


def is_mark(character: str) -> bool:
    """Return whether ``character`` is a non-starter, which normalization sorts after a letter."""
    return unicodedata.combining(character) != 0 or character in _DECOMPOSED
