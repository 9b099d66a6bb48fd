"""HTTP/1.1 as clients use it: in order, streamed, kept alive, and abandoned."""

import hashlib
from dataclasses import replace

import pytest
import trio
from antechamber.asgi import Receive, Scope, Send

from .http_server import QUICK, respond, routed, serving

GET = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"


async def stream(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for part in (b"one", b"", b"two"):
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b"three"})


async def sized_stream(scope: Scope, receive: Receive, send: Send) -> None:
    headers = [(b"content-length", b"6")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"one", "more_body": True})
    await send({"type": "http.response.body", "body": b"two"})


async def short_stream(scope: Scope, receive: Receive, send: Send) -> None:
    headers = [(b"content-length", b"9")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"one", "more_body": True})
    await send({"type": "http.response.body", "body": b"two"})


async def nothing(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": int(scope["query_string"])})
    await send({"type": "http.response.body"})


async def large(scope: Scope, receive: Receive, send: Send) -> None:
    await respond(send, bytes(range(256)) * 40_000)


async def closing(scope: Scope, receive: Receive, send: Send) -> None:
    headers = [(b"connection", b"close"), (b"transfer-encoding", b"gzip")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"bye"})


async def digest(scope: Scope, receive: Receive, send: Send) -> None:
    """Read a body as it arrives, and respond with it."""
    found, parts, more = hashlib.sha256(), 0, True
    while more:
        event = await receive()
        found.update(event["body"])
        parts, more = parts + 1, event["more_body"]
    await respond(send, f"{found.hexdigest()} {parts > 1}".encode())


async def unread(scope: Scope, receive: Receive, send: Send) -> None:
    await respond(send, b"unread")


APPLICATION = routed(
    {
        "/stream": stream,
        "/sized": sized_stream,
        "/short": short_stream,
        "/nothing": nothing,
        "/large": large,
        "/closing": closing,
        "/digest": digest,
        "/unread": unread,
    }
)


def get(path: str, method: str = "GET", version: str = "1.1", more: str = "") -> bytes:
    return f"{method} {path} HTTP/{version}\r\nhost: a\r\n{more}\r\n".encode()


async def test_pipelined_requests_get_responses_in_order() -> None:
    async with serving(APPLICATION) as server, server.client() as client:
        paths = [f"/{number}" for number in range(500)]
        paths[100] = "/stream"
        await client.send(b"".join(map(get, paths)))
        for number, path in enumerate(paths):
            body = b"onetwothree" if number == 100 else f"GET {path} ".encode()
            assert (await client.read_response()).body == body


async def test_pipelined_requests_share_the_loop_with_other_connections() -> None:
    async with serving(APPLICATION) as server, server.client() as busy:
        await busy.send(GET * 3000)
        assert await server.is_well()
        for _ in range(3000):
            await busy.read_response()


async def test_response_has_date_and_length() -> None:
    async with serving(APPLICATION) as server, server.client() as client:
        found = await client.ask(GET)
        assert found["date"] == "Sun, 06 Nov 1994 08:49:37 GMT"
        assert found["content-length"] == "6"
        assert "connection" not in found
        assert "server" not in found


@pytest.mark.parametrize(
    "request_bytes",
    [
        get("/", more="connection: close\r\n"),
        get("/", more="connection: keep-alive, Close\r\n"),
        get("/", version="1.0"),
        get("/", version="1.0", more="connection: keep-alive\r\n"),
        get("/closing"),
    ],
)
async def test_connection_to_be_closed_says_so_and_closes(request_bytes: bytes) -> None:
    async with serving(APPLICATION) as server, server.client() as client:
        found = await client.ask(request_bytes + GET)
        assert found.status == 200
        assert found["connection"] == "close"
        assert "transfer-encoding" not in found
        assert await client.is_closed()


