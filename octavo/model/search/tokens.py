"""The tokens of a text: what the index of an engine holds, one behind the other.

A token is a run of letters and digits. Chinese, Japanese and Korean are written without spaces
between words, or with endings that change: a run of them becomes its pairs of characters, each
overlapping the next, and its last character. So any part of a run is found: by the pairs that it
has itself, and a single character as the beginning of a pair.

What tells the tokens of one workspace from those of another, in an index that holds both.
"""

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache

from octavo.model.files.path import NOTE_SUFFIX
from octavo.model.search.folding import folded

LONGEST_TOKEN = 64
"""Characters of a token that count; words are shorter, so what is cut is data."""

_EAST_ASIAN = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3041-\u30ff\u3105-\u312f"
    "\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff"
    "\uf900-\ufaff\U0001aff0-\U0001b16f\U00020000-\U0003ffff"
)
EAST_ASIAN = f"[{_EAST_ASIAN}]"
LETTER = f"[^ {_EAST_ASIAN}]"
"""In a folded text, a character of any other word."""
_RUN = re.compile(f"({EAST_ASIAN}++)|{LETTER}++")


def runs_of(text: str) -> list[tuple[str, bool]]:
    """Return the runs of a text, folded, and whether each is East Asian."""
    return [(run[0], run[1] is not None) for run in _RUN.finditer(folded(text))]


def name_tokens(path: str, title: str) -> list[str]:
    """Return the tokens of the name of a note: of its path and its title."""
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
    """Return the tokens of an East Asian run; without the last when it may go on."""
    pairs = [run[at : at + 2] for at in range(len(run) - 1)]
    return [*pairs, run[-1]] if ended or not pairs else pairs


_LENGTH = 5
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


@lru_cache(maxsize=1024)
def tag_of(workspace_id: str) -> str:
    """Return what stands before each token of a workspace: five letters and digits.

    Two workspaces may have one tag: whoever searches looks at the workspace of what it finds, too.
    """
    number = int.from_bytes(hashlib.blake2b(workspace_id.encode(), digest_size=8).digest())
    tag = ""
    for _ in range(_LENGTH):
        number, digit = divmod(number, len(_DIGITS))
        tag += _DIGITS[digit]
    return tag


def tagged(tag: str, tokens: Sequence[str]) -> str:
    """Return ``tokens``, each behind the tag, with spaces between them."""
    return tag + f" {tag}".join(tokens) if tokens else ""
