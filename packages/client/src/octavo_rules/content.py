"""The text of a note, and the characters that it can't contain."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from octavo_rules.identity import Digest
from octavo_rules.problems import InvalidContent

MARKDOWN = "text/markdown; charset=utf-8"


class NoteText(NamedTuple):
    """The Markdown of a note; ``size`` and ``digest`` are those of its UTF-8 encoding."""

    text: str
    size: int
    digest: Digest


@dataclass(frozen=True, slots=True)
class StoredText:
    """The Markdown of a note whose text is seldom needed, as when many notes are imported.

    Attributes:
        stored: the bytes by which the store represents it (`octavo.store.compression`).
        size: the bytes of its UTF-8 encoding.
        digest: their digest.
        read: returns the text that is given as ``stored``.
    """

    stored: bytes
    size: int
    digest: Digest
    read: Callable[[bytes], str] = field(compare=False, repr=False)

    @property
    def text(self) -> str:
        """The text; raises what ``read`` raises."""
        return self.read(self.stored)


NoteContent = NoteText | StoredText
"""The Markdown of a note, with its size and its digest."""


def note_text(text: str) -> NoteText:
    """Return ``text`` as the content of a note.

    Raises `InvalidContent` for text that is not valid Unicode, and for NUL, which neither
    Markdown (CommonMark 2.3) nor every store preserves.
    """
    if "\0" in text:
        raise InvalidContent("The text contains the character NUL (U+0000): remove it.")
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise InvalidContent("The text contains a lone surrogate, half a character.") from None
    return NoteText(text, len(data), Digest(hashlib.sha256(data).hexdigest()))