@pytest.mark.parametrize(
    ("path", "length"), [("/", "7"), ("/large", "10240000"), ("/sized", "6"), ("/stream", None)]
)
async def test_head_gets_the_headers_of_get_and_no_body(path: str, length: str | None) -> None:
    async with serving(APPLICATION) as server, server.client() as client:
        found = await client.ask(get(path, "HEAD"), head_only=True)
        assert found.status == 200
        assert found.get("content-length") == length
        # Whatever had been sent for a body would precede this response.
        assert (await client.ask(GET)).body == b"GET / "


@pytest.mark.parametrize(("status", "length"), [(204, False), (304, False), (200, True)])
async def test_response_without_body_is_framed_by_its_status(status: int, length: bool) -> None:
    async with serving(APPLICATION) as server, server.client() as client:
        found = await client.ask(get(f"/nothing?{status}"))
        assert found.status == status
        assert "transfer-encoding" not in found
        assert ("content-length" in found) is length
        assert (await client.ask(GET)).body == b"GET / "


async def test_stream_of_unknown_length_is_chunked_and_keeps_the_connection() -> None:
    async with serving(APPLICATION) as server, server.client() as client:
        found = await client.ask(get("/stream"))
        assert (found["transfer-encoding"], found.body) == ("chunked", b"onetwothree")
        assert (await client.ask(GET)).status == 200


async def test_stream_over_http_1_0_ends_with_the_connection() -> None:
    async with serving(APPLICATION) as server, server.client() as client:
        found = await client.ask(get("/stream", version="1.0"))
        assert "transfer-encoding" not in found
        assert found.body == b"onetwothree"


async def test_stream_of_known_length_is_sent_unchanged() -> None:
    async with serving(APPLICATION) as server, server.client() as client:
        assert (await client.ask(get("/sized"))).body == b"onetwo"
        assert (await client.ask(GET)).status == 200


async def test_stream_shorter_than_announced_ends_the_connection() -> None:
    async with serving(APPLICATION) as server, server.client() as client:
        await client.send(get("/short"))
        received = await client.rest()
        assert received.endswith(b"content-length: 9\r\n\r\none")


async def test_large_response_arrives_complete() -> None:
    async with serving(APPLICATION) as server, server.client() as client:
        assert (await client.ask(get("/large"))).body == bytes(range(256)) * 40_000


@pytest.mark.parametrize("chunked", [False, True])
async def test_large_body_is_passed_on_as_it_arrives(chunked: bool) -> None:
    body = bytes(range(256)) * 20_000
    framing = "transfer-encoding: chunked\r\n" if chunked else f"content-length: {len(body)}\r\n"
    async with serving(APPLICATION) as server, server.client() as client:
        await client.send(get("/digest", "POST", more=framing))
        if chunked:
            for at in range(0, len(body), 50_000):
                part = body[at : at + 50_000]
                await client.send(b"%x\r\n%b\r\n" % (len(part), part))
            await client.send(b"0\r\n\r\n")
        else:
            await client.send(body)
        found = await client.ask(GET)
        assert found.body == f"{hashlib.sha256(body).hexdigest()} True".encode()
        assert (await client.read_response()).body == b"GET / "


async def test_unread_body_stays_with_its_client() -> None:
    started, go_on = trio.Event(), trio.Event()

    async def waiting(scope: Scope, receive: Receive, send: Send) -> None:
        started.set()
        await go_on.wait()
        await respond(send, b"done")

    async with serving(routed({"/waiting": waiting})) as server, server.client() as client:
        await client.send(get("/waiting", "POST", more="content-length: 50000000\r\n"))
        await started.wait()
        sent = 0
        # The socket's buffers fill, and nothing reads from them.
        with trio.move_on_after(0.5):
            while True:
                await client.send(bytes(65536))
                sent += 65536
        assert sent < 20_000_000
        go_on.set()
        assert (await client.read_response())["connection"] == "close"


