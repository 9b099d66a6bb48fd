"""Long texts on pages: a mark stands for them in the page, and they are escaped while it is sent.

Otherwise a text of megabytes would be in memory several times, each up to six times as long, and
block the event loop.
"""

import re
from collections.abc import AsyncIterator, Mapping
from sys import getsizeof
from typing import cast

import trio
from antechamber.asgi import Scope
from markupsafe import Markup, escape
from quart import g, request
from quart_trio import QuartTrio

from octavo.access.ports import NewEntropy
from octavo.http import contract

_LONG = contract.COUNTED
_PIECE = 32 * 1024
_MARK = re.compile(r"\0[0-9a-f]{32} (\d+)\0")


def add_long_texts(app: QuartTrio, new_entropy: NewEntropy) -> None:
    """Let marks, made of ``new_entropy``, stand for the long texts in templates."""

    def deferred(value: object) -> object:
        # Called for each expression of a template.
        if not isinstance(value, str) or len(value) <= _LONG:
            return value
        texts: dict[str, str] = g.setdefault("long_texts", {})
        mark = f"\0{new_entropy()[:16].hex()} {len(texts)}\0"
        texts[mark] = value
        return Markup(mark)

    app.jinja_env.finalize = deferred


def is_long(text: str) -> bool:
    """Return whether a text is long."""
    return len(text) > _LONG


def reservation() -> contract.Reservation:
    """Return the memory of the present request."""
    held = contract.reservation_of(cast(Scope, request.scope))
    # Other servers limit no memory.
    return contract.Reservation(contract.MemoryBudget(), None) if held is None else held


async def body_of(page: str) -> str | AsyncIterator[bytes]:
    """Return the body of a rendered page, whose memory is reserved.

    Memory for long texts was reserved with the form or the note that they are from; it is reserved
    here for what was rendered. Raises `ServerBusy` without memory.
    """
    texts: dict[str, str] = g.pop("long_texts", {})
    made = [text for text in texts.values() if isinstance(text, Markup)]
    await reservation().reserve(getsizeof(page) + sum(map(getsizeof, made)))
    return _pieces(page, texts) if texts else page


async def _pieces(page: str, texts: Mapping[str, str]) -> AsyncIterator[bytes]:
    at = 0
    for mark in _MARK.finditer(page):
        text = texts.get(mark[0])
        if text is None:
            # Somebody wrote what only looks like a mark.
            continue
        yield page[at : mark.start()].encode()
        at = mark.end()
        if isinstance(text, Markup):
            # What a macro made may have marks itself.
            async for piece in _pieces(str(text), texts):
                yield piece
        else:
            for start in range(0, len(text), _PIECE):
                yield escape(text[start : start + _PIECE]).encode()
                await trio.lowlevel.checkpoint()
    for start in range(at, len(page), _PIECE):
        yield page[start : start + _PIECE].encode()
        await trio.lowlevel.checkpoint()
