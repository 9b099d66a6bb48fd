"""The bytes of a blob as the content of a response, and conditional reads (``if-none-match``)."""

import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import ClassVar, Literal, NamedTuple
from urllib.parse import quote

from octavo_rules.problems import TEXT, DescribedHeader, InvalidRequest, NotFound, Problem

from octavo.http import contract
from octavo.http.file_schemas import KnownHeads
from octavo.model.etag import parse_entity_tags
from octavo.store.blobs import BlobKey, BlobMissing, BlobStore


class IfNoneMatch(contract.HeaderModel):
    """The versions that the client has."""

    if_none_match: KnownHeads | None = None
    """Entity tags, or ``*``: if one matches, the response is a 304 without content."""

    def names(self, opaque: str) -> bool:
        """Return whether the client has the version with the entity tag ``opaque``.

        It has none without the header. Raises `InvalidRequest` for a header that is not a list of
        entity tags.
        """
        if self.if_none_match is None:
            return False
        # Nearly every client sends it in this form.
        if self.if_none_match == f'"{opaque}"':
            return True
        try:
            return parse_entity_tags(self.if_none_match).names_weakly(opaque)
        except ValueError as error:
            raise InvalidRequest(errors=[("/headers/if-none-match", f"This {error}.")]) from None


# attr-char of RFC 8187 section 3.2.1, besides letters, digits and what quote() always keeps.
_UNQUOTED = "!#$&+^`|"
_NOT_PLAIN = re.compile(r'[^\x20-\x7e]|["\\%/]')


def content_disposition(kind: Literal["inline", "attachment"], name: str) -> bytes:
    """Return the header for a file ``name``, which browsers show (inline) or save.

    A name that is not plain ASCII is given twice: for old programs, with other characters replaced,
    and in UTF-8 (RFC 6266 appendix D).
    """
    plain = _NOT_PLAIN.sub("_", name)
    header = f'{kind}; filename="{plain}"'
    if plain != name:
        header += f"; filename*=UTF-8''{quote(name, safe=_UNQUOTED)}"
    return header.encode("ascii")


_NUMBER = "([0-9]{1,18})"
_RANGE = re.compile(f"bytes=[\t ]*(?:{_NUMBER}-{_NUMBER}?|-{_NUMBER})[\t ]*", re.IGNORECASE)


class RangeNotSatisfiable(Problem):
    """The range begins after the end (RFC 9110 section 15.5.17)."""

    status, code = 416, "range_not_satisfiable"
    summary = "The requested range begins after the end of the content."
    remedy = "The header content-range of the response has the size: request bytes below it."
    described_headers: ClassVar[Mapping[str, DescribedHeader]] = {
        "content-range": DescribedHeader("The size of the content.", TEXT)
    }

    def __init__(self, size: int | None = None) -> None:
        headers = () if size is None else ((b"content-range", b"bytes */%d" % size),)
        super().__init__(headers=headers)


class ByteRange(NamedTuple):
    """The bytes from ``start`` to before ``stop``."""

    start: int
    stop: int

    def content_range(self, size: int) -> bytes:
        """Return the header ``content-range`` of the range of a content of ``size`` bytes."""
        return b"bytes %d-%d/%d" % (self.start, self.stop - 1, size)


def requested_range(header: str | None, size: int) -> ByteRange | None:
    """Return the range that the header ``range`` requests of ``size`` bytes; None for all of them.

    Several ranges, other units and invalid headers are ignored, as RFC 9110 section 14.2 allows. It
    defines ranges for GET alone: ignore the header of other methods. Raises `RangeNotSatisfiable`.
    """
    match = None if header is None else _RANGE.fullmatch(header)
    if match is None:
        return None
    first, last, suffix = match.groups()
    if suffix is not None:
        start, stop = max(size - int(suffix), 0), size
    else:
        start = int(first)
        stop = size if last is None else min(int(last) + 1, size)
        if last is not None and int(last) < start:
            return None
    if start >= stop:
        raise RangeNotSatisfiable(size)
    return ByteRange(start, stop)


_log = logging.getLogger(__name__)


async def open_blob(blobs: BlobStore, key: BlobKey, start: int, stop: int) -> AsyncIterator[bytes]:
    """Return the bytes of a blob from ``start`` to ``stop``, after the first of them were read.

    So a failure can have a response of its own. Raises `NotFound`, and
    `octavo.store.blobs.BlobsUnavailable`. Close the returned iterator.
    """
    chunks = blobs.read(key, start, stop)
    try:
        first = await anext(chunks, b"")
    except BlobMissing as error:
        raise vanished(error) from error
    return _continued(first, chunks)


async def require_blob(blobs: BlobStore, key: BlobKey) -> None:
    """Raise `NotFound` for a blob that can't be read, as for the response to HEAD."""
    if not await blobs.is_intact(key):
        raise vanished(BlobMissing(f"the blob {key} is damaged or missing"))


def vanished(error: BlobMissing) -> NotFound:
    """Return the problem of a blob that is gone, and log it."""
    _log.warning("%s: an image is not served; it may have been purged just now", error)
    return NotFound(
        "The image was purged just now, or its bytes on the server are damaged or missing: whoever"
        " runs the server can put them back from a backup, or upload the image again."
    )


class _continued:  # noqa: N801 - used like a function
    """Iterate ``first``, and the rest of ``chunks``; closing it closes ``chunks``."""

    def __init__(self, first: bytes, chunks: AsyncGenerator[bytes, None]) -> None:
        self._first = first
        self._chunks = chunks

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        first, self._first = self._first, b""
        return first or await anext(self._chunks)

    async def aclose(self) -> None:
        await self._chunks.aclose()
