"""Short one-line texts that people give as names, without characters that nobody sees."""

import re
import unicodedata

# `unicodedata.normalize` sorts the marks after a letter by insertion: 40,000 of them block the
# process for seconds.
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


# They change the direction of text (Unicode TR 36, section 3.7).
_DIRECTIONS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_HIDDEN = re.compile(f"[{_DIRECTIONS}\u200b\u2060\u3164\ufeff]")
_STEERING = re.compile(f"[{_DIRECTIONS}]")
# White space, controls, and what Unicode calls default ignorable (UAX 44). Not "unassigned": those
# include emoji that are newer than this Python.
_VISIBLE = re.compile(
    "[^\\s\0-\x20\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202f\u2060-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def is_visible(text: str) -> bool:
    """Return whether a character of ``text`` is seen."""
    return _VISIBLE.search(text) is not None


def hidden_fault(text: str) -> str | None:
    """Return which hidden character ``text`` contains, in words that follow "it"; None for none."""
    hidden = _HIDDEN.search(text)
    if hidden is None:
        return None
    which = "changes the direction of text" if _STEERING.match(hidden[0]) else "can't be seen"
    return f"contains a character that {which} (U+{ord(hidden[0]):04X})"


def without_hidden(text: str) -> str:
    """Return ``text`` without hidden characters; in Unicode Normalization Form C if it had any."""
    shown = _HIDDEN.sub("", text)
    return text if shown == text else unicodedata.normalize("NFC", shown)


_UNPRINTABLE = frozenset(("Cc", "Cs", "Zl", "Zp"))

LONGEST_DEVICE = 256
"""Characters kept of a browser's ``user-agent``."""


def parse_label(text: str, longest: int) -> str:
    """Return ``text`` in NFC, without surrounding white space.

    Raises ValueError, whose text describes the error, for one in which nothing is seen, that
    exceeds ``longest`` characters, or contains a control character or a hidden one.
    """
    if len(text) > 4 * longest:
        raise ValueError(f"The maximum is {longest} characters.")
    label = unicodedata.normalize("NFC", text).strip()
    if not is_visible(label):
        raise ValueError("At least one visible character is required.")
    if len(label) > longest:
        raise ValueError(f"The maximum is {longest} characters.")
    if not all(map(_printable, label)):
        raise ValueError("Only one line of text without control characters is accepted.")
    fault = hidden_fault(label)
    if fault is not None:
        raise ValueError(f"The text {fault}: delete it and type it again.")
    return label


def device_of(user_agent: bytes | None) -> str:
    """Return the printable form of a browser's ``user-agent`` header.

    Never raises: unprintable characters are dropped, and the rest is truncated.
    """
    text = (user_agent or b"")[: 4 * LONGEST_DEVICE].decode("latin-1")
    return "".join(filter(_printable, text)).strip()[:LONGEST_DEVICE]


def _printable(character: str) -> bool:
    return unicodedata.category(character) not in _UNPRINTABLE
