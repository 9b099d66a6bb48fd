"""What the server does with each frame that RFC 9113 forbids, and with those that it permits.

The cases are by section; they cover what conformance testers of HTTP/2 check. Bytes are written by
hand, and what comes back is parsed by another implementation.
"""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import TypeVar

import hpack
import pytest
import trio
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

from octavo.http.server.asgi import Application, Receive, Scope, Send
from octavo.http.server.http2.frames import (
    ACK,
    CONTINUATION,
    DATA,
    ENABLE_PUSH,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HAS_PRIORITY,
    HEADER_TABLE_SIZE,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    MAX_FRAME_SIZE,
    PADDED,
    PING,
    PREFACE,
    PRIORITY,
    PUSH_PROMISE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    ErrorCode,
    frame,
)
from tests.fakes.http_server import QUICK, Client, respond, routed, serving

LIMITS = replace(QUICK, head_time=5, body_idle_time=5, write_time=5)
GET = [(b":method", b"GET"), (b":scheme", b"http"), (b":path", b"/"), (b":authority", b"a")]
POST = [(b":method", b"POST"), *GET[1:]]
WHOLE = END_HEADERS | END_STREAM
CANCEL = bytes((0, 0, 0, 8))


def block(fields: list[tuple[bytes, bytes]]) -> bytes:
    return hpack.Encoder().encode(fields, huffman=False)


def head(stream: int, flags: int = WHOLE, fields: list[tuple[bytes, bytes]] = GET) -> bytes:
    return frame(HEADERS, flags, stream, block(fields))


def post(stream: int, *fields: tuple[bytes, bytes]) -> bytes:
    """The head of a request whose body follows."""
    return head(stream, END_HEADERS, [*POST, *fields])


def setting(key: int, value: int) -> bytes:
    return key.to_bytes(2) + value.to_bytes(4)


def window(stream: int, size: int) -> bytes:
    return frame(WINDOW_UPDATE, 0, stream, size.to_bytes(4))


@dataclass(frozen=True)
class Failed:
    """The connection ends with GOAWAY and this code."""

    code: ErrorCode


@dataclass(frozen=True)
class Reset:
    """The stream is reset with this code, and the connection continues."""

    stream: int
    code: ErrorCode


@dataclass(frozen=True)
class Served:
    """These requests are served, and nothing is reset."""

    streams: tuple[int, ...] = ()


PROTOCOL = Failed(ErrorCode.PROTOCOL_ERROR)
SIZE = Failed(ErrorCode.FRAME_SIZE_ERROR)
FLOW = Failed(ErrorCode.FLOW_CONTROL_ERROR)
COMPRESSION = Failed(ErrorCode.COMPRESSION_ERROR)
CLOSED = Failed(ErrorCode.STREAM_CLOSED)
Expected = Failed | Reset | Served


def broken(stream: int = 1, code: ErrorCode = ErrorCode.PROTOCOL_ERROR) -> Reset:
    return Reset(stream, code)


PRIORITY_FIELDS = bytes((0, 0, 0, 7, 15))
LONG = block([*GET, *[(b"x-%d" % number, b"a" * 20) for number in range(20)]])
HELD = [*POST[:2], (b":path", b"/held"), POST[3]]

