"""Encode models with long texts, piece by piece: one call for megabytes holds the event loop."""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import TypeVar, cast

import trio
from pydantic import BaseModel
from pydantic_core import to_json

T = TypeVar("T")

LONG = 64 * 1024
"""Characters of a long text."""
PIECE = 256 * 1024
"""Characters that are encoded while nothing else runs."""


async def encoded_in_pieces(value: T, encode: Callable[[T], bytes]) -> bytes:
    """Return what ``encode`` returns for a model or mapping, its long texts encoded in pieces.

    Marks stand for them meanwhile. Cancelling loses the result.
    """
    for attempt in count():
        texts: list[str] = []
        encoded = encode(cast("T", _marked(value, attempt, texts)))
        marks = [*re.finditer(rb'"<long %d (\d+)>"' % attempt, encoded)] if texts else []
        # Otherwise a short text has one of these marks: others are tried.
        if len(marks) == len(texts):
            break
    pieces: list[bytes] = []
    done = 0
    for mark in marks:
        pieces += (encoded[done : mark.start()], b'"')
        for piece in _slices(texts[int(mark[1])]):
            pieces.append(to_json(piece)[1:-1])
            await trio.lowlevel.checkpoint()
        pieces.append(b'"')
        done = mark.end()
    return b"".join((*pieces, encoded[done:])) if texts else encoded


def _slices(text: str) -> Iterator[str]:
    for start in range(0, len(text), PIECE):
        yield text[start : start + PIECE]


def _marked(value: object, attempt: int, texts: list[str]) -> object:
    """Return ``value`` with marks for its long texts, which are added to ``texts``.

    A nested function that calls itself would be a cycle, and keep the texts in memory.
    """
    if isinstance(value, str):
        if len(value) <= LONG:
            return value
        texts.append(value)
        return f"<long {attempt} {len(texts) - 1}>"
    if isinstance(value, BaseModel):
        found = {name: _marked(each, attempt, texts) for name, each in value.__dict__.items()}
        changed = {n: each for n, each in found.items() if each is not value.__dict__[n]}
        return value.model_copy(update=changed) if changed else value
    if isinstance(value, Mapping):
        return {name: _marked(each, attempt, texts) for name, each in value.items()}
    if isinstance(value, list):
        items = [_marked(each, attempt, texts) for each in value]
        same = all(new is old for new, old in zip(items, value, strict=True))
        return value if same else items
    return value