async def test_client_that_waits_for_100_gets_it_when_the_body_is_read() -> None:
    async with serving(APPLICATION) as server, server.client() as client:
        more = "content-length: 5\r\nexpect: 100-Continue\r\n"
        assert (await client.ask(get("/", "POST", more=more))).status == 100
        assert (await client.ask(b"hello")).body == b"POST / hello"
        assert (await client.ask(GET)).body == b"GET / "


async def test_client_that_waits_for_100_gets_the_response_when_the_body_is_not_read() -> None:
    async with serving(APPLICATION) as server, server.client() as client:
        more = "content-length: 5\r\nexpect: 100-continue\r\n"
        found = await client.ask(get("/unread", "POST", more=more))
        assert (found.status, found["connection"]) == (200, "close")


async def test_100_is_not_sent_without_a_reason() -> None:
    async with serving(APPLICATION) as server, server.client() as client:
        assert (await client.ask(get("/", more="expect: 100-continue\r\n"))).status == 200
        over_1_0 = get("/", "POST", "1.0", "content-length: 5\r\nexpect: 100-continue\r\n")
        assert (await client.ask(over_1_0 + b"hello")).body == b"POST / hello"


async def left_by(sending: str) -> list[str]:
    """Serve one request whose client disconnects, and return what its handler saw."""
    seen: list[str] = []
    started, ended = trio.Event(), trio.Event()

    async def waiting(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/finishing":
            scope["extensions"]["antechamber"].ignore_disconnect()
        try:
            event = await receive()
            started.set()
            if scope["path"] == "/asking":
                while event["type"] != "http.disconnect":
                    event = await receive()
                seen.append("told")
            elif scope["path"] == "/finishing":
                await trio.sleep(1)
                seen.append("finished")
            else:
                await trio.sleep_forever()
        except trio.Cancelled:
            seen.append("cancelled")
            raise
        finally:
            ended.set()

    paths = ("/waiting", "/asking", "/finishing")
    async with serving(routed(dict.fromkeys(paths, waiting))) as server:
        async with server.client() as client:
            await client.send(get(f"/{sending}"))
            await started.wait()
        with trio.fail_after(3):
            await ended.wait()
        assert await server.is_well()
    return seen


async def test_handler_is_cancelled_when_its_client_disconnects() -> None:
    assert await left_by("waiting") == ["cancelled"]


async def test_declared_handler_outlasts_its_client() -> None:
    assert await left_by("finishing") == ["finished"]


async def test_handler_is_notified_or_cancelled_when_its_client_disconnects() -> None:
    assert await left_by("asking") in (["told"], ["cancelled"])


async def test_client_that_closed_its_sending_side_still_gets_a_quick_response() -> None:
    async with serving(APPLICATION) as server, server.client() as client:
        await client.send(GET + GET)
        assert isinstance(client.stream, trio.SocketStream)
        await client.stream.send_eof()
        assert (await client.read_response()).body == b"GET / "
        assert (await client.read_response()).body == b"GET / "
        assert await client.is_closed()


async def test_scope_has_the_members_of_asgi() -> None:
    seen: list[Scope] = []

    async def keep(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope)
        await respond(send, b"")

    async with serving(routed({"/a b": keep})) as server, server.client() as client:
        await client.ask(b"GET /a%20b?c=%20 HTTP/1.1\r\nHost: x\r\nX-Two:  y \r\nX-Two: z\r\n\r\n")
    [scope] = seen
    assert scope["type"] == "http"
    assert (scope["method"], scope["scheme"], scope["http_version"]) == ("GET", "http", "1.1")
    assert (scope["path"], scope["raw_path"], scope["query_string"]) == (
        "/a b",
        b"/a%20b",
        b"c=%20",
    )
    assert scope["headers"] == [(b"host", b"x"), (b"x-two", b"y"), (b"x-two", b"z")]
    assert scope["client"][0] == "127.0.0.1"
    assert scope["server"] == ("127.0.0.1", server.port)


async def test_scope_of_an_absolute_target_names_its_host() -> None:
    seen: list[Scope] = []

    async def keep(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope)
        await respond(send, b"")

    async with serving(routed({"/": keep})) as server, server.client() as client:
        await client.ask(b"GET http://b/ HTTP/1.1\r\nHost: x\r\n\r\n")
    assert seen[0]["headers"] == [(b"host", b"b")]


async def test_truncated_response_is_not_followed_by_another() -> None:
    async def torn(scope: Scope, receive: Receive, send: Send) -> None:
        with trio.move_on_after(0.1):
            await respond(send, b"x" * 8_000_000)
        given_up.set()

    given_up = trio.Event()
    limits = replace(QUICK, write_timeout=20)
    async with serving(routed({"/torn": torn}), limits) as server, server.client() as client:
        assert isinstance(client.stream, trio.SocketStream)
        client.stream.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_RCVBUF, 4096)
        await client.send(get("/torn") + get("/next"))
        await given_up.wait()
        assert b"GET /next" not in await client.rest()


