"""Encode models with long texts, piece by piece: one call for megabytes holds the event loop."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar, cast

import trio
from pydantic import BaseModel
from pydantic_core import to_json

T = TypeVar("T")

LONG = 64 * 1024
"""Characters of a long text."""
PIECE = 256 * 1024
"""Characters that are encoded while nothing else runs."""


async def encoded_in_pieces(value: T, encode: Callable[[T], bytes], secret: str) -> bytes:
    """Return what ``encode`` returns for a model or mapping, its long texts encoded in pieces.

    Marks made of ``secret``, which nobody can know who wrote the texts, stand for them meanwhile.
    Cancelling loses the result.
    """
    texts: list[str] = []
    encoded = encode(cast("T", _marked(value, secret, texts)))
    if not texts:
        return encoded
    pieces: list[bytes] = []
    done = 0
    for mark in re.finditer(rb'"<%b (\d+)>"' % re.escape(secret).encode(), encoded):
        pieces += (encoded[done : mark.start()], b'"')
        for piece in _slices(texts[int(mark[1])]):
            pieces.append(to_json(piece)[1:-1])
            await trio.lowlevel.checkpoint()
        pieces.append(b'"')
        done = mark.end()
    return b"".join((*pieces, encoded[done:]))


def _slices(text: str) -> Iterator[str]:
    for start in range(0, len(text), PIECE):
        yield text[start : start + PIECE]


def _marked(value: object, secret: str, texts: list[str]) -> object:
    """Return ``value`` with marks for its long texts, which are added to ``texts``.

    A nested function that calls itself would be a cycle, and keep the texts in memory.
    """
    if isinstance(value, str):
        if len(value) <= LONG:
            return value
        texts.append(value)
        return f"<{secret} {len(texts) - 1}>"
    if isinstance(value, BaseModel):
        found = {name: _marked(each, secret, texts) for name, each in value.__dict__.items()}
        changed = {n: each for n, each in found.items() if each is not value.__dict__[n]}
        return value.model_copy(update=changed) if changed else value
    if isinstance(value, Mapping):
        return {name: _marked(each, secret, texts) for name, each in value.items()}
    if isinstance(value, list):
        items = [_marked(each, secret, texts) for each in value]
        same = all(new is old for new, old in zip(items, value, strict=True))
        return value if same else items
    return value
