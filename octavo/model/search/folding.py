"""Fold text so that words compare equal regardless of case, diacritics and width.

The result consists of letters, digits and spaces. Marks that are vowels or tones of a script, and
the voicing marks of Japanese kana, are kept: they distinguish words.
"""

import re
import unicodedata
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate

from octavo.model.hidden_characters import stream_safe

MAX_CHARACTERS = 1 << 20
"""Characters of a folded text that are indexed; the rest is not found."""

# NFKC expands a character to up to 18, so texts are folded in pieces up to the limit. A piece ends
# before a character that doesn't compose with the previous one, unless there is none for too long.
_PIECE = re.compile(r".{1,65536}(?![^\x00-\x7f])|.{1,65536}", re.DOTALL)

# Marks with a lower combining class (Unicode 3.11) are part of the spelling: vowel signs have 0,
# nukta 7, the voicing marks of kana 8, virama 9.
_DIACRITIC = 10


class _Folds(dict[int, str]):
    """The folded form of each character, computed on first use."""

    def __missing__(self, code: int) -> str:
        result = self[code] = _fold(chr(code))
        return result


_FOLDS = _Folds()


def _fold(character: str) -> str:
    if unicodedata.category(character) == "Cf":
        # A soft hyphen or a joiner does not end the word.
        return ""
    decomposed = unicodedata.normalize("NFKD", character).casefold()
    kept = "".join(map(_kept, unicodedata.normalize("NFKD", decomposed)))
    return unicodedata.normalize("NFC", kept)


def _kept(character: str) -> str:
    category = unicodedata.category(character)
    if category[0] == "M":
        return "" if unicodedata.combining(character) >= _DIACRITIC else character
    return character if category[0] in "LN" else " "


# The same for ASCII, about ten times as fast.
_ASCII = bytes(ord(_fold(chr(code)) or " ") if code < 128 else 0 for code in range(256))
_IN_ASCII = dict(enumerate(_ASCII[:128].decode()))

_OTHERS = re.compile(r"[^\x00-\x7f]++")
_SHORT = 8


def folded(text: str) -> str:
    """Return ``text`` folded, up to `MAX_CHARACTERS`; takes linear time.

    Characters outside words become spaces.
    """
    text = text[:MAX_CHARACTERS]
    if text.isascii():
        return _with_ascii_folded(text)
    parts: list[str] = []
    length = 0
    for piece in _PIECE.finditer(text):
        part = _with_others_folded(piece[0])
        parts.append(part)
        length += len(part)
        if length >= MAX_CHARACTERS:
            break
    return _with_ascii_folded("".join(parts))[:MAX_CHARACTERS]


def _with_ascii_folded(text: str) -> str:
    """Return ``text``, whose other characters are folded, folded."""
    if text.isascii():
        return text.encode().translate(_ASCII).decode()
    return text.translate(_IN_ASCII)


def _with_others_folded(text: str) -> str:
    """Return ``text`` with all folded but ASCII characters.

    Other characters may compose with the one before them; no ASCII character composes with the one
    before it.
    """
    parts: list[str] = []
    at = 0
    for run in _OTHERS.finditer(text):
        start, end = max(0, run.start() - 1), run.end()
        fold = _fold_short if end - start <= _SHORT else _fold_all
        parts += (text[at:start], fold(text[start:end]))
        at = end
    parts.append(text[at:])
    return "".join(parts)


def _fold_all(text: str) -> str:
    return unicodedata.normalize("NFKC", stream_safe(text)).translate(_FOLDS)


_fold_short = lru_cache(maxsize=4096)(_fold_all)


def folded_in_place(text: str) -> tuple[str, list[int] | None]:
    """Return ``text``, which must be in NFC, folded, and the source offset of each character.

    The offsets are None if they are all unchanged. The result is cut at `MAX_CHARACTERS`.
    """
    text = text[:MAX_CHARACTERS]
    if text.isascii():
        return folded(text), None
    if all(len(_FOLDS[ord(each)]) == 1 for each in set(text)):
        alone = _OTHERS.sub(lambda run: run[0].translate(_FOLDS), text)
        return _with_ascii_folded(alone), None
    pieces = [_FOLDS[ord(character)] for character in text]
    pieces = pieces[: bisect_right([*accumulate(map(len, pieces))], MAX_CHARACTERS)]
    whole = "".join(pieces)
    offsets = [at for at, piece in enumerate(pieces) for _ in piece]
    return whole, [*offsets, len(pieces)]