CASES: dict[str, tuple[bytes, Expected]] = {
    # 4. Frames
    "4.1 unknown type": (frame(0x16, 0, 0, bytes(8)) + head(1), Served((1,))),
    "4.1 undefined flags": (frame(PING, 0x16, 0, bytes(8)) + head(1), Served((1,))),
    "4.1 reserved bit": (frame(PING, 0, 2**31, bytes(8)) + head(1), Served((1,))),
    "4.2 DATA of 2^14 bytes": (
        post(1) + frame(DATA, END_STREAM, 1, bytes(16_384)),
        Served((1,)),
    ),
    "4.2 DATA of more": (post(1) + frame(DATA, END_STREAM, 1, bytes(16_385)), SIZE),
    "4.2 HEADERS of more": (frame(HEADERS, WHOLE, 1, bytes(16_385)), SIZE),
    "4.3 malformed block": (frame(HEADERS, WHOLE, 1, b"\x80"), COMPRESSION),
    "4.3 malformed block of a stream that is refused": (
        head(3) + frame(HEADERS, WHOLE, 3, b"\x80"),
        COMPRESSION,
    ),
    "4.3 PRIORITY within a block": (
        frame(HEADERS, END_STREAM, 1, block(GET)) + frame(PRIORITY, 0, 1, PRIORITY_FIELDS),
        PROTOCOL,
    ),
    "4.3 HEADERS of another stream within a block": (
        frame(HEADERS, END_STREAM, 1, block(GET)) + head(3),
        PROTOCOL,
    ),
    # 5.1 States of streams
    "5.1 idle: DATA": (frame(DATA, END_STREAM, 1, b"a"), PROTOCOL),
    "5.1 idle: RST_STREAM": (frame(RST_STREAM, 0, 1, CANCEL), PROTOCOL),
    "5.1 idle: WINDOW_UPDATE": (window(1, 100), PROTOCOL),
    "5.1 idle: PRIORITY": (frame(PRIORITY, 0, 3, PRIORITY_FIELDS) + head(1), Served((1,))),
    "5.1 idle: CONTINUATION": (frame(CONTINUATION, END_HEADERS, 1, block(GET)), PROTOCOL),
    "5.1 half-closed: DATA": (
        head(1, WHOLE, HELD) + frame(DATA, END_STREAM, 1, b"a"),
        broken(1, ErrorCode.STREAM_CLOSED),
    ),
    "5.1 half-closed: HEADERS": (
        head(1, WHOLE, HELD) + head(1),
        broken(1, ErrorCode.STREAM_CLOSED),
    ),
    "5.1 half-closed: CONTINUATION": (
        head(1, WHOLE, HELD) + frame(CONTINUATION, END_HEADERS, 1, block(GET)),
        PROTOCOL,
    ),
    "5.1 half-closed: WINDOW_UPDATE and PRIORITY": (
        head(1) + window(1, 100) + frame(PRIORITY, 0, 1, PRIORITY_FIELDS),
        Served((1,)),
    ),
    "5.1 closed by RST_STREAM: DATA": (
        post(1) + frame(RST_STREAM, 0, 1, CANCEL) + frame(DATA, END_STREAM, 1, b"a"),
        CLOSED,
    ),
    "5.1 closed by RST_STREAM: HEADERS": (
        post(1) + frame(RST_STREAM, 0, 1, CANCEL) + head(1),
        CLOSED,
    ),
    "5.1 closed by RST_STREAM: CONTINUATION": (
        post(1) + frame(RST_STREAM, 0, 1, CANCEL) + frame(CONTINUATION, 4, 1, block(GET)),
        PROTOCOL,
    ),
    "5.1 closed by RST_STREAM: WINDOW_UPDATE, RST_STREAM and PRIORITY": (
        post(1)
        + frame(RST_STREAM, 0, 1, CANCEL)
        + window(1, 100)
        + frame(RST_STREAM, 0, 1, CANCEL)
        + frame(PRIORITY, 0, 1, PRIORITY_FIELDS)
        + head(3),
        Served((3,)),
    ),
    # 5.1.1 Stream identifiers
    "5.1.1 even": (head(2), PROTOCOL),
    "5.1.1 smaller than another": (head(5) + head(3), PROTOCOL),
    "5.1.1 DATA of a stream that was skipped": (head(5) + frame(DATA, 1, 3, b"a"), PROTOCOL),
    # 5.3, 5.5 Priorities are ignored, extensions too
    "5.3 HEADERS with a priority": (
        frame(HEADERS, WHOLE | HAS_PRIORITY, 1, PRIORITY_FIELDS + block(GET)),
        Served((1,)),
    ),
    "5.3 priority that is cut off": (frame(HEADERS, WHOLE | HAS_PRIORITY, 1, b"abc"), SIZE),
    "5.5 unknown frame within a block": (
        frame(HEADERS, END_STREAM, 1, block(GET)) + frame(0x16, 0, 1, b""),
        PROTOCOL,
    ),
    # 6.1 DATA
    "6.1 no stream": (post(1) + frame(DATA, END_STREAM, 0, b"a"), PROTOCOL),
    "6.1 padding": (post(1) + frame(DATA, END_STREAM | PADDED, 1, b"\3abc\0\0\0"), Served((1,))),
    "6.1 padding that is too long": (
        post(1) + frame(DATA, END_STREAM | PADDED, 1, b"\4abc"),
        PROTOCOL,
    ),
    "6.1 no length of padding": (post(1) + frame(DATA, END_STREAM | PADDED, 1, b""), SIZE),
    # 6.2 HEADERS
    "6.2 no stream": (head(0), PROTOCOL),
    "6.2 padding": (
        frame(HEADERS, WHOLE | PADDED, 1, b"\2" + block(GET) + b"\0\0"),
        Served((1,)),
    ),
    "6.2 padding that is too long": (
        frame(HEADERS, WHOLE | PADDED, 1, b"\xff" + block(GET)),
        PROTOCOL,
    ),
    # 6.3 PRIORITY
    "6.3 no stream": (frame(PRIORITY, 0, 0, PRIORITY_FIELDS), PROTOCOL),
    "6.3 wrong size": (
        head(1, WHOLE, HELD) + frame(PRIORITY, 0, 1, bytes(4)),
        broken(1, ErrorCode.FRAME_SIZE_ERROR),
    ),
    "6.3 wrong size of an idle stream": (frame(PRIORITY, 0, 1, bytes(6)), SIZE),
    # 6.4 RST_STREAM
    "6.4 no stream": (frame(RST_STREAM, 0, 0, CANCEL), PROTOCOL),
    "6.4 wrong size": (post(1) + frame(RST_STREAM, 0, 1, bytes(3)), SIZE),
    "6.4 unknown code": (
        post(1) + frame(RST_STREAM, 0, 1, b"\0\0\0\xff") + head(3),
        Served((3,)),
    ),
    # 6.5 SETTINGS
    "6.5 acknowledgement with settings": (
        frame(SETTINGS, ACK, 0, setting(INITIAL_WINDOW_SIZE, 1)),
        SIZE,
    ),
    "6.5 of a stream": (frame(SETTINGS, 0, 1, b""), PROTOCOL),
    "6.5 wrong size": (frame(SETTINGS, 0, 0, bytes(3)), SIZE),
    "6.5.2 ENABLE_PUSH": (frame(SETTINGS, 0, 0, setting(ENABLE_PUSH, 2)), PROTOCOL),
    "6.5.2 INITIAL_WINDOW_SIZE": (
        frame(SETTINGS, 0, 0, setting(INITIAL_WINDOW_SIZE, 2**31)),
        FLOW,
    ),
    "6.5.2 small MAX_FRAME_SIZE": (
        frame(SETTINGS, 0, 0, setting(MAX_FRAME_SIZE, 16_383)),
        PROTOCOL,
    ),
    "6.5.2 large MAX_FRAME_SIZE": (frame(SETTINGS, 0, 0, setting(MAX_FRAME_SIZE, 2**24)), PROTOCOL),
    "6.5.2 unknown": (frame(SETTINGS, 0, 0, setting(0xFF, 1)) + head(1), Served((1,))),
    "6.5.2 no table of headers": (
        frame(SETTINGS, 0, 0, setting(HEADER_TABLE_SIZE, 0)) + head(1) + head(3),
        Served((1, 3)),
    ),
    # 6.6 PUSH_PROMISE
    "6.6 from a client": (
        post(1) + frame(PUSH_PROMISE, END_HEADERS, 1, bytes(4) + block(GET)),
        PROTOCOL,
    ),
    # 6.7 PING
    "6.7 acknowledgement": (frame(PING, ACK, 0, b"unasked.") + head(1), Served((1,))),
    "6.7 of a stream": (frame(PING, 0, 1, bytes(8)), PROTOCOL),
    "6.7 wrong size": (frame(PING, 0, 0, bytes(6)), SIZE),
    # 6.8 GOAWAY
    "6.8 of a stream": (frame(GOAWAY, 0, 1, bytes(8)), PROTOCOL),
    "6.8 wrong size": (frame(GOAWAY, 0, 0, bytes(7)), SIZE),
    # 6.9 WINDOW_UPDATE
    "6.9 by 0": (window(0, 0), PROTOCOL),
    "6.9 by 0 of a stream": (head(1, WHOLE, HELD) + window(1, 0), broken()),
    "6.9 wrong size": (frame(WINDOW_UPDATE, 0, 0, bytes(3)), SIZE),
    "6.9.1 above 2^31-1": (window(0, 2**31 - 1), FLOW),
    "6.9.1 above 2^31-1 of a stream": (
        head(1, WHOLE, HELD) + window(1, 2**31 - 1),
        broken(1, ErrorCode.FLOW_CONTROL_ERROR),
    ),
    "6.9.2 above 2^31-1 by a setting": (
        head(1, WHOLE, HELD)
        + window(1, 2**30)
        + frame(SETTINGS, 0, 0, setting(INITIAL_WINDOW_SIZE, 2**31 - 1)),
        FLOW,
    ),
    "6.9.1 more content than the window of the connection": (
        head(1, END_HEADERS, HELD)
        + head(3, END_HEADERS, HELD)
        + frame(DATA, 0, 1, bytes(16_000)) * 2
        + frame(DATA, 0, 3, bytes(16_000)) * 3,
        FLOW,
    ),
    "6.9.1 padding counts": (
        head(1, END_HEADERS, HELD)
        + head(3, END_HEADERS, HELD)
        + (frame(DATA, PADDED, 1, b"\0" + bytes(16_000)) * 2)
        + (frame(DATA, PADDED, 3, b"\0" + bytes(16_000)) * 3),
        FLOW,
    ),
    # 6.10 CONTINUATION
    "6.10 several": (
        frame(HEADERS, END_STREAM, 1, LONG[:9])
        + frame(CONTINUATION, 0, 1, LONG[9:40])
        + frame(CONTINUATION, 0, 1, b"")
        + frame(CONTINUATION, END_HEADERS, 1, LONG[40:]),
        Served((1,)),
    ),
    "6.10 another frame in between": (
        frame(HEADERS, END_STREAM, 1, LONG[:9])
        + frame(CONTINUATION, 0, 1, LONG[9:])
        + frame(DATA, END_STREAM, 1, b"a"),
        PROTOCOL,
    ),
    "6.10 no stream": (
        frame(HEADERS, END_STREAM, 1, LONG[:9]) + frame(CONTINUATION, END_HEADERS, 0, LONG[9:]),
        PROTOCOL,
    ),
    "6.10 after the end of a block": (
        head(1) + frame(CONTINUATION, END_HEADERS, 1, block(GET)),
        PROTOCOL,
    ),
    "6.10 after the end of a continued block": (
        frame(HEADERS, END_STREAM, 1, LONG[:9])
        + frame(CONTINUATION, END_HEADERS, 1, LONG[9:])
        + frame(CONTINUATION, END_HEADERS, 1, b""),
        PROTOCOL,
    ),
    "6.10 after DATA": (
        post(1) + frame(DATA, END_STREAM, 1, b"a") + frame(CONTINUATION, END_HEADERS, 1, b""),
        PROTOCOL,
    ),
    "6.10 too many": (
        frame(HEADERS, END_STREAM, 1, LONG) + frame(CONTINUATION, 0, 1, b"") * 70,
        Failed(ErrorCode.ENHANCE_YOUR_CALM),
    ),
    "6.10 too large": (
        frame(HEADERS, END_STREAM, 1, b"\0\x7f\x80\x80\x02" + bytes(16_000))
        + frame(CONTINUATION, 0, 1, bytes(16_000)) * 2,
        Failed(ErrorCode.ENHANCE_YOUR_CALM),
    ),
    # 8. Requests
    "8.1 trailers": (
        post(1) + frame(DATA, 0, 1, b"a") + head(1, WHOLE, [(b"x-sum", b"1")]),
        Served((1,)),
    ),
    "8.1 second head": (post(1) + frame(DATA, 0, 1, b"a") + post(1), broken()),
    "8.1 pseudo-header in trailers": (
        post(1) + frame(DATA, 0, 1, b"a") + head(1, WHOLE, [(b":method", b"GET")]),
        broken(),
    ),
    "8.1.1 length and no body": (
        head(1, WHOLE, [*POST, (b"content-length", b"1")]),
        broken(),
    ),
    "8.1.1 body that is longer": (
        post(1, (b"content-length", b"1")) + frame(DATA, 0, 1, b"ab"),
        broken(),
    ),
    "8.1.1 body that is shorter": (
        post(1, (b"content-length", b"3"))
        + frame(DATA, 0, 1, b"a")
        + frame(DATA, END_STREAM, 1, b"b"),
        broken(),
    ),
    "8.1.1 trailers before the length is reached": (
        post(1, (b"content-length", b"3"))
        + frame(DATA, 0, 1, b"a")
        + head(1, WHOLE, [(b"x-sum", b"1")]),
        broken(),
    ),
    "8.1.1 length in several frames": (
        post(1, (b"content-length", b"3"))
        + frame(DATA, 0, 1, b"a")
        + frame(DATA, 0, 1, b"bc")
        + frame(DATA, END_STREAM, 1, b""),
        Served((1,)),
    ),
    "8.2.1 upper case": (head(1, WHOLE, [*GET, (b"X-Name", b"a")]), broken()),
    "8.2.2 field of the connection": (
        head(1, WHOLE, [*GET, (b"connection", b"keep-alive")]),
        broken(),
    ),
    "8.3.1 no path": (head(1, WHOLE, [GET[0], GET[1], GET[3]]), broken()),
    "8.5 CONNECT": (
        head(1, END_HEADERS, [(b":method", b"CONNECT"), (b":authority", b"a:443")]),
        broken(1, ErrorCode.HTTP_1_1_REQUIRED),
    ),
    "8.1.1 malformed request leaves the compression intact": (
        head(1, WHOLE, [*GET, (b"X", b"a")]) + frame(HEADERS, WHOLE, 3, b"\x82\x86\x84\xbf"),
        broken(),
    ),
}


