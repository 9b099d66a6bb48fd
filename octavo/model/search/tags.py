"""What tells the tokens of one workspace from those of another, in an index that holds both."""

import hashlib
from collections.abc import Sequence
from functools import lru_cache

_LENGTH = 5
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


@lru_cache(maxsize=1024)
def tag_of(workspace_id: str) -> str:
    """Answer what stands before each token of a workspace: five letters and digits.

    Two workspaces may have one tag: whoever searches looks at the workspace of what it finds, too.
    """
    number = int.from_bytes(hashlib.blake2b(workspace_id.encode(), digest_size=8).digest())
    tag = ""
    for _ in range(_LENGTH):
        number, digit = divmod(number, len(_DIGITS))
        tag += _DIGITS[digit]
    return tag


def tagged(tag: str, tokens: Sequence[str]) -> str:
    """Answer ``tokens``, each behind the tag, with spaces between them."""
    return tag + f" {tag}".join(tokens) if tokens else ""
