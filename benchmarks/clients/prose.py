"""Prose for notes, from Python's own documentation: like what people write, it repeats little."""

import pydoc_data.topics
import random
import re
from functools import cache


@cache
def sentences() -> tuple[str, ...]:
    """Return some thousand sentences, the same each time."""
    found = re.split(r"(?<=[.:])\s+", re.sub(r"[*`_|+=-]{2,}", " ", _documentation()))
    return tuple(" ".join(each.split()) for each in found if 30 < len(each) < 300)


@cache
def words() -> tuple[str, ...]:
    """Return the words of 4 to 12 letters."""
    return tuple(sorted(set(re.findall(r"[a-z]{4,12}", _documentation().lower()))))


def prose(size: int, seed: int = 0) -> str:
    """Return lines of sentences in an order of their own; they have ``size`` characters."""
    chosen = random.Random(seed)
    text = ""
    while len(text) < size:
        text += f"{chosen.choice(sentences())}\n"
    return text[:size]


def _documentation() -> str:
    return "\n\n".join(pydoc_data.topics.topics.values()).replace("\n   ", "\n")
