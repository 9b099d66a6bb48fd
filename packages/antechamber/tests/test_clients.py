"""Third-party clients, httpx and curl, agree with the server on what was sent."""

import hashlib

import h11
import pytest
import trio
from antechamber.asgi import Application, Receive, Scope, Send

from .conftest import Authority
from .foreign_clients import WAYS, Request, Way, every_way, read_parts
from .http_server import Client, respond
from .test_serve import digest, large, stream

_, _, CURL, CURL_TLS = MODERN = [way for way in WAYS if way.version == "1.1"]
LARGE = bytes(range(256)) * 40_000


async def peer(scope: Scope, receive: Receive, send: Send) -> None:
    await respond(send, f"{scope['client'][1]} ".encode())


async def spoken(scope: Scope, receive: Receive, send: Send) -> None:
    await respond(send, f"{scope['scheme']} {scope['http_version']}".encode())


async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
    await respond(send, b"too much", 413)


async def no_content(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


ROUTES: dict[str, Application] = {
    "/stream": stream,
    "/large": large,
    "/digest": digest,
    "/peer": peer,
    "/spoken": spoken,
    "/refuse": refuse,
    "/no-content": no_content,
}


@every_way
async def test_client_and_server_agree_on_version_and_scheme(
    way: Way, authority: Authority
) -> None:
    async with way.serving(authority, ROUTES) as server:
        [reply] = await way.ask(server, authority, Request("/spoken"))
    assert reply.body == f"{'https' if way.tls else 'http'} {way.version}".encode()
    # A response to HTTP/1.0 is one of HTTP/1.1 (RFC 9110 section 6.2).
    assert reply.version == "1.1"


@every_way
async def test_streamed_response_arrives_complete_and_in_order(
    way: Way, authority: Authority
) -> None:
    async with way.serving(authority, ROUTES) as server:
        [reply] = await way.ask(server, authority, Request("/stream"))
    assert reply.body == b"onetwothree"
    assert reply.headers.get("transfer-encoding") == ("chunked" if way.version == "1.1" else None)
    assert "content-length" not in reply.headers


@every_way
async def test_part_of_a_stream_arrives_before_the_next_is_made(
    way: Way, authority: Authority
) -> None:
    arrived = trio.Event()

    async def hesitant(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"first", "more_body": True})
        await arrived.wait()
        await send({"type": "http.response.body", "body": b"second"})

    received = bytearray()

    def take(part: bytes) -> None:
        received.extend(part)
        if received == b"first":
            arrived.set()

    async with way.serving(authority, {"/hesitant": hesitant}) as server:
        with trio.fail_after(20):
            await read_parts(way, server, authority, "/hesitant", take)
    assert received == b"firstsecond"


@every_way
async def test_large_response_arrives_complete(way: Way, authority: Authority) -> None:
    async with way.serving(authority, ROUTES) as server:
        [reply] = await way.ask(server, authority, Request("/large"))
    assert reply.body == LARGE
    assert reply.headers["content-length"] == str(len(LARGE))


@pytest.mark.parametrize(
    ("way", "chunked"),
    # HTTP/1.0 has no chunks.
    [
        (way, chunked)
        for way in WAYS
        for chunked in (False, True)
        if way.version > "1.0" or not chunked
    ],
    ids=str,
)
async def test_large_upload_arrives_complete(way: Way, chunked: bool, authority: Authority) -> None:
    upload = Request("/digest", "POST", LARGE, chunked)
    async with way.serving(authority, ROUTES) as server:
        [reply] = await way.ask(server, authority, upload)
    assert reply.body == f"{hashlib.sha256(LARGE).hexdigest()} True".encode()


