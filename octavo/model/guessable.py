"""Passwords that are guessed first: well-known words, walks on the keyboard, and a year behind.

Such lists hold millions of entries, nearly all made by a few rules from a few hundred words. So
the words are listed and the rules are written down: a password is cut into as few pieces as
possible, and one of a few pieces is among those that are tried first.
"""

import unicodedata

from octavo.model.common_words import COMMON_WORDS

MOST_PIECES = 3
"""A password of so many pieces or fewer is guessed."""

LONGEST_UNIT = 4
"""A password that repeats so many characters or fewer is guessed."""

_SHORTEST_WALK = 3

WORDS = frozenset(COMMON_WORDS.split())
"""Known words, in lower case."""

_ROWS = (
    "abcdefghijklmnopqrstuvwxyz",
    "12345678901234567890",
    "0123456789",
    "qwertyuiop",
    "qwertzuiop",
    "azertyuiop",
    "asdfghjkl",
    "zxcvbnm",
    "yxcvbnm",
    "!@#$%^&*()",
    '!"§$%&/()=',
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p",
    "1q2w3e4r5t6y7u8i9o0p",
    "1a2b3c4d5e6f7g8h9i0j",
    "a1b2c3d4e5f6g7h8i9j0",
    "q1w2e3r4t5y6u7i8o9p0",
    "qazwsxedcrfvtgbyhnujmikolp",
    "qweasdzxc",
    "147258369",
)
_WALKS = (*_ROWS, *(row[::-1] for row in _ROWS))
_LONGEST_WORD = max(map(len, WORDS))
_SPELLED = str.maketrans("@4310!5$7", "aaeioisst")


def guessable(password: str) -> bool:
    """Answer whether ``password``, in any case of its letters, is among those tried first."""
    text = unicodedata.normalize("NFKC", password).casefold()
    return _repeats(text) or pieces(text) <= MOST_PIECES


def pieces(text: str) -> int:
    """Answer the least number of pieces that ``text``, in lower case, is cut into.

    A piece is a known word, also with digits in place of letters; a walk on the keyboard or
    along the alphabet; one character repeated; a year; or any one character.
    """
    plain = text.translate(_SPELLED)
    fewest = [0] * (len(text) + 1)
    for end in range(1, len(text) + 1):
        fewest[end] = 1 + min(fewest[start] for start in _starts(text, plain, end))
    return fewest[-1]


def _starts(text: str, plain: str, end: int) -> list[int]:
    """Answer where a piece that ends before ``end`` may start."""
    starts = [end - 1]
    starts += (
        start
        for start in range(max(0, end - _LONGEST_WORD), end - 1)
        if text[start:end] in WORDS or plain[start:end] in WORDS
    )
    start = end - _SHORTEST_WALK
    while start >= 0 and any(text[start:end] in walk for walk in _WALKS):
        starts.append(start)
        start -= 1
    start = end - 2
    while start >= 0 and text[start] == text[end - 1]:
        starts.append(start)
        start -= 1
    if _is_year(text[max(0, end - 4) : end]):
        starts.append(end - 4)
    return starts


def _is_year(text: str) -> bool:
    return len(text) == 4 and text[:2] in ("19", "20") and text[2:].isdecimal()


def _repeats(text: str) -> bool:
    return any(
        all(text[at] == text[at - unit] for at in range(unit, len(text)))
        for unit in range(1, min(LONGEST_UNIT, len(text) // 2) + 1)
    )
