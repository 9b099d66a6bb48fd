"""HTTP/2 where one request could affect another on its connection."""

import gc
import os
from contextlib import suppress
from dataclasses import replace

import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings
import pytest
import trio
import trio.testing

from octavo.http.server.asgi import Extension, Receive, Scope, Send, extension_of
from octavo.http.server.http2.exchange import Http2Exchange
from octavo.http.server.rejection import ClientGone
from octavo.http.server.response import FixedHeaders
from tests.fakes.http_server import QUICK, Client, respond, routed, serving
from tests.http.server.test_error_boundary import http2_client, read_responses, request

# With a watchdog that sleeps, all tasks are blocked when the socket is full.
STILL = replace(QUICK, tick=20)


async def large(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while True:
        await send({"type": "http.response.body", "body": bytes(65536), "more_body": True})


async def named(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond with a unique header: compressed, it changes the table of the whole connection."""
    headers = [(b"x-path", scope["raw_path"])]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"named"})


async def test_request_reset_while_sending_leaves_the_others_readable() -> None:
    paths = [f"/{number}" for number in range(6)]
    application = routed({"/large": large, **dict.fromkeys(paths, named)})
    async with serving(application, STILL) as server, server.client() as client:
        connection = await http2_client(server, client)
        connection.increment_flow_control_window(2**31 - 1 - 65_535)
        big = request(connection, "/large")
        connection.increment_flow_control_window(2**31 - 1 - 65_535, big)
        await client.send(connection.data_to_send())
        # Nothing is read: the large response fills the socket, and the others wait for it.
        await trio.testing.wait_all_tasks_blocked(0.1)
        called_back = [request(connection, path) for path in paths[:3]]
        await client.send(connection.data_to_send())
        await trio.testing.wait_all_tasks_blocked(0.1)
        for number in [*called_back, big]:
            connection.reset_stream(number)
            await client.send(connection.data_to_send())
            await trio.testing.wait_all_tasks_blocked(0.1)
        last = {request(connection, path): path for path in paths[3:]}
        await client.send(connection.data_to_send())
        found: dict[int, str] = {}
        while set(found) < set(last):
            data = await client.stream.receive_some(65536)
            assert data, "the connection ended before its responses"
            for event in connection.receive_data(data):
                if isinstance(event, h2.events.ResponseReceived) and event.stream_id in last:
                    found[event.stream_id] = dict(event.headers)[b"x-path"].decode()
        assert found == last


async def test_unread_body_does_not_block_other_requests() -> None:
    started = trio.Event()

    async def deaf(scope: Scope, receive: Receive, send: Send) -> None:
        started.set()
        await trio.sleep_forever()

    async with serving(routed({"/deaf": deaf})) as server, server.client() as client:
        connection = await http2_client(server, client)
        number = request(connection, "/deaf", end=False)
        for _ in range(60):
            connection.send_data(number, b"a" * 1000)
        await client.send(connection.data_to_send())
        await started.wait()
        other = request(connection, "/next")
        await client.send(connection.data_to_send())
        assert (await read_responses(connection, client, 1))[other] == ("200", b"POST /next ")


async def test_handler_that_does_not_read_is_cancelled_when_its_client_disconnects() -> None:
    started, cancelled = trio.Event(), trio.Event()

    async def deaf(scope: Scope, receive: Receive, send: Send) -> None:
        started.set()
        try:
            await trio.sleep_forever()
        finally:
            cancelled.set()

    async with serving(routed({"/deaf": deaf})) as server:
        async with server.client() as client:
            connection = await http2_client(server, client)
            number = request(connection, "/deaf", end=False)
            for _ in range(60):
                connection.send_data(number, b"a" * 1000)
            await client.send(connection.data_to_send())
            await started.wait()
        with trio.fail_after(3):
            await cancelled.wait()


async def test_large_body_is_received_as_fast_as_it_is_read() -> None:
    async def count(scope: Scope, receive: Receive, send: Send) -> None:
        size, more = 0, True
        while more:
            event = await receive()
            size, more = size + len(event["body"]), event["more_body"]
        await respond(send, b"%d" % size)

    async with serving(routed({"/count": count})) as server, server.client() as client:
        connection = await http2_client(server, client)
        number = request(connection, "/count", end=False)
        left = 1_000_000
        while left:
            step = min(left, connection.local_flow_control_window(number), 16_000)
            if step:
                connection.send_data(number, bytes(step))
                left -= step
                await client.send(connection.data_to_send())
            else:
                connection.receive_data(await client.stream.receive_some(65536))
        connection.end_stream(number)
        await client.send(connection.data_to_send())
        assert (await read_responses(connection, client, 1))[number] == ("200", b"1000000")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("get", "/", "501"),
        ("GET POST", "/", "501"),
        ("connect", "/", "501"),
        ("GET", "http://a/", "400"),
        ("GET", "/%zz", "400"),
        ("GET", "*", "400"),
    ],
)
async def test_request_that_http_1_refuses_is_refused_without_the_connection(
    method: str, path: str, status: str
) -> None:
    async with serving() as server, server.client() as client:
        connection = await http2_client(server, client)
        connection.config.validate_outbound_headers = False
        number = connection.get_next_available_stream_id()
        headers = [(":method", method), (":path", path), (":scheme", "http"), (":authority", "a")]
        connection.send_headers(number, headers, end_stream=True)
        well = request(connection, "/well")
        await client.send(connection.data_to_send())
        found = await read_responses(connection, client, 2)
        assert (found[number][0], found[well][0]) == (status, "200")


async def test_request_during_a_shutdown_may_be_retried() -> None:
    go_on, started = trio.Event(), trio.Event()

    async def held(scope: Scope, receive: Receive, send: Send) -> None:
        started.set()
        await go_on.wait()
        await respond(send, b"held")

    async with serving(routed({"/held": held}), grace=20) as server, server.client() as client:
        connection = await http2_client(server, client)
        first = request(connection, "/held")
        await client.send(connection.data_to_send())
        await started.wait()
        server.shutdown.set()
        await trio.testing.wait_all_tasks_blocked()
        late = request(connection, "/late")
        await client.send(connection.data_to_send())
        reset = await reset_of(connection, client)
        assert (reset.stream_id, reset.error_code) == (late, h2.errors.ErrorCodes.REFUSED_STREAM)
        go_on.set()
        assert (await read_responses(connection, client, 1))[first] == ("200", b"held")


async def reset_of(connection: h2.connection.H2Connection, client: Client) -> h2.events.StreamReset:
    while True:
        for event in connection.receive_data(await client.stream.receive_some(65536)):
            if isinstance(event, h2.events.StreamReset):
                return event


async def test_client_without_a_request_is_disconnected() -> None:
    limits = replace(QUICK, head_time=0.4, idle_time=60.0)
    async with serving(limits=limits) as server, server.client() as client:
        begun = trio.current_time()
        connection = await http2_client(server, client)
        events = connection.receive_data(await client.rest())
        assert any(isinstance(event, h2.events.ConnectionTerminated) for event in events)
        assert trio.current_time() - begun < 5


async def test_client_that_never_ends_its_head_is_disconnected() -> None:
    limits = replace(QUICK, head_time=0.4, idle_time=60.0)
    async with serving(limits=limits) as server, server.client() as client:
        connection = await http2_client(server, client)
        request(connection, "/well")
        head = bytearray(connection.data_to_send())
        assert head[3] == 1  # HEADERS
        head[4] &= ~0x04  # without END_HEADERS
        await client.send(bytes(head))
        with trio.fail_after(5):
            await client.rest()


async def sleepy(scope: Scope, receive: Receive, send: Send) -> None:
    await trio.sleep_forever()


async def reading(scope: Scope, receive: Receive, send: Send) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@pytest.mark.parametrize(
    ("path", "end", "status"),
    [("/sleepy", True, "503"), ("/sleepy", False, "503"), ("/reading", False, "408")],
)
async def test_request_timeout_is_408_only_while_its_body_is_read(
    path: str, end: bool, status: str
) -> None:
    limits = replace(QUICK, request_time=0.4, body_idle_time=60.0)
    application = routed({"/sleepy": sleepy, "/reading": reading})
    async with serving(application, limits) as server, server.client() as client:
        connection = await http2_client(server, client)
        number = request(connection, path, end=end)
        await client.send(connection.data_to_send())
        assert (await read_responses(connection, client, 1))[number][0] == status
    assert [refused.status for refused in server.refused] == [int(status)]


async def test_client_that_sends_goaway_gets_the_responses_in_flight() -> None:
    go_on, started = trio.Event(), trio.Event()

    async def held(scope: Scope, receive: Receive, send: Send) -> None:
        started.set()
        await go_on.wait()
        await respond(send, b"held")

    async with serving(routed({"/held": held})) as server, server.client() as client:
        connection = await http2_client(server, client)
        number = request(connection, "/held")
        await client.send(connection.data_to_send())
        await started.wait()
        # h2 would accept nothing after its own GOAWAY: this one is written by hand.
        await client.send(b"\0\0\x08\x07\0\0\0\0\0" + bytes(8))
        await trio.testing.wait_all_tasks_blocked()
        go_on.set()
        assert (await read_responses(connection, client, 1))[number] == ("200", b"held")
        connection.receive_data(await client.rest())
        assert connection.state_machine.state is h2.connection.ConnectionState.CLOSED


async def test_streams_over_the_limit_are_refused_individually() -> None:
    async with serving() as server, server.client() as client:
        connection = await http2_client(server, client)
        # It does not know the limit yet, and opens all of them immediately.
        numbers = [request(connection, "/well") for _ in range(300)]
        await client.send(connection.data_to_send())
        served: set[int] = set()
        refused: set[int] = set()
        while len(served) + len(refused) < len(numbers):
            for event in connection.receive_data(await client.stream.receive_some(65536)):
                if isinstance(event, h2.events.StreamEnded):
                    served.add(event.stream_id)
                elif isinstance(event, h2.events.StreamReset):
                    assert event.error_code == h2.errors.ErrorCodes.REFUSED_STREAM
                    refused.add(event.stream_id)
                assert not isinstance(event, h2.events.ConnectionTerminated)
            await client.send(connection.data_to_send())
        assert len(served) >= 100
        assert served | refused == set(numbers)


FRAMES = {
    "empty data": (0, b"", 1),
    "pings": (6, bytes(8), 0),
    "windows": (8, b"\0\0\0\x01", 0),
    "priorities": (2, b"\0\0\0\0\x10", 1),
    "settings": (4, b"", 0),
    "unknown": (0xBB, b"", 0),
}


@pytest.mark.parametrize(("kind", "payload", "stream"), FRAMES.values(), ids=FRAMES)
async def test_client_that_sends_frames_without_content_is_disconnected(
    kind: int, payload: bytes, stream: int
) -> None:
    async with serving() as server:
        async with server.client() as client:
            connection = await http2_client(server, client)
            request(connection, "/well", end=False)
            await client.send(connection.data_to_send())
            head = len(payload).to_bytes(3) + bytes([kind, 0]) + stream.to_bytes(4)
            with suppress(trio.BrokenResourceError):
                await client.send((head + payload) * 20_000)
            await client.rest()
        assert await server.is_well()


async def test_large_body_in_ordinary_frames_costs_no_budget() -> None:
    async with serving() as server, server.client() as client:
        connection = await http2_client(server, client)
        number = request(connection, "/well", end=False)
        left = 2_000_000
        ended = False
        while not ended:
            room = min(left, 1_000, connection.local_flow_control_window(number))
            if room:
                connection.send_data(number, bytes(room), end_stream=room == left)
                left -= room
                await client.send(connection.data_to_send())
            else:
                for event in connection.receive_data(await client.stream.receive_some(65536)):
                    ended = ended or isinstance(event, h2.events.StreamEnded)
                    if isinstance(event, h2.events.DataReceived):
                        connection.acknowledge_received_data(
                            event.flow_controlled_length, event.stream_id
                        )
                await client.send(connection.data_to_send())
        assert left == 0


async def whole(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond in one call, as operations do."""
    extension = extension_of(scope)
    assert extension is not None
    await extension.respond(200, [(b"content-length", b"5")], FixedHeaders([]), b"whole")


async def events_of_response(method: str = "GET", window: int = 65_535) -> list[h2.events.Event]:
    """The events of a response that is sent in one call, to a client with this window."""
    found: list[h2.events.Event] = []
    async with serving(whole, QUICK) as server, server.client() as client:
        connection = await http2_client(server, client)
        connection.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window})
        await client.send(connection.data_to_send())
        number = request(connection, "/", method=method)
        await client.send(connection.data_to_send())
        while not any(isinstance(event, h2.events.StreamEnded) for event in found):
            data = await client.stream.receive_some(65536)
            assert data, "the connection ended before its response"
            for event in connection.receive_data(data):
                if getattr(event, "stream_id", None) == number:
                    found.append(event)
                if isinstance(event, h2.events.DataReceived):
                    with suppress(h2.exceptions.StreamClosedError):
                        connection.increment_flow_control_window(100, number)
            await client.send(connection.data_to_send())
    return found


