"""Do large work in slices, so that other requests wait for a slice of it at most."""

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from typing import TypeVar, cast

import trio
from pydantic import BaseModel
from pydantic_core import to_json

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")

SLICE_SIZE = 256 * 1024
"""Bytes that are examined before other tasks run: a few milliseconds of work."""
LONG = 64 * 1024
"""Characters of a text that is encoded in slices."""
SLICE_COUNT = 128
"""Small items that are converted before other tasks run."""
_SMALL = SLICE_SIZE // SLICE_COUNT


async def converted(
    items: Iterable[A], convert: Callable[[A], B], size: Callable[[A], int] = lambda _: 0
) -> list[B]:
    """Return ``convert`` of each item, in order; what it raises propagates.

    Other tasks run after about `SLICE_SIZE` bytes, of which each item has ``size``, or after
    `SLICE_COUNT` items. A few small items take no checkpoint. When cancelled, the result is lost.
    """
    made: list[B] = []
    done = 0
    for item in items:
        if done >= SLICE_SIZE:
            await trio.lowlevel.checkpoint()
            done = 0
        made.append(convert(item))
        done += size(item) + _SMALL
    return made


async def encoded_in_slices(value: T, encode: Callable[[T], bytes]) -> bytes:
    """Return the result of ``encode`` for a model or mapping; long texts are encoded in slices.

    Meanwhile, marks stand in for these. Cancelling loses the result.
    """
    for attempt in count():
        texts: list[str] = []
        encoded = encode(cast("T", _marked(value, attempt, texts)))
        marks = [*re.finditer(rb'"<long %d (\d+)>"' % attempt, encoded)] if texts else []
        # Otherwise a short text contains one of these marks: try others.
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
    for start in range(0, len(text), SLICE_SIZE):
        yield text[start : start + SLICE_SIZE]


def _marked(value: object, attempt: int, texts: list[str]) -> object:
    """Return ``value`` with marks for its long texts, which are added to ``texts``.

    A nested function that calls itself would be a cycle, and keep the texts in memory.
    """
    if isinstance(value, bytes):
        value = b64encode(value).decode()
    if isinstance(value, str):
        if len(value) <= LONG:
            return value
        texts.append(value)
        return f"<long {attempt} {len(texts) - 1}>"
    if isinstance(value, BaseModel):
        members = {name: _marked(member, attempt, texts) for name, member in value.__dict__.items()}
        changed = {n: member for n, member in members.items() if member is not value.__dict__[n]}
        return value.model_copy(update=changed) if changed else value
    if isinstance(value, Mapping):
        return {name: _marked(member, attempt, texts) for name, member in value.items()}
    if isinstance(value, list | tuple):
        items = type(value)(_marked(item, attempt, texts) for item in value)
        same = all(new is old for new, old in zip(items, value, strict=True))
        return value if same else items
    return value
