"""Ranges of bytes (RFC 9110 section 14)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.http.blob_stream import ByteRange, RangeNotSatisfiable, requested_range


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, None),
        ("bytes=0-499", ByteRange(0, 500)),
        ("bytes=500-999", ByteRange(500, 1000)),
        ("bytes=-500", ByteRange(9500, 10000)),
        ("bytes=9500-", ByteRange(9500, 10000)),
        ("BYTES = 0-1", None),
        ("Bytes= 0-1 ", ByteRange(0, 2)),
        ("bytes=0-0,-1", None),
        ("bytes=5-4", None),
        ("bytes=-", None),
        ("bytes=", None),
        ("bytes=+1-2", None),
        ("bytes=1-2x", None),
        (f"bytes=0-{10**17}", ByteRange(0, 10000)),
        (f"bytes=0-{10**18}", None),
    ],
)
def test_range_is_read_as_the_rfc_has_it(header: str | None, expected: ByteRange | None) -> None:
    assert requested_range(header, 10000) == expected


@pytest.mark.parametrize(("header", "size"), [("bytes=5-", 5), ("bytes=-0", 5), ("bytes=0-", 0)])
def test_range_without_bytes_is_refused(header: str, size: int) -> None:
    with pytest.raises(RangeNotSatisfiable) as refused:
        requested_range(header, size)
    assert refused.value.headers == ((b"content-range", b"bytes */%d" % size),)


@given(st.text(max_size=30), st.integers(0, 100))
def test_any_header_gives_a_range_within_the_content(text: str, size: int) -> None:
    try:
        found = requested_range(f"bytes={text}", size)
    except RangeNotSatisfiable:
        return
    if found is not None:
        assert 0 <= found.start < found.stop <= size


@given(st.integers(0, 99), st.integers(1, 100))
def test_range_of_a_slice_is_that_slice(start: int, length: int) -> None:
    found = requested_range(f"bytes={start}-{start + length - 1}", 100)
    assert found is not None
    data = bytes(range(100))
    assert data[found.start : found.stop] == data[start : start + length]
    assert found.content_range(100) == b"bytes %d-%d/100" % (start, found.stop - 1)
