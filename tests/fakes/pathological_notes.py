"""Notes for the tests of the grammar, and the limit that one passes."""

from collections.abc import Iterator
from email.message import Message
from importlib.metadata import distributions
from typing import cast

from octavo.model.refusal import UnrenderableNote
from octavo.render.limits import check_renderable


def limit_of(text: str) -> str | None:
    """The name of the limit that a text passes."""
    try:
        check_renderable(text)
    except UnrenderableNote as refusal:
        return refusal.limit
    return None


def readmes() -> Iterator[str]:
    """The READMEs of the packages installed here, whatever their markup."""
    for distribution in distributions():
        # What the interface leaves out of the message that it is.
        text = cast(Message, distribution.metadata).get_payload()
        if isinstance(text, str):
            yield text


def nested(depth: int) -> str:
    """Lists within each other, a line each."""
    return "".join(f"{'  ' * level}- a\n" for level in range(depth))


def table(columns: int, rows: int) -> str:
    """A table whose rows leave out all cells but one."""
    return "".join(("|", "a|" * columns, "\n|", "-|" * columns, "\n", "b\n" * rows))
