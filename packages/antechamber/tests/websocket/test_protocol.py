"""The rules of RFC 6455 for what a client sends, one row each, over real sockets.

The sections are those of the Autobahn test suite.
"""

from __future__ import annotations

import pytest
from _pytest.mark import ParameterSet

from ..websocket_peer import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, close, frame, served

Frames = list[tuple[int, bytes]]
MAX = 1 << 17
UTF8 = "κόσμε 🜨".encode()


def first(opcode: int, payload: bytes = b"") -> bytes:
    return frame(opcode, payload, fin=False)


def more(payload: bytes = b"", *, fin: bool = False) -> bytes:
    return frame(CONTINUATION, payload, fin=fin)


def sized(opcode: int, size: int) -> ParameterSet:
    payload = b"*" * size
    return pytest.param([frame(opcode, payload)], [(opcode, payload)], id=f"1-{opcode}-{size}")


ANSWERED = [
    *(sized(opcode, size) for opcode in (TEXT, BINARY) for size in (0, 1, 125, 126, 127, 128)),
    *(sized(opcode, size) for opcode in (TEXT, BINARY) for size in (65535, 65536, MAX)),
    pytest.param([frame(PING)], [(PONG, b"")], id="2-empty"),
    pytest.param([frame(PING, b"\x00\xff\xfe")], [(PONG, b"\x00\xff\xfe")], id="2-binary"),
    pytest.param([frame(PING, b"*" * 125)], [(PONG, b"*" * 125)], id="2-largest"),
    pytest.param(
        [frame(PING, bytes([i])) for i in range(10)],
        [(PONG, bytes([i])) for i in range(10)],
        id="2-ten-in-order",
    ),
    pytest.param([frame(PONG)], [], id="2-unsolicited-pong"),
    pytest.param([frame(PONG, b"x"), frame(PING, b"y")], [(PONG, b"y")], id="2-pong-then-ping"),
    pytest.param([first(TEXT, b"a"), more(b"b", fin=True)], [(TEXT, b"ab")], id="5-two"),
    pytest.param(
        [first(BINARY, b"a"), more(b"b"), more(), more(b"c", fin=True)],
        [(BINARY, b"abc")],
        id="5-four-one-empty",
    ),
    pytest.param([first(TEXT), more(), more(fin=True)], [(TEXT, b"")], id="5-all-empty"),
    pytest.param(
        [first(TEXT, b"a"), frame(PING, b"!"), more(b"b", fin=True)],
        [(PONG, b"!"), (TEXT, b"ab")],
        id="5-ping-between",
    ),
    pytest.param(
        [first(TEXT, b"a"), frame(PONG), more(b"b", fin=True), frame(BINARY, b"c")],
        [(TEXT, b"ab"), (BINARY, b"c")],
        id="5-pong-between",
    ),
    pytest.param([frame(TEXT, UTF8)], [(TEXT, UTF8)], id="6-whole"),
    pytest.param(
        [*(first(TEXT, UTF8[:1]),), *(more(bytes([b])) for b in UTF8[1:]), more(fin=True)],
        [(TEXT, UTF8)],
        id="6-a-fragment-a-byte",
    ),
    pytest.param([frame(TEXT, b"\x00")], [(TEXT, b"\x00")], id="6-nul"),
    pytest.param(
        [frame(TEXT, b"\xf4\x8f\xbf\xbf\xef\xbf\xbf")],
        [(TEXT, b"\xf4\x8f\xbf\xbf\xef\xbf\xbf")],
        id="6-last-code-points",
    ),
]


@pytest.mark.parametrize("one_by_one", [False, True], ids=["one-packet", "byte-by-byte"])
@pytest.mark.parametrize(("sent", "response"), ANSWERED)
async def test_allowed_frames_get_a_reply(
    sent: list[bytes], response: Frames, one_by_one: bool
) -> None:
    data = b"".join(sent)
    async with served(max_message_size=MAX) as server:
        peer = await server.open()
        if one_by_one and len(data) < 2000:
            for byte in data:
                await peer.send(bytes([byte]))
        else:
            await peer.send(data)
        assert [await peer.frame() for _ in response] == response
        await peer.send(close(1000))
        assert await peer.frames() == [(CLOSE, b"\x03\xe8")]