async def test_small_response_ends_with_its_content() -> None:
    response, data, _ = await events_of_response()
    assert isinstance(response, h2.events.ResponseReceived)
    assert isinstance(data, h2.events.DataReceived)
    assert (data.data, data.stream_ended is not None) == (b"whole", True)


async def test_small_response_to_head_has_its_length_and_no_content() -> None:
    response, *_ = await events_of_response("HEAD")
    assert isinstance(response, h2.events.ResponseReceived)
    assert dict(response.headers)[b"content-length"] == b"5"
    assert response.stream_ended is not None


async def test_small_response_waits_for_a_window_that_is_smaller() -> None:
    events = await events_of_response(window=3)
    data = [event.data for event in events if isinstance(event, h2.events.DataReceived)]
    assert (data[0], b"".join(data)) == (b"who", b"whole")


async def test_responses_that_end_together_are_written_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written: list[int] = []
    write = os.write

    def counting(descriptor: int, data: bytes) -> int:
        written.append(len(data))
        return write(descriptor, data)

    async with serving(whole, STILL) as server, server.client() as client:
        connection = await http2_client(server, client)
        for _ in range(2):
            request(connection, "/")
            # With the second goes the acknowledgement of the settings.
            await client.send(connection.data_to_send())
            await read_responses(connection, client, 1)
        monkeypatch.setattr(os, "write", counting)
        for _ in range(5):
            for _ in range(4):
                request(connection, "/")
            await client.send(connection.data_to_send())
            assert len(await read_responses(connection, client, 4)) == 4
        assert len(written) == 5


