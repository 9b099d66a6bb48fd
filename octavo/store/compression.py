"""Texts as the databases store them: UTF-8, compressed with Zstandard (RFC 8878).

A frame says how long its text is, so that one call decompresses it. It has no checksum.
"""

import threading

from zstandard import ZstdCompressor, ZstdDecompressor, ZstdError

from octavo.store.errors import StoreUnavailable


class _Contexts(threading.local):
    """The state of the library, which is costly to create, and belongs to one thread at a time."""

    def __init__(self) -> None:
        self.compress = ZstdCompressor().compress
        self.decompress = ZstdDecompressor().decompress


_contexts = _Contexts()


def compressed(text: str) -> bytes:
    """Return the bytes that store ``text``; raise ValueError for text that is not Unicode."""
    return _contexts.compress(text.encode())


def decompressed(data: bytes) -> str:
    """Return the text that ``data`` stores; raise `StoreUnavailable` when it is damaged."""
    try:
        return _contexts.decompress(data).decode()
    except (ZstdError, UnicodeDecodeError) as error:
        raise StoreUnavailable(
            f"the database failed: a stored text is damaged ({error})"
        ) from error


def text_of(data: bytes | None) -> str | None:
    """Return the text of a column that may be NULL; raise as `decompressed`."""
    return None if data is None else decompressed(data)
