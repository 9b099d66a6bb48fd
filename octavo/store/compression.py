"""Texts as the databases store them: UTF-8, compressed with Zstandard (RFC 8878).

A frame has the length of its text, so that one call decompresses it, and a checksum: a text that
the disk has damaged is reported, and not returned as another one.
"""

import threading

from zstandard import ZstdCompressor, ZstdDecompressor, ZstdError, frame_content_size

from octavo.store.errors import TextDamaged

# A damaged length must not be allocated. Texts have 2 MiB at most (docs/markdown.md); images have
# none.
MAX_BYTES = 64 * 1024 * 1024
LEVEL = 1
"""The level of Zstandard.

Its default, level 3, takes 37 % longer for notes of 5 KB to 100 KB of Markdown, and saves 3 to 6 %
of their size.
"""


class _Contexts(threading.local):
    """The state of the library, which is costly to create, and belongs to one thread at a time."""

    def __init__(self) -> None:
        self.compress = ZstdCompressor(level=LEVEL, write_checksum=True).compress
        self.decompress = ZstdDecompressor().decompress


_contexts = _Contexts()
_EMPTY = _contexts.compress(b"")


def compressed(text: str) -> bytes:
    """Return the bytes that store ``text``; raise ValueError for text that is not Unicode."""
    return _contexts.compress(text.encode())


def decompressed(data: bytes, file_id: str) -> str:
    """Return the text of a file that ``data`` stores; raise `TextDamaged`."""
    try:
        return _decompressed(data)
    except (ZstdError, ValueError) as error:
        raise TextDamaged(file_id, str(error)) from error


def text_of(data: bytes | None, file_id: str) -> str | None:
    """Return the text of a column that is NULL for a file without one; raise `TextDamaged`."""
    return None if data is None else decompressed(data, file_id)


def undamaged(data: bytes) -> str | None:
    """Return the text that ``data`` stores; None when it is damaged.

    It is for what is derived from texts: one that is damaged must not keep the others out of an
    index, or in a deleted workspace.
    """
    try:
        return _decompressed(data)
    except (ZstdError, ValueError):
        return None


def _decompressed(data: bytes) -> str:
    size = frame_content_size(data)
    if not 0 < size <= MAX_BYTES:
        # The library does not look at the rest of an empty frame.
        if data == _EMPTY:
            return ""
        raise ValueError(f"its length can't be {size} bytes")
    return _contexts.decompress(data, allow_extra_data=False).decode()