@every_way
@pytest.mark.parametrize("path", ["/large", "/stream"])
async def test_head_gets_the_response_of_a_get_without_its_body(
    way: Way, path: str, authority: Authority
) -> None:
    async with way.serving(authority, ROUTES) as server:
        head, get = await way.ask(server, authority, Request(path, "HEAD"), Request(path))
    assert (head.status, head.body) == (200, b"")
    # The framing of a body of unknown length may be left out of the response to HEAD. Between the
    # two responses a second may have ended.
    assert head.headers.keys() >= {"date"}
    ignored = {"transfer-encoding", "connection", "date"}
    assert {k: v for k, v in head.headers.items() if k not in ignored} == {
        k: v for k, v in get.headers.items() if k not in ignored
    }


@every_way
async def test_requests_share_a_connection_unless_it_is_http_1_0(
    way: Way, authority: Authority
) -> None:
    asked = [
        Request("/peer"),
        Request("/peer", "HEAD"),
        Request("/peer"),
    ]
    async with way.serving(authority, ROUTES) as server:
        found = await way.ask(server, authority, *asked)
    ports = {reply.body for reply in found if reply.body}
    assert len(ports) == (2 if way.version == "1.0" else 1)


@pytest.mark.parametrize("way", MODERN, ids=str)
async def test_unread_body_leaves_the_connection_usable(way: Way, authority: Authority) -> None:
    unread = Request("/peer", "POST", b"that nobody reads")
    async with way.serving(authority, ROUTES) as server:
        first, second = await way.ask(server, authority, unread, Request("/peer"))
    assert first.body == second.body


@pytest.mark.parametrize("way", MODERN, ids=str)
async def test_connection_is_closed_on_the_clients_request(way: Way, authority: Authority) -> None:
    last = Request("/peer", headers=(("connection", "close"),))
    async with way.serving(authority, ROUTES) as server:
        first, closing, other = await way.ask(
            server, authority, Request("/peer"), last, Request("/peer")
        )
    assert closing.headers["connection"] == "close"
    assert first.body == closing.body != other.body


async def test_http_1_0_with_keep_alive_is_closed(authority: Authority) -> None:
    way = Way("curl", "1.0", tls=False)
    asked = Request("/peer", headers=(("connection", "keep-alive"),))
    async with way.serving(authority, ROUTES) as server:
        first, second = await way.ask(server, authority, asked, asked)
    assert first.headers["connection"] == "close"
    assert first.body != second.body


# So long that a missing 100 fails the test.
WAITING = ("--expect100-timeout", "60")
EXPECTING = (("expect", "100-continue"),)


@pytest.mark.parametrize("way", [CURL, CURL_TLS], ids=str)
@pytest.mark.parametrize("chunked", [False, True])
async def test_client_that_expects_100_sends_its_body_then(
    way: Way, chunked: bool, authority: Authority
) -> None:
    asked = Request("/", "POST", b"hello", chunked, EXPECTING)
    async with way.serving(authority, ROUTES) as server:
        [reply] = await way.ask(server, authority, asked, more=WAITING)
    assert (reply.status, reply.body) == (200, b"POST / hello")


@pytest.mark.parametrize("way", [CURL, CURL_TLS], ids=str)
@pytest.mark.parametrize("chunked", [False, True])
async def test_client_that_expects_100_and_is_refused_sends_no_body(
    way: Way, chunked: bool, authority: Authority
) -> None:
    asked = Request("/refuse", "POST", LARGE, chunked, EXPECTING)
    async with way.serving(authority, ROUTES) as server:
        refused, next_one = await way.ask(
            server, authority, asked, Request("/spoken"), more=WAITING
        )
    assert (refused.status, refused.sent, refused.body) == (413, 0, b"too much")
    assert next_one.status == 200


# httpx reads no response before it has sent the whole body.
@pytest.mark.parametrize("way", [way for way in WAYS if way.client == "curl"], ids=str)
async def test_refusal_in_the_middle_of_an_upload_arrives(way: Way, authority: Authority) -> None:
    # Without that header curl would wait for a 100.
    asked = Request("/refuse", "POST", LARGE, headers=(("expect", ""),))
    async with way.serving(authority, ROUTES) as server:
        [refused] = await way.ask(server, authority, asked)
        assert (refused.status, refused.body) == (413, b"too much")
        assert await server.is_well()


