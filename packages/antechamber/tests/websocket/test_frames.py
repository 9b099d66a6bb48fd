"""Frames are found wherever the packets end, and checked by what they announce."""

from __future__ import annotations

import pytest
from antechamber.websocket.frames import MAX_FRAGMENTS, FrameSplitter, TooBig, close_frame
from hypothesis import given
from hypothesis import strategies as st

from ..websocket_peer import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, close, frame

MESSAGES = st.lists(st.binary(max_size=200), min_size=1, max_size=4)
CONTROLS = st.builds(frame, st.sampled_from([PING, PONG]), st.binary(max_size=125))


@st.composite
def conversations(draw: st.DrawFn) -> list[tuple[bytes, int | None]]:
    """Complete frames, and the size of each message with its last frame."""
    frames: list[tuple[bytes, int | None]] = []
    for parts in draw(st.lists(MESSAGES, max_size=4)):
        opcode = draw(st.sampled_from([TEXT, BINARY]))
        for index, part in enumerate(parts):
            frames.extend((control, None) for control in draw(st.lists(CONTROLS, max_size=2)))
            fin = index == len(parts) - 1
            size = sum(map(len, parts)) if fin else None
            frames.append((frame(CONTINUATION if index else opcode, part, fin=fin), size))
    return frames


def packets(data: bytes, cuts: list[int]) -> list[bytes]:
    ends = sorted(cut % (len(data) + 1) for cut in cuts)
    return [data[begin:end] for begin, end in zip([0, *ends], [*ends, len(data)], strict=True)]


CUTS = st.lists(st.integers(0, 10_000), max_size=20)


@given(frames=conversations(), cuts=CUTS)
def test_frames_are_the_same_however_the_packets_are_split(
    frames: list[tuple[bytes, int | None]], cuts: list[int]
) -> None:
    splitter = FrameSplitter(1000)
    found = []
    for packet in packets(b"".join(data for data, _ in frames), cuts):
        splitter.feed(packet)
        while (each := splitter.next_frame()) is not None:
            found.append(each)
    assert found == frames


@given(frames=conversations(), cuts=CUTS, rest=st.binary(max_size=20))
def test_close_is_found_after_anything_however_the_packets_are_split(
    frames: list[tuple[bytes, int | None]], cuts: list[int], rest: bytes
) -> None:
    splitter = FrameSplitter(0)
    data = b"".join(data for data, _ in frames)
    for packet in packets(data, cuts):
        splitter.feed(packet)
        assert not splitter.skip_to_close()
    splitter.feed(close(1000) + rest)
    assert splitter.skip_to_close()


@given(data=st.binary(max_size=100), cuts=CUTS)
def test_any_bytes_are_either_split_or_too_big_and_none_is_lost(
    data: bytes, cuts: list[int]
) -> None:
    splitter = FrameSplitter(1000)
    found = b""
    try:
        for packet in packets(data, cuts):
            splitter.feed(packet)
            while (each := splitter.next_frame()) is not None:
                found += each[0]
    except TooBig:
        pass
    assert data.startswith(found)


@pytest.mark.parametrize("size", [126, 65536, 1 << 40, (1 << 64) - 1])
def test_announced_size_is_refused_before_the_mask_arrives(size: int) -> None:
    splitter = FrameSplitter(125)
    splitter.feed(frame(BINARY, length=size)[:-4])
    with pytest.raises(TooBig, match="125 bytes"):
        splitter.next_frame()


def test_fragments_are_counted_per_message() -> None:
    splitter = FrameSplitter(0)
    fragments = frame(CONTINUATION, fin=False) * (MAX_FRAGMENTS - 2)
    message = frame(TEXT, fin=False) + fragments + frame(CONTINUATION)
    splitter.feed(message * 2 + frame(TEXT, fin=False) + fragments + frame(CONTINUATION, fin=False))
    ends = [size for _, size in iter(splitter.next_frame, None) if size is not None]
    assert ends == [0, 0]
    splitter.feed(frame(PING) + frame(CONTINUATION))
    assert splitter.next_frame() == (frame(PING), None)
    with pytest.raises(TooBig, match="fragments"):
        splitter.next_frame()


@given(code=st.sampled_from([1000, 1011, 4999]), reason=st.text(max_size=200))
def test_close_frame_fits_into_a_control_frame_and_stays_utf_8(code: int, reason: str) -> None:
    made = close_frame(code, reason)
    assert made[0] == 0x80 | CLOSE
    assert made[1] == len(made) - 2 <= 125
    assert int.from_bytes(made[2:4], "big") == code
    assert reason.startswith(made[4:].decode())