async def test_empty_line_after_a_body_leaves_the_connection_idle() -> None:
    limits = replace(QUICK, idle_timeout=5, header_timeout=0.2)
    async with serving(APPLICATION, limits) as server, server.client() as client:
        more = "content-length: 2\r\n"
        assert (await client.ask(get("/", "POST", more=more) + b"hi\r\n")).status == 200
        await client.send(b"\r\n\r\n")
        with trio.move_on_after(1):
            assert not await client.rest()
        assert (await client.ask(GET)).status == 200


async def test_head_request_refused_by_the_server_gets_no_body() -> None:
    async with serving(APPLICATION) as server, server.client() as client:
        await client.send(b"HEAD / HTTP/1.1\r\n\r\n")
        head, _, body = (await client.rest()).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 ")
        assert body == b""


async def test_refused_handshake_gets_a_response_and_is_logged_with_its_id_and_path() -> None:
    async with serving(APPLICATION) as server, server.client() as client:
        more = "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 8\r\n"
        found = await client.ask(get("/ws", more=f"{more}x-request-id: mine\r\n"))
        [refused] = server.refused
        assert (found.status, found["x-request-id"]) == (426, "mine")
        assert (refused.method, refused.path, refused.request_id) == ("GET", "/ws", "mine")


async def test_response_is_sent_though_the_application_suppresses_its_cancellation() -> None:
    async def stubborn(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            raise RuntimeError("something else") from None

    limits = replace(QUICK, request_timeout=0.3)
    async with serving(routed({"/stubborn": stubborn}), limits) as server:
        async with server.client() as client:
            assert (await client.ask(get("/stubborn"))).status == 503
        assert await server.is_well()


@pytest.mark.parametrize("target", ["/x", "http://a/x"])
async def test_body_over_http_1_0_arrives_without_a_host(target: str) -> None:
    async with serving() as server, server.client() as client:
        data = f"POST {target} HTTP/1.0\r\ncontent-length: 5\r\n\r\nhello"
        assert (await client.ask(data.encode())).body == b"POST /x hello"


@pytest.mark.parametrize(
    ("rest", "status"),
    [
        (b"x" * 9_000 + b" HTTP/1.1\r\nhost: a\r\n\r\n", 414),
        (b"x" * 17_000, 414),
        (b" HTTP/1.1\r\nhost: a\r\nx: " + b"x" * 20_000, 431),
        (b" HTTP/1.1\nhost: a", 400),
    ],
)
async def test_incomplete_head_request_gets_no_body_and_is_logged(rest: bytes, status: int) -> None:
    async with serving() as server, server.client() as client:
        for part in (b"HE", b"AD /path", rest):
            await client.send(part)
            await trio.testing.wait_all_tasks_blocked()
        refusal = await client.read_response(head_only=True)
        assert refusal.status == status
        assert await client.is_closed()
        [refused] = server.refused
        assert (refused.method, refused.path[:5]) == ("HEAD", "/path")