@pytest.mark.parametrize("body", [None, b"hello"], ids=["get", "post"])
async def test_upgrade_to_http2_is_ignored(body: bytes | None, authority: Authority) -> None:
    # curl offers h2c by itself when it is to use HTTP/2 without TLS.
    way = Way("curl", "1.1", tls=False)
    asked = Request("/", "GET" if body is None else "POST", body)
    async with way.serving(authority, ROUTES) as server:
        first, second = await way.ask(server, authority, asked, Request("/"), more=("--http2",))
    assert (first.status, first.version) == (200, "1.1")
    assert first.body == f"{asked.method} / ".encode() + (body or b"")
    assert (second.status, second.version) == (200, "1.1")


PIPELINED = [
    Request("/one"),
    Request("/stream"),
    Request("/large", "HEAD"),
    Request("/two", "POST", b"sized"),
    Request("/three", "PUT", b"in chunks", chunked=True),
    Request("/no-content", "DELETE"),
    Request("/stream", "HEAD"),
    Request("/large"),
    Request("/last", headers=(("connection", "close"),)),
]
TOLD = [
    (200, b"GET /one "),
    (200, b"onetwothree"),
    (200, b""),
    (200, b"POST /two sized"),
    (200, b"PUT /three in chunks"),
    (204, b""),
    (200, b""),
    (200, LARGE),
    (200, b"GET /last "),
]


def encode(connection: h11.Connection, request: Request) -> bytes:
    """Return the bytes of ``request``, and let ``connection`` await its response."""
    headers = [("host", "a"), *request.headers]
    if request.body is not None:
        length = ("content-length", str(len(request.body)))
        headers.append(("transfer-encoding", "chunked") if request.chunked else length)
    events: list[h11.Event] = [
        h11.Request(method=request.method, target=request.path, headers=headers)
    ]
    events += [h11.Data(data=request.body)] if request.body else []
    return b"".join([connection.send(event) or b"" for event in [*events, h11.EndOfMessage()]])


async def read(connection: h11.Connection, client: Client) -> tuple[int, bytes]:
    """Read one response as h11 parses it."""
    status, body = 0, b""
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(bytes(await client.stream.receive_some(65536)))
        elif isinstance(event, h11.Response):
            status = event.status_code
        elif isinstance(event, h11.Data):
            body += event.data
        else:
            assert isinstance(event, h11.EndOfMessage)
            return status, body


@pytest.mark.parametrize("tls", [False, True])
async def test_pipelined_requests_get_responses_as_h11_expects(
    tls: bool, authority: Authority
) -> None:
    way = Way("h11", "1.1", tls)
    async with way.serving(authority, ROUTES) as server, server.client() as client:
        # h11 itself sends nothing before its response: each request is written by its own instance.
        await client.send(b"".join([encode(h11.Connection(h11.CLIENT), r) for r in PIPELINED]))
        connection = h11.Connection(h11.CLIENT)
        for request, result in zip(PIPELINED, TOLD, strict=True):
            if connection.our_state is h11.DONE:
                connection.start_next_cycle()
            encode(connection, request)
            assert await read(connection, client) == result
        assert connection.their_state is h11.MUST_CLOSE
        connection.receive_data(await client.rest())
        assert isinstance(connection.next_event(), h11.ConnectionClosed)


async def test_socket_under_tls_is_closed_after_both_closed_tls(authority: Authority) -> None:
    way = Way("curl", "1.1", tls=True)
    async with way.serving(authority, ROUTES) as server:
        asked = Request("/", headers=(("connection", "close"),))
        [reply] = await way.ask(server, authority, asked)
        assert reply.status == 200
        assert await server.is_well()