async def test_streamed_response_has_a_deadline_for_each_wait_and_not_for_all() -> None:
    content = bytes(20_000)

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(6):
            await send({"type": "http.response.body", "body": content, "more_body": True})
            await trio.sleep(0.2)
        await send({"type": "http.response.body", "body": b""})

    limits = replace(QUICK, write_time=0.5)
    async with serving(routed({"/slow": slow}), limits) as server, server.client() as client:
        connection = await http2_client(server, client)
        request(connection, "/slow")
        await client.send(connection.data_to_send())
        size, ended = 0, False
        while not ended:
            data = await client.stream.receive_some(65536)
            assert data
            for event in connection.receive_data(data):
                assert not isinstance(event, h2.events.StreamReset)
                ended = ended or isinstance(event, h2.events.StreamEnded)
                if isinstance(event, h2.events.DataReceived):
                    size += len(event.data)
                    connection.acknowledge_received_data(
                        event.flow_controlled_length, event.stream_id
                    )
            await client.send(connection.data_to_send())
        assert size == 6 * len(content)


async def test_stream_that_is_not_read_is_reset_in_time_and_the_others_continue() -> None:
    ended: list[type[BaseException] | None] = []

    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await large(scope, receive, send)
        except BaseException as error:
            ended.append(type(error))
            raise

    limits = replace(QUICK, write_time=0.3)
    async with serving(routed({"/large": watched}), limits) as server, server.client() as client:
        connection = await http2_client(server, client)
        connection.increment_flow_control_window(1_000_000)
        unread = request(connection, "/large")
        await client.send(connection.data_to_send())
        reset = await reset_of(connection, client)
        assert (reset.stream_id, ended) == (unread, [ClientGone])
        other = request(connection, "/next")
        await client.send(connection.data_to_send())
        assert (await read_responses(connection, client, 1))[other] == ("200", b"POST /next ")


