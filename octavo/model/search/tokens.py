"""Split texts into the tokens that the full-text index stores, and fold them.

A token is a run of letters and digits. Chinese, Japanese and Korean have no spaces between words,
or inflect them: a run is indexed as its overlapping pairs of characters, and its last character.
Any part of a run can be found: by its own pairs, and a single character as the prefix of a pair.

`tag_of` distinguishes the tokens of different workspaces in a common index.
"""

import hashlib
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

from octavo.model.files.path import NOTE_SUFFIX
from octavo.model.label import stream_safe

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
    if all(len(_FOLDS[ord(character)]) == 1 for character in set(text)):
        alone = _OTHERS.sub(lambda run: run[0].translate(_FOLDS), text)
        return _with_ascii_folded(alone), None
    pieces = [_FOLDS[ord(character)] for character in text]
    pieces = pieces[: bisect_right([*accumulate(map(len, pieces))], MAX_CHARACTERS)]
    whole = "".join(pieces)
    offsets = [at for at, piece in enumerate(pieces) for _ in piece]
    return whole, [*offsets, len(pieces)]


LONGEST_TOKEN = 64
"""Characters of a token that are indexed; words are shorter, so only data is truncated."""

_EAST_ASIAN = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3041-\u30ff\u3105-\u312f"
    "\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff"
    "\uf900-\ufaff\U0001aff0-\U0001b16f\U00020000-\U0003ffff"
)
EAST_ASIAN = f"[{_EAST_ASIAN}]"
LETTER = f"[^ {_EAST_ASIAN}]"
"""A character of a word in another script, in a folded text."""
_RUN = re.compile(f"({EAST_ASIAN}++)|{LETTER}++")


def runs_of(text: str) -> list[tuple[str, bool]]:
    """Return the folded runs of a text, and whether each is East Asian."""
    return [(run[0], run[1] is not None) for run in _RUN.finditer(folded(text))]


def name_tokens(path: str, title: str) -> list[str]:
    """Return the tokens of a note's name: of its path and its title."""
    return tokens_of(f"{path.removesuffix(NOTE_SUFFIX)}\n{title}")


def tokens_of(text: str) -> list[str]:
    """Return the tokens of ``text`` in order; takes linear time."""
    whole = folded(text)
    if whole.isascii():
        tokens = whole.split()
        if max(map(len, tokens), default=0) > LONGEST_TOKEN:
            tokens = [token[:LONGEST_TOKEN] for token in tokens]
        return tokens
    tokens = []
    for run in _RUN.finditer(whole):
        if run[1] is None:
            tokens.append(run[0][:LONGEST_TOKEN])
        else:
            tokens += pairs_of(run[0])
    return tokens


def pairs_of(run: str, *, ended: bool = True) -> list[str]:
    """Return the tokens of an East Asian run; ``ended=False`` omits the last, for prefixes."""
    pairs = [run[at : at + 2] for at in range(len(run) - 1)]
    return [*pairs, run[-1]] if ended or not pairs else pairs


_LENGTH = 5
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


@lru_cache(maxsize=1024)
def tag_of(workspace_id: str) -> str:
    """Return the prefix of each token of a workspace: five letters and digits.

    Workspaces may share a tag: a search must also check the workspace of its results.
    """
    number = int.from_bytes(hashlib.blake2b(workspace_id.encode(), digest_size=8).digest())
    tag = ""
    for _ in range(_LENGTH):
        number, digit = divmod(number, len(_DIGITS))
        tag += _DIGITS[digit]
    return tag


def tagged(tag: str, tokens: Sequence[str]) -> str:
    """Return ``tokens``, each prefixed with the tag, separated by spaces."""
    return tag + f" {tag}".join(tokens) if tokens else ""
