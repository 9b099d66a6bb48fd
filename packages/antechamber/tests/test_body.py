"""The framing of chunked bodies at its limits, in one piece and byte by byte."""

import pytest
from antechamber.body import ChunkedBody
from antechamber.rejection import RequestRejected

from .http_server import QUICK

LAST = b"0\r\n\r\n"


def chunk(extension: int) -> bytes:
    """A chunk of one byte with an extension of a size."""
    return b"1;" + b"x" * (extension - 1) + b"\r\na\r\n"


def content(body: bytes, step: int) -> bytes:
    """The content of a complete body, which is fed in steps."""
    framing, found = ChunkedBody(QUICK), b""
    for at in range(0, len(body), step):
        part, rest = framing.feed(body[at : at + step])
        assert not rest
        found += part
    assert framing.complete
    return found


@pytest.mark.parametrize("step", [1, 1 << 20])
def test_extensions_are_accepted_up_to_their_limit(step: int) -> None:
    chunks = chunk(1000) * 4
    assert content(chunks + chunk(96) + LAST, step) == b"a" * 5
    with pytest.raises(RequestRejected, match="extensions"):
        content(chunks + chunk(97) + LAST, step)


@pytest.mark.parametrize("step", [1, 1 << 20])
def test_trailers_are_accepted_up_to_their_number(step: int) -> None:
    trailers = b"a: b\r\n" * QUICK.header_count
    assert content(b"0\r\n" + trailers + b"\r\n", step) == b""
    with pytest.raises(RequestRejected, match="too many trailers"):
        content(b"0\r\na: b\r\n" + trailers + b"\r\n", step)


@pytest.mark.parametrize("step", [1, 1 << 20])
def test_trailer_may_be_longer_than_a_line_with_a_size(step: int) -> None:
    assert content(b"0\r\na: " + b"x" * 2000 + b"\r\n\r\n", step) == b""
    with pytest.raises(RequestRejected):
        content(b"1;" + b"x" * 5000 + b"\r\na\r\n" + LAST, step)