async def held(scope: Scope, receive: Receive, send: Send) -> None:
    await trio.sleep_forever()


AnyFrame = TypeVar("AnyFrame", bound=Frame)


class Conversation:
    """One connection, and the frames that came back."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._data = b""
        self.frames: list[Frame] = []
        self.closed = False

    async def send(self, data: bytes) -> None:
        await self._client.send(data)

    def of(self, kind: type[AnyFrame]) -> list[AnyFrame]:
        return [each for each in self.frames if isinstance(each, kind)]

    @property
    def ended(self) -> set[int]:
        return {each.stream_id for each in self.frames if "END_STREAM" in each.flags}

    def content(self, stream: int) -> bytes:
        return b"".join(each.data for each in self.of(DataFrame) if each.stream_id == stream)

    async def read(self) -> None:
        """Read more frames."""
        try:
            data = await self._client.stream.receive_some(65_536)
        except trio.BrokenResourceError:
            data = b""
        self.closed = not data
        self._data += data
        while len(self._data) >= 9:
            found, size = Frame.parse_frame_header(memoryview(self._data[:9]))
            if len(self._data) < 9 + size:
                return
            found.parse_body(memoryview(self._data[9 : 9 + size]))
            self._data = self._data[9 + size :]
            self.frames.append(found)

    async def settle(self) -> None:
        """Read until everything sent so far was handled, or the connection ends."""
        # The applications have run when the second is answered.
        for _ in range(2):
            mark = b"%08d" % len(self.frames)
            with suppress(trio.BrokenResourceError):
                await self.send(frame(PING, 0, 0, mark))
            while not (self.closed or any(e.opaque_data == mark for e in self.of(PingFrame))):
                await self.read()

    async def end(self, *streams: int) -> None:
        """Read until the responses of ``streams`` are complete."""
        while not set(streams) <= self.ended:
            assert not self.closed, f"closed after {self.frames}"
            await self.read()


@asynccontextmanager
async def conversation(
    application: Application | None = None, settings: bytes = b""
) -> AsyncIterator[Conversation]:
    routes = {"/held": held} | ({"/": application} if application else {})
    async with serving(routed(routes), LIMITS) as server, server.client() as client:
        talk = Conversation(client)
        await talk.send(PREFACE + frame(SETTINGS, 0, 0, settings))
        yield talk
        assert await server.is_well()


@pytest.mark.parametrize(("sent", "expected"), CASES.values(), ids=CASES)
async def test_frames_have_the_effect_that_the_standard_demands(
    sent: bytes, expected: Expected
) -> None:
    async with conversation() as talk:
        await talk.send(sent)
        if isinstance(expected, Served):
            await talk.end(*expected.streams)
        await talk.settle()
        goaways = [each.error_code for each in talk.of(GoAwayFrame)]
        resets = [(each.stream_id, each.error_code) for each in talk.of(RstStreamFrame)]
        if isinstance(expected, Failed):
            while not talk.closed:
                await talk.read()
            assert goaways == [expected.code]
        elif isinstance(expected, Reset):
            assert (goaways, resets) == ([], [(expected.stream, expected.code)])
            await talk.send(head(101))
            await talk.end(101)
        else:
            assert (goaways, resets) == ([], [])


async def test_first_frame_must_be_settings() -> None:
    async with serving(limits=LIMITS) as server, server.client() as client:
        talk = Conversation(client)
        await talk.send(PREFACE + head(1))
        while not talk.closed:
            await talk.read()
        [goaway] = talk.of(GoAwayFrame)
        assert goaway.error_code == ErrorCode.PROTOCOL_ERROR


async def test_settings_are_sent_first_and_those_of_the_client_acknowledged() -> None:
    async with conversation(settings=setting(INITIAL_WINDOW_SIZE, 100)) as talk:
        await talk.settle()
        first, second = talk.of(SettingsFrame)
        assert talk.frames[0] is first
        assert first.settings == {
            SettingsFrame.MAX_CONCURRENT_STREAMS: 100,
            SettingsFrame.MAX_HEADER_LIST_SIZE: LIMITS.head_size,
        }
        assert "ACK" not in first.flags
        assert "ACK" in second.flags


async def test_ping_is_answered_with_its_content() -> None:
    async with conversation() as talk:
        await talk.send(frame(PING, 0, 0, b"12345678"))
        await talk.settle()
        first, *_ = talk.of(PingFrame)
        assert (first.opaque_data, set(first.flags)) == (b"12345678", {"ACK"})


async def five(scope: Scope, receive: Receive, send: Send) -> None:
    await respond(send, b"12345")


async def test_response_stays_within_a_window_of_1_and_continues_as_it_opens() -> None:
    async with conversation(five, setting(INITIAL_WINDOW_SIZE, 1)) as talk:
        await talk.send(head(1))
        await talk.settle()
        assert talk.content(1) == b"1"
        for size in (1, 2, 100):
            await talk.send(window(1, size))
            await talk.settle()
        await talk.end(1)
        assert [len(each.data) for each in talk.of(DataFrame)] == [1, 1, 2, 1]


async def test_setting_opens_the_windows_of_streams_that_wait() -> None:
    async with conversation(five, setting(INITIAL_WINDOW_SIZE, 0)) as talk:
        await talk.send(head(1) + head(3))
        await talk.settle()
        assert talk.content(1) == talk.content(3) == b""
        await talk.send(frame(SETTINGS, 0, 0, setting(INITIAL_WINDOW_SIZE, 5)))
        await talk.end(1, 3)
        assert talk.content(1) == talk.content(3) == b"12345"


async def test_window_may_become_negative() -> None:
    async with conversation(five, setting(INITIAL_WINDOW_SIZE, 3)) as talk:
        await talk.send(head(1))
        await talk.settle()
        assert talk.content(1) == b"123"
        await talk.send(frame(SETTINGS, 0, 0, setting(INITIAL_WINDOW_SIZE, 2)))
        await talk.send(window(1, 1))
        await talk.settle()
        assert talk.content(1) == b"123"
        await talk.send(window(1, 1))
        await talk.settle()
        assert talk.content(1) == b"1234"


async def test_last_of_several_initial_windows_counts() -> None:
    both = setting(INITIAL_WINDOW_SIZE, 100) + setting(INITIAL_WINDOW_SIZE, 1)
    async with conversation(five, both) as talk:
        await talk.send(head(1))
        await talk.settle()
        assert talk.content(1) == b"1"


async def test_window_of_the_connection_is_shared_by_its_streams() -> None:
    content = bytes(60_000)

    async def large(scope: Scope, receive: Receive, send: Send) -> None:
        await respond(send, content)

    async with conversation(large) as talk:
        await talk.send(head(1) + head(3))
        await talk.settle()
        sent = len(talk.content(1)) + len(talk.content(3))
        assert sent == 65_535
        await talk.send(window(0, 120_000 - 65_535))
        await talk.end(1, 3)
        assert talk.content(1) == talk.content(3) == content


async def test_window_of_one_byte_wakes_one_sender_and_not_all() -> None:
    rounds: Counter[str] = Counter()

    class Steps(trio.abc.Instrument):
        def before_task_step(self, task: trio.lowlevel.Task) -> None:
            rounds[task.name] += 1

    async def large(scope: Scope, receive: Receive, send: Send) -> None:
        await respond(send, bytes(20_000))

    async with conversation(large) as talk:
        streams = range(1, 101, 2)
        await talk.send(b"".join(head(number) for number in streams))
        await talk.settle()
        steps = Steps()
        trio.lowlevel.add_instrument(steps)
        for _ in range(20):
            await talk.send(window(0, 1))
            await talk.settle()
        trio.lowlevel.remove_instrument(steps)
        [running] = [name for name in rounds if name.endswith("Http2Connection._run")]
        assert 20 <= rounds[running] < 60
        # Whatever becomes of those that were woken, the rest is for the others.
        last = streams[-1]
        for number in streams[:-1]:
            await talk.send(frame(RST_STREAM, 0, number, CANCEL))
        await talk.send(window(0, 100_000))
        await talk.end(last)


async def test_window_that_a_reset_stream_left_is_for_those_that_wait() -> None:
    async def large(scope: Scope, receive: Receive, send: Send) -> None:
        await respond(send, bytes(50_000))

    async with conversation(large) as talk:
        await talk.send(b"".join(head(number) for number in (1, 3, 5, 7)))
        await talk.settle()
        # In one read: the stream that is woken first has ended before it runs.
        resets = b"".join(frame(RST_STREAM, 0, number, CANCEL) for number in (1, 3, 5))
        await talk.send(window(0, 50_000) + resets)
        await talk.end(7)


async def test_stream_reset_by_the_server_may_still_receive_what_was_on_its_way() -> None:
    async with conversation() as talk:
        await talk.send(head(1, END_HEADERS, [*POST, (b"X", b"a")]))
        await talk.settle()
        assert [each.stream_id for each in talk.of(RstStreamFrame)] == [1]
        # More than the window of the connection, which is replenished all the same.
        for _ in range(20):
            await talk.send(frame(DATA, 0, 1, bytes(16_000)))
            await talk.settle()
        await talk.send(head(1, WHOLE, [(b"x-sum", b"1")]) + window(1, 5) + head(3))
        await talk.end(3)
        assert talk.of(GoAwayFrame) == []


async def test_stream_that_has_ended_is_closed() -> None:
    for late, code in (
        (frame(DATA, END_STREAM, 1, b"a"), ErrorCode.STREAM_CLOSED),
        (head(1), ErrorCode.STREAM_CLOSED),
        (frame(CONTINUATION, END_HEADERS, 1, b""), ErrorCode.PROTOCOL_ERROR),
    ):
        async with conversation() as talk:
            await talk.send(head(1))
            await talk.end(1)
            await talk.send(late)
            while not talk.closed:
                await talk.read()
            [goaway] = talk.of(GoAwayFrame)
            assert (goaway.error_code, goaway.last_stream_id) == (code, 1)


async def test_frames_that_are_too_late_for_an_ended_stream_are_ignored() -> None:
    async with conversation() as talk:
        await talk.send(head(1))
        await talk.end(1)
        late = window(1, 100) + frame(RST_STREAM, 0, 1, CANCEL)
        await talk.send(late + frame(PRIORITY, 0, 1, PRIORITY_FIELDS) + head(3))
        await talk.end(3)
        assert talk.of(GoAwayFrame) == []


async def test_window_of_a_body_is_replenished_by_what_was_read() -> None:
    read = trio.Event()

    async def half(scope: Scope, receive: Receive, send: Send) -> None:
        size = 0
        while size < 40_000:
            size += len((await receive())["body"])
        read.set()
        await trio.sleep_forever()

    async with conversation(half) as talk:
        await talk.send(post(1) + frame(DATA, 0, 1, bytes(10_000)) * 3)
        await talk.settle()
        assert talk.of(WindowUpdateFrame) == []
        await talk.send(frame(DATA, 0, 1, bytes(10_000)))
        await read.wait()
        await talk.settle()
        assert sorted(
            (each.stream_id, each.window_increment) for each in talk.of(WindowUpdateFrame)
        ) == [(0, 30_000), (1, 30_000)]


async def test_interim_response_precedes_the_body_of_a_client_that_waits_for_it() -> None:
    async with conversation() as talk:
        await talk.send(post(1, (b"expect", b"100-continue")))
        await talk.settle()
        [interim] = talk.of(HeadersFrame)
        decoder = hpack.Decoder()
        assert dict(decoder.decode(interim.data, raw=True)) == {b":status": b"100"}
        assert "END_STREAM" not in interim.flags
        await talk.send(frame(DATA, END_STREAM, 1, b"hello"))
        await talk.end(1)
        _, final = talk.of(HeadersFrame)
        assert dict(decoder.decode(final.data, raw=True))[b":status"] == b"200"
        assert talk.content(1) == b"POST / hello"


async def test_large_head_of_a_response_is_continued() -> None:
    value = b"a" * 40_000

    async def large(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"x-large", value)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    async with conversation(large) as talk:
        await talk.send(head(1))
        await talk.end(1)
        await talk.settle()
        [begun] = talk.of(HeadersFrame)
        parts = [begun.data, *(each.data for each in talk.of(ContinuationFrame))]
        assert [len(part) <= 16_384 for part in parts] == [True] * 3
        decoder = hpack.Decoder()
        decoder.max_header_list_size = 100_000
        assert (b"x-large", value) in [tuple(f) for f in decoder.decode(b"".join(parts), raw=True)]


async def test_client_that_makes_the_server_reset_its_requests_is_disconnected() -> None:
    # CVE-2025-8671: as costly as resets of its own.
    async with conversation() as talk:
        with suppress(trio.BrokenResourceError):
            for number in range(1, 800, 2):
                await talk.send(head(number, WHOLE, HELD) + window(number, 0))
        while not talk.closed:
            await talk.read()
        assert 100 <= len(talk.of(RstStreamFrame)) < 300
