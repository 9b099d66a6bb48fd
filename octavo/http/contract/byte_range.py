"""Ranges of bytes of a response (RFC 9110 section 14)."""

import re
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from octavo.http.contract.problems import TEXT, DescribedHeader, Problem

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
    found = None if header is None else _RANGE.fullmatch(header)
    if found is None:
        return None
    first, last, suffix = found.groups()
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
