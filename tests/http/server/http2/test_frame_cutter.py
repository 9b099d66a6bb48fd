"""The bytes of a client in portions: nothing is lost, and a portion is little work."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.http.server.http2.frame_cutter import FrameCutter
from tests.e2e.overload import frames

HEAD = frames.head("/")
PREFACE = frames.PREFACE


def works(data: bytes) -> list[float]:
    return [work for _, work in FrameCutter().portions(PREFACE + data)]


@settings(deadline=None)
@given(
    data=st.binary(max_size=100_000),
    sizes=st.lists(st.integers(1, 5_000), min_size=1, max_size=50),
)
def test_portions_of_any_bytes_are_the_bytes(data: bytes, sizes: list[int]) -> None:
    cutter = FrameCutter()
    found, at = b"", 0
    for size in [*sizes, len(data)]:
        for portion, work in cutter.portions(data[at : at + size]):
            assert 0 < len(portion) <= 16_384
            assert work >= 0
            found += portion
        at += size
    assert found == data


@given(cut=st.integers(1, 600))
def test_work_does_not_depend_on_packets(cut: int) -> None:
    data = PREFACE + frames.resets(10, HEAD)
    cutter = FrameCutter()
    parts = [data[at : at + cut] for at in range(0, len(data), cut)]
    assert sum(work for part in parts for _, work in cutter.portions(part)) == pytest.approx(
        sum(works(data[len(PREFACE) :]))
    )


def test_many_requests_in_one_packet_are_many_portions() -> None:
    assert len(works(frames.requests(100, HEAD))) == 25


def test_empty_frames_are_little_work_each() -> None:
    empty = frames.frame(0, 0, 1, b"")
    assert sum(works(empty * 160)) == pytest.approx(10)
    assert len(works(empty * 160)) == 3


def test_large_head_is_more_work_than_a_small_one() -> None:
    large = frames.request(1, bytes(8 * 1024))
    assert works(large) == [pytest.approx(9)]


def test_head_of_a_frame_at_the_end_of_a_portion_is_read_across_it() -> None:
    data = frames.frame(0, 0, 1, bytes(16_384 - len(PREFACE) - 9 - 4)) + frames.request(3, HEAD)
    found = list(FrameCutter().portions(PREFACE + data))
    assert len(found[0][0]) == 16_384
    assert b"".join(portion for portion, _ in found) == PREFACE + data
    assert sum(work for _, work in found) > 1
