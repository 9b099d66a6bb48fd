"""Split texts into the tokens that the full-text index stores.

A token is a run of letters and digits. Chinese, Japanese and Korean have no spaces between words,
or inflect them: a run is indexed as its overlapping pairs of characters, and its last character.
Any part of a run can be found: by its own pairs, and a single character as the prefix of a pair.

`tag_of` distinguishes the tokens of different workspaces in a common index.
"""

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache

from octavo.model.files.path import NOTE_SUFFIX
from octavo.model.search.folding import folded

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