@pytest.mark.parametrize("finishes", [False, True])
async def test_handler_of_a_stream_that_is_reset_ends_unless_it_must_finish(finishes: bool) -> None:
    started, go_on = trio.Event(), trio.Event()
    ends: list[str] = []

    async def held(scope: Scope, receive: Receive, send: Send) -> None:
        extension = extension_of(scope)
        assert extension is not None
        if finishes:
            extension.ignore_disconnect()
        started.set()
        try:
            await go_on.wait()
            assert (await receive())["type"] == "http.disconnect"
            with pytest.raises(ClientGone):
                await respond(send, b"late")
            ends.append("finished")
        except trio.Cancelled:
            ends.append("cancelled")
            raise

    async with serving(routed({"/held": held})) as server, server.client() as client:
        connection = await http2_client(server, client)
        number = request(connection, "/held")
        await client.send(connection.data_to_send())
        await started.wait()
        connection.reset_stream(number)
        other = request(connection, "/next")
        await client.send(connection.data_to_send())
        assert (await read_responses(connection, client, 1))[other] == ("200", b"POST /next ")
        go_on.set()
        await trio.testing.wait_all_tasks_blocked()
    assert ends == ["finished" if finishes else "cancelled"]


async def test_response_that_is_aborted_is_reset_and_its_connection_continues() -> None:
    extensions: list[Extension] = []

    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        extension = extension_of(scope)
        assert extension is not None
        extensions.append(extension)
        await large(scope, receive, send)

    limits = replace(STILL, write_time=20)
    async with serving(routed({"/large": watched}), limits) as server, server.client() as client:
        connection = await http2_client(server, client)
        unread = request(connection, "/large")
        await client.send(connection.data_to_send())
        await trio.testing.wait_all_tasks_blocked(0.05)
        [extension] = extensions
        stalled_since = extension.progressed_at()
        assert stalled_since < trio.current_time()
        await trio.sleep(0.05)
        assert extension.progressed_at() == stalled_since
        extension.abort()
        assert (await reset_of(connection, client)).stream_id == unread
        connection.increment_flow_control_window(100_000)
        other = request(connection, "/next")
        await client.send(connection.data_to_send())
        assert (await read_responses(connection, client, 1))[other] == ("200", b"POST /next ")


