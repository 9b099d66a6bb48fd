"""The frames of a client, whatever packets they arrive in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.http.server.http2.frame_reader import Frame, FrameReader, work_of
from octavo.http.server.http2.frames import (
    ACK,
    DATA,
    HEADERS,
    PREFACE,
    RST_STREAM,
    SETTINGS,
    ErrorCode,
    Http2Error,
    frame,
)

FRAMES = st.builds(
    Frame, st.integers(0, 255), st.integers(0, 255), st.integers(0, 2**31 - 1), st.binary()
)


def read(reader: FrameReader, data: bytes) -> list[Frame]:
    reader.feed(data)
    found = []
    while (each := reader.next()) is not None:
        found.append(each)
    return found


@given(sent=st.lists(FRAMES, max_size=20), sizes=st.lists(st.integers(1, 300), min_size=1))
def test_frames_are_read_whatever_packets_they_arrive_in(
    sent: list[Frame], sizes: list[int]
) -> None:
    data = PREFACE + b"".join(frame(*each) for each in sent)
    reader = FrameReader()
    found, at = [], 0
    for size in [*sizes, len(data)]:
        found += read(reader, data[at : at + size])
        at += size
    assert found == sent


def test_reserved_bit_is_ignored() -> None:
    [found] = read(FrameReader(), PREFACE + frame(6, 0, 2**31 + 5, bytes(8)))
    assert found.stream == 5


@pytest.mark.parametrize("data", [b"G", b"GET / HTTP/1.1\r\n\r\n", PREFACE[:-1] + b"!"])
def test_wrong_preface_is_refused_at_once(data: bytes) -> None:
    with pytest.raises(Http2Error) as raised:
        read(FrameReader(), data)
    assert raised.value.code is ErrorCode.PROTOCOL_ERROR


def test_largest_frame_is_read_and_a_larger_one_refused_by_its_head() -> None:
    reader = FrameReader()
    [found] = read(reader, PREFACE + frame(0, 0, 1, bytes(16_384)))
    assert len(found.payload) == 16_384
    with pytest.raises(Http2Error) as raised:
        read(reader, frame(0, 0, 1, bytes(16_385))[:9])
    assert raised.value.code is ErrorCode.FRAME_SIZE_ERROR


def work(kind: int, size: int, *, flags: int = 0, streams: int = 0) -> float:
    return work_of(Frame(kind, flags, 1, bytes(size)), streams)


def test_empty_frames_are_little_work_each() -> None:
    assert 160 * work(DATA, 0) == pytest.approx(10)


def test_large_head_is_more_work_than_a_small_one() -> None:
    assert work(HEADERS, 8 * 1024) == pytest.approx(9)
    assert work(HEADERS, 0) == pytest.approx(1)


def test_reset_is_work() -> None:
    assert work(RST_STREAM, 4) == pytest.approx(0.5)


def test_settings_are_more_work_the_more_streams_they_concern() -> None:
    assert work(SETTINGS, 6) == pytest.approx(1, abs=0.01)
    assert work(SETTINGS, 6, streams=96) == pytest.approx(7, abs=0.01)
    assert work(SETTINGS, 16 * 1024) == pytest.approx(17)
    assert work(SETTINGS, 0, flags=ACK, streams=96) == pytest.approx(1 / 16)
