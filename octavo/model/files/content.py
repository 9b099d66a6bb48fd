"""The text of a note, and the characters that it can't contain."""

import hashlib
from typing import NamedTuple

from octavo.model.identity import Digest
from octavo.model.refusal import InvalidContent

MARKDOWN = "text/markdown; charset=utf-8"


class NoteText(NamedTuple):
    """The Markdown of a note; ``size`` and ``digest`` are those of its UTF-8 encoding.

    ``stored`` are the bytes by which the store represents it (`octavo.store.compression`), if they
    are known already.
    """

    text: str
    size: int
    digest: Digest
    stored: bytes | None = None


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