REFUSED = [
    *(
        pytest.param([frame(opcode, b"x", reserved=reserved)], 1002, id=f"3-{reserved}-{opcode}")
        for reserved in (1, 2, 3, 4, 7)
        for opcode in (TEXT, BINARY, PING)
    ),
    pytest.param([close(1000)[:0], frame(CLOSE, reserved=1)], 1002, id="3-close"),
    *(
        pytest.param([frame(opcode, payload)], 1002, id=f"4-{opcode}-{len(payload)}")
        for opcode in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15)
        for payload in (b"", b"x")
    ),
    pytest.param([frame(TEXT, b"x", masked=False)], 1002, id="1-unmasked-text"),
    pytest.param([frame(PING, masked=False)], 1002, id="1-unmasked-ping"),
    pytest.param([b"\x82\xfe\x00\x7d" + b"m" * 4 + b"x" * 125], 1002, id="1-length-too-long-form"),
    pytest.param([frame(PING, b"*" * 126)], 1002, id="2-ping-126"),
    pytest.param([frame(PONG, b"*" * 126)], 1002, id="2-pong-126"),
    pytest.param([first(PING), more(fin=True)], 1002, id="5-ping-in-fragments"),
    pytest.param([first(PONG)], 1002, id="5-pong-in-fragments"),
    pytest.param([first(CLOSE)], 1002, id="5-close-in-fragments"),
    pytest.param([more(b"x")], 1002, id="5-nothing-to-continue"),
    pytest.param([more(b"x", fin=True)], 1002, id="5-nothing-to-continue-or-end"),
    pytest.param([first(TEXT), frame(TEXT, b"x")], 1002, id="5-text-within-text"),
    pytest.param([first(TEXT), first(BINARY)], 1002, id="5-binary-within-text"),
    pytest.param([frame(TEXT, b"\xff")], 1007, id="6-no-byte-of-utf-8"),
    pytest.param([frame(TEXT, b"\xce\xba\xe1")], 1007, id="6-cut-short"),
    pytest.param([frame(TEXT, b"\xc0\xaf")], 1007, id="6-overlong"),
    pytest.param([frame(TEXT, b"\xed\xa0\x80")], 1007, id="6-surrogate"),
    pytest.param([frame(TEXT, b"\xf4\x90\x80\x80")], 1007, id="6-beyond-the-last"),
    pytest.param([first(TEXT, b"\xce"), more(b"\xce", fin=True)], 1007, id="6-broken-in-fragments"),
    pytest.param([first(TEXT, b"\xff")], 1007, id="6-before-the-end-of-the-message"),
    pytest.param([frame(CLOSE, b"\x03")], 1002, id="7-body-of-one-byte"),
    pytest.param([close(1000, b"\xff")], 1007, id="7-reason-no-utf-8"),
    pytest.param([close(1000, b"*" * 124)], 1002, id="7-body-of-126"),
    *(
        pytest.param([close(code)], 1002, id=f"7-{code}")
        for code in (0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535)
    ),
    pytest.param([frame(BINARY, b"*" * (MAX + 1))], 1009, id="9-one-byte-more"),
    pytest.param([first(BINARY, b"*" * MAX), more(b"*")], 1009, id="9-in-fragments"),
    pytest.param([frame(TEXT, "é".encode() * (MAX // 2 + 1))], 1009, id="9-counted-in-bytes"),
    pytest.param([frame(BINARY, length=1 << 40)], 1009, id="9-announced"),
    pytest.param([frame(BINARY, length=1 << 40)[:10]], 1009, id="9-announced-mask-to-come"),
    pytest.param([first(BINARY, b"x"), frame(CONTINUATION, length=MAX)], 1009, id="9-sum"),
    pytest.param([first(BINARY), more() * 4096], 1009, id="9-fragments-without-end"),
]


@pytest.mark.parametrize(("sent", "code"), REFUSED)
async def test_forbidden_frames_close_with_their_code(sent: list[bytes], code: int) -> None:
    async with served(max_message_size=MAX) as server:
        peer = await server.open()
        await peer.send(frame(TEXT, b"before"))
        assert await peer.frame() == (TEXT, b"before")
        await peer.send(b"".join(sent))
        [(opcode, payload)] = await peer.frames()
        assert (opcode, payload[:2]) == (CLOSE, code.to_bytes(2, "big"))
        assert len(payload) <= 125
        assert payload[2:].decode()


@pytest.mark.parametrize(
    "header", [b"\xc1\xfe", b"\x81\x7f", b"\x83\xff"], ids=["reserved", "unmasked", "opcode"]
)
async def test_invalid_header_is_refused_before_its_length_has_arrived(header: bytes) -> None:
    async with served(max_message_size=MAX) as server:
        peer = await server.open()
        await peer.send(header)
        [(opcode, payload)] = await peer.frames()
        assert (opcode, payload[:2]) == (CLOSE, (1002).to_bytes(2, "big"))


@pytest.mark.parametrize(
    "code", [None, 1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999]
)
@pytest.mark.parametrize("reason", [b"", b"*" * 123, UTF8])
async def test_allowed_close_gets_its_code_back(code: int | None, reason: bytes) -> None:
    sent = close(code, reason if code else b"")
    async with served() as server:
        peer = await server.open()
        await peer.send(sent)
        [(opcode, payload)] = await peer.frames()
        assert opcode == CLOSE
        assert payload[:2] == (code.to_bytes(2, "big") if code else b"")


@pytest.mark.parametrize(
    "more",
    [
        frame(TEXT, b"x"),
        frame(PING),
        close(1000),
        frame(3),
        b"garbage",
        frame(BINARY, b"*" * 99999),
    ],
    ids=["text", "ping", "close", "opcode", "garbage", "much"],
)
async def test_whatever_follows_a_close_is_ignored(more: bytes) -> None:
    async with served() as server:
        peer = await server.open()
        await peer.send(close(1000) + more)
        assert await peer.frames() == [(CLOSE, b"\x03\xe8")]
