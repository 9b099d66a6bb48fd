"""What stands in a note, and what a note can't hold."""

import hashlib
from typing import NamedTuple

from octavo.model.identity import Digest
from octavo.model.refusal import InvalidContent

MARKDOWN = "text/markdown; charset=utf-8"


class NoteText(NamedTuple):
    """The Markdown of a note. ``size`` is that of its UTF-8 in bytes, ``digest`` is of that."""

    text: str
    size: int
    digest: Digest


def note_text(text: str) -> NoteText:
    """Return ``text`` as the content of a note.

    Raises `InvalidContent` for what is no text of Unicode, and for NUL, which neither Markdown
    (CommonMark 2.3) nor every store keeps.
    """
    if "\0" in text:
        raise InvalidContent("The text holds the character NUL (U+0000): leave it out.")
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise InvalidContent("The text holds half a character (a lone surrogate).") from None
    return NoteText(text, len(data), Digest(hashlib.sha256(data).hexdigest()))
