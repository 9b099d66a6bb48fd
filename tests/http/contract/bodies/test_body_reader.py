"""What is decided before a body is read, and how its bytes are counted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.problems import (
    BodyTooLarge,
    InvalidRequest,
    Problem,
    UnsupportedMediaType,
)

from octavo.http.contract.bodies.body import (
    BodyStream,
    ClientLeft,
    Headers,
    body_head,
    raw_body,
    whole_body,
)
from tests.fakes.arriving_bodies import PLACES, Arriving, broken_off, chunks, cut, nothing_read

IMAGE = raw_body("image/png", "image/webp", limit=10)


def test_head_of_a_request_has_type_and_length() -> None:
    headers = [(b"host", b"o"), (b"content-type", b"a/b"), (b"content-length", b"10")]
    assert body_head(headers, 10) == (b"a/b", 10)


def test_head_without_a_body_has_neither() -> None:
    assert body_head([(b"host", b"o")], 10) == (None, None)


@pytest.mark.parametrize(
    ("headers", "problem"),
    [
        ([(b"content-length", b"11")], BodyTooLarge),
        ([(b"content-length", b"9" * 5000)], BodyTooLarge),
        ([(b"content-length", b"-1")], InvalidRequest),
        ([(b"content-length", b"1_0")], InvalidRequest),
        ([(b"content-length", b"")], InvalidRequest),
        ([(b"content-length", b"1"), (b"content-length", b"2")], InvalidRequest),
        ([(b"content-type", b"a/b"), (b"content-type", b"a/b")], InvalidRequest),
        ([(b"content-encoding", b"gzip")], UnsupportedMediaType),
    ],
)
def test_unacceptable_head_is_refused(headers: Headers, problem: type[Problem]) -> None:
    with pytest.raises(problem):
        body_head(headers, 10)


@pytest.mark.parametrize("coding", [b"identity", b" Identity ", b""])
def test_head_with_identity_coding_is_accepted(coding: bytes) -> None:
    assert body_head([(b"content-encoding", coding)], 10) == (None, None)


def test_head_with_the_same_length_twice_is_accepted() -> None:
    assert body_head([(b"content-length", b"7"), (b"content-length", b"7")], 10) == (None, 7)


@given(body=st.binary(max_size=100), places=PLACES)
async def test_whole_body_is_the_same_in_any_chunks(body: bytes, places: list[int]) -> None:
    assert await whole_body(chunks(*cut(body, places)), 100) == body


@given(body=st.binary(min_size=1, max_size=100), places=PLACES)
async def test_whole_body_is_accepted_up_to_its_limit(body: bytes, places: list[int]) -> None:
    pieces = cut(body, places)
    assert await whole_body(chunks(*pieces), len(body)) == body
    with pytest.raises(BodyTooLarge):
        await whole_body(chunks(*pieces), len(body) - 1)


async def test_whole_body_over_the_limit_is_refused_at_the_first_excess_byte() -> None:
    arriving = chunks(b"12345", b"678", b"9", b"never read")
    with pytest.raises(BodyTooLarge, match="at most 8 bytes"):
        await whole_body(arriving, 8)
    assert arriving.asked == 3


@pytest.mark.parametrize("parts", [(), (b"12",), (b"12", b"34")])
async def test_whole_body_of_a_disconnected_client_is_discarded(parts: tuple[bytes, ...]) -> None:
    with pytest.raises(ClientLeft):
        await whole_body(broken_off(*parts), 10)


async def test_whole_body_in_a_minimal_event_is_complete() -> None:
    assert await whole_body(Arriving([{"type": "http.request"}]), 10) == b""


async def test_stream_yields_each_chunk_and_counts_it() -> None:
    stream = BodyStream(chunks(b"12", b"", b"345"), 5)
    seen = [(chunk, stream.received) async for chunk in stream]
    assert seen == [(b"12", 2), (b"345", 5)]


async def test_stream_does_not_read_ahead() -> None:
    arriving = chunks(b"1", b"2", b"3")
    stream = BodyStream(arriving, 5)
    assert arriving.asked == 0
    assert await anext(stream) == b"1"
    assert arriving.asked == 1


async def test_stream_at_its_end_stays_there() -> None:
    stream = BodyStream(chunks(b"1"), 5)
    assert [chunk async for chunk in stream] == [b"1"]
    assert [chunk async for chunk in stream] == []


async def test_stream_yields_no_byte_over_the_limit() -> None:
    stream, seen = BodyStream(chunks(b"123", b"456"), 5), []
    with pytest.raises(BodyTooLarge):
        seen.extend([chunk async for chunk in stream])
    assert seen == []
    assert stream.received == 6


async def test_raw_body_of_a_declared_type_is_streamed_with_its_length() -> None:
    headers = [(b"content-type", b"Image/PNG; q=1"), (b"content-length", b"3")]
    stream = await IMAGE.read(headers, chunks(b"abc"))
    assert stream.declared_length == 3
    assert [chunk async for chunk in stream] == [b"abc"]


@pytest.mark.parametrize("value", [b"image/gif", b"image", b"", b"image/png, image/webp"])
async def test_raw_body_of_another_type_is_refused_unread(value: bytes) -> None:
    with pytest.raises(UnsupportedMediaType, match="image/png, image/webp"):
        await IMAGE.read([(b"content-type", value)], nothing_read())


async def test_raw_body_declared_too_large_is_refused_unread() -> None:
    headers = [(b"content-type", b"image/png"), (b"content-length", b"11")]
    with pytest.raises(BodyTooLarge):
        await IMAGE.read(headers, nothing_read())
