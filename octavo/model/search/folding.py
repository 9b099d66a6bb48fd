"""Fold a text so that words compare equal however they are written: case, diacritics, width.

What is left are letters, digits and spaces. Marks that are vowels or tones of a script, and the
voicing of Japanese kana, are kept: without them it is another word.
"""

import re
import unicodedata
from bisect import bisect_right
from itertools import accumulate

from octavo.model.stream_safe import stream_safe

MOST_CHARACTERS = 1 << 20
"""Of a text, folded, are looked at; what stands behind them is not found."""

# NFKC makes up to 18 characters of one, so a text is folded in pieces until there are enough. They
# end before a character that composes with none before it, unless there is none for so long.
_PIECE = re.compile(r".{1,65536}(?![^\x00-\x7f])|.{1,65536}", re.DOTALL)

# Of the marks, those with a lower combining class (Unicode 3.11) spell: vowel signs have 0, nukta
# 7, the voicing marks of kana 8, virama 9.
_DIACRITIC = 10


class _Folds(dict[int, str]):
    """What each character is folded to, found out when it is first met."""

    def __missing__(self, code: int) -> str:
        result = self[code] = _fold(chr(code))
        return result


_FOLDS = _Folds()


def _fold(character: str) -> str:
    if unicodedata.category(character) == "Cf":
        # A soft hyphen, or a joiner: the word goes on.
        return ""
    decomposed = unicodedata.normalize("NFKD", character).casefold()
    kept = "".join(map(_kept, unicodedata.normalize("NFKD", decomposed)))
    return unicodedata.normalize("NFC", kept)


def _kept(character: str) -> str:
    category = unicodedata.category(character)
    if category[0] == "M":
        return "" if unicodedata.combining(character) >= _DIACRITIC else character
    return character if category[0] in "LN" else " "


# The same for ASCII, some ten times as fast.
_ASCII = bytes(ord(_fold(chr(code)) or " ") if code < 128 else 0 for code in range(256))


def folded(text: str) -> str:
    """Return ``text`` folded, as far as `MOST_CHARACTERS`; takes linear time.

    What is no part of a word is a space.
    """
    text = text[:MOST_CHARACTERS]
    if text.isascii():
        return text.encode().translate(_ASCII).decode()
    parts: list[str] = []
    length = 0
    for piece in _PIECE.finditer(stream_safe(text)):
        part = unicodedata.normalize("NFKC", piece[0]).translate(_FOLDS)
        parts.append(part)
        length += len(part)
        if length >= MOST_CHARACTERS:
            break
    return "".join(parts)[:MOST_CHARACTERS]


def folded_in_place(text: str) -> tuple[str, list[int] | None]:
    """Return ``text``, which is in NFC, folded, and where each character of that stands in it.

    None: each stands where it stood. What is behind `MOST_CHARACTERS` is left out.
    """
    text = text[:MOST_CHARACTERS]
    if text.isascii():
        return folded(text), None
    pieces = [_FOLDS[ord(character)] for character in text]
    if all(len(piece) == 1 for piece in pieces):
        return "".join(pieces), None
    pieces = pieces[: bisect_right([*accumulate(map(len, pieces))], MOST_CHARACTERS)]
    whole = "".join(pieces)
    places = [at for at, piece in enumerate(pieces) for _ in piece]
    return whole, [*places, len(pieces)]