async def test_body_may_be_read_after_the_response() -> None:
    bodies: list[bytes] = []

    async def late(scope: Scope, receive: Receive, send: Send) -> None:
        await respond(send, b"first")
        more = True
        while more:
            event = await receive()
            bodies.append(event["body"])
            more = event["more_body"]

    async with serving(routed({"/late": late})) as server, server.client() as client:
        connection = await http2_client(server, client)
        number = request(connection, "/late", end=False)
        await client.send(connection.data_to_send())
        assert (await read_responses(connection, client, 1))[number] == ("200", b"first")
        connection.send_data(number, b"a" * 10_000)
        connection.send_data(number, b"b" * 10_000, end_stream=True)
        request(connection, "/next")
        await client.send(connection.data_to_send())
        await read_responses(connection, client, 1)
    assert b"".join(bodies) == b"a" * 10_000 + b"b" * 10_000


async def test_requests_that_outlast_their_streams_count_as_well() -> None:
    started = 0

    async def finishing(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal started
        extension = extension_of(scope)
        assert extension is not None
        extension.ignore_disconnect()
        started += 1
        await trio.sleep_forever()

    limits = replace(QUICK, tick=20)
    async with serving(routed({"/": finishing}), limits) as server, server.client() as client:
        connection = await http2_client(server, client)
        # So that resets are few of its requests.
        for _ in range(4):
            for _ in range(50):
                request(connection, "/well")
            await client.send(connection.data_to_send())
            await read_responses(connection, client, 50)
        for _ in range(2):
            numbers = [request(connection, "/") for _ in range(60)]
            await client.send(connection.data_to_send())
            await trio.testing.wait_all_tasks_blocked(0.05)
            for number in numbers:
                connection.reset_stream(number)
            await client.send(connection.data_to_send())
            await trio.testing.wait_all_tasks_blocked(0.05)
        assert started == 100


@pytest.mark.parametrize("path", ["/next", "/%zz"])
async def test_request_leaves_nothing_for_the_garbage_collector(path: str) -> None:
    async with serving(limits=STILL) as server, server.client() as client:
        connection = await http2_client(server, client)
        gc.collect()
        gc.disable()
        try:
            for _ in range(20):
                request(connection, path)
                await client.send(connection.data_to_send())
                await read_responses(connection, client, 1)
            left = [each for each in gc.get_objects() if isinstance(each, Http2Exchange)]
        finally:
            gc.enable()
        assert len(left) <= 1
