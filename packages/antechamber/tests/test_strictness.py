"""Ambiguous requests are refused and the connection closed (RFC 9112 section 11)."""

import pytest
from antechamber.asgi import Receive, Scope, Send

from .http_server import lifespan, serving

GET = b"GET / HTTP/1.1\r\nhost: a\r\n"
POST = b"POST / HTTP/1.1\r\nhost: a\r\n"
CHUNKED = POST + b"transfer-encoding: chunked\r\n\r\n"

REFUSED = {
    # Lengths (RFC 9112 section 6.3).
    "two lengths that differ": (POST + b"content-length: 1\r\ncontent-length: 2\r\n\r\nab", 400),
    "two lengths that agree": (POST + b"content-length: 1\r\ncontent-length: 1\r\n\r\na", 400),
    "a list of lengths": (POST + b"content-length: 1, 1\r\n\r\na", 400),
    "a length with a sign": (POST + b"content-length: +1\r\n\r\na", 400),
    "a negative length": (POST + b"content-length: -1\r\n\r\na", 400),
    "a length in hexadecimal": (POST + b"content-length: 0x1\r\n\r\na", 400),
    "a length with an underscore": (POST + b"content-length: 1_0\r\n\r\na", 400),
    "an empty length": (POST + b"content-length:\r\n\r\n", 400),
    "a length beyond all bounds": (POST + b"content-length: 99999999999999999999\r\n\r\n", 400),
    "a length in other digits": (POST + "content-length: ٣\r\n\r\nabc".encode(), 400),
    # Transfer codings (section 6.1).
    "a length beside chunks": (
        POST + b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
    ),
    "chunks beside a length": (
        POST + b"transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n",
        400,
    ),
    "chunks twice": (POST + b"transfer-encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400),
    "chunks in two headers": (
        POST + b"transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
    ),
    "chunks that are not last": (POST + b"transfer-encoding: chunked, gzip\r\n\r\n", 400),
    "chunks misspelled": (POST + b"transfer-encoding: xchunked\r\n\r\n0\r\n\r\n", 400),
    "chunks behind a vertical tab": (POST + b"transfer-encoding: \x0bchunked\r\n\r\n", 400),
    "chunks in quotes": (POST + b'transfer-encoding: "chunked"\r\n\r\n0\r\n\r\n', 400),
    "identity": (POST + b"transfer-encoding: identity\r\n\r\n", 400),
    "another coding": (POST + b"transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
    "chunks over HTTP/1.0": (
        b"POST / HTTP/1.0\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
    ),
    "chunks over HTTP/1.0 without a host": (
        b"POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
    ),
    "an empty coding before chunks": (
        POST + b"transfer-encoding: ,chunked\r\n\r\n0\r\n\r\n",
        400,
    ),
    "an expectation over HTTP/1.0 without a host": (
        b"POST / HTTP/1.0\r\nexpect: something\r\n\r\n",
        417,
    ),
    # Chunks (section 7.1).
    "a size that is none": (CHUNKED + b"xy\r\n", 400),
    "an empty size": (CHUNKED + b"\r\n", 400),
    "a size with a sign": (CHUNKED + b"+5\r\nhello\r\n0\r\n\r\n", 400),
    "a negative size": (CHUNKED + b"-5\r\nhello\r\n0\r\n\r\n", 400),
    "a size with a prefix": (CHUNKED + b"0x5\r\nhello\r\n0\r\n\r\n", 400),
    "a size with a space behind": (CHUNKED + b"5 \r\nhello\r\n0\r\n\r\n", 400),
    "a size with a space before": (CHUNKED + b" 5\r\nhello\r\n0\r\n\r\n", 400),
    "a size that overflows": (CHUNKED + b"ffffffffffffffff1\r\n", 400),
    "a size before a bare LF": (CHUNKED + b"5\nhello\r\n0\r\n\r\n", 400),
    "a size before a bare CR": (CHUNKED + b"5\rhello\r\n0\r\n\r\n", 400),
    "a chunk longer than its size": (CHUNKED + b"5\r\nhelloX\r\n0\r\n\r\n", 400),
    "a chunk before a bare LF": (CHUNKED + b"5\r\nhello\n0\r\n\r\n", 400),
    "a last chunk before a bare LF": (CHUNKED + b"0\r\n\n", 400),
    "an extension with a bare CR": (CHUNKED + b"5;a\rb\r\nhello\r\n0\r\n\r\n", 400),
    "an extension with a bare LF": (CHUNKED + b"5;a\nb\r\nhello\r\n0\r\n\r\n", 400),
    "extensions without end": (CHUNKED + b"1;" + b"a" * 2000, 400),
    "extensions in every chunk": (CHUNKED + (b"1;" + b"a" * 900 + b"\r\nx\r\n") * 6, 400),
    "a trailer that is no header": (CHUNKED + b"0\r\nfoo\r\n\r\n", 400),
    "trailers without end": (CHUNKED + b"0\r\n" + b"a: b\r\n" * 200, 431),
    "a trailer that is too long": (CHUNKED + b"0\r\na: " + b"b" * 20_000, 431),
    # Lines (sections 2.2, 5).
    "lines that end with LF": (b"GET / HTTP/1.1\nhost: a\n\n", 400),
    "a bare LF between headers": (GET + b"a: b\nc: d\r\n\r\n", 400),
    "a bare CR in a value": (GET + b"a: b\rc: d\r\n\r\n", 400),
    "a bare CR before the end": (GET + b"a: b\r\r\n\r\n", 400),
    "NUL in a value": (GET + b"a: b\0c\r\n\r\n", 400),
    "a control character in a value": (GET + b"a: b\x01c\r\n\r\n", 400),
    "a space before the colon": (GET + b"a : b\r\n\r\n", 400),
    "a tab before the colon": (GET + b"a\t: b\r\n\r\n", 400),
    "a folded header": (GET + b"a: b\r\n c\r\n\r\n", 400),
    "a header folded with a tab": (GET + b"a: b\r\n\tc\r\n\r\n", 400),
    "a space before the first header": (b"GET / HTTP/1.1\r\n host: a\r\n\r\n", 400),
    "a header without a name": (GET + b": b\r\n\r\n", 400),
    "a header without a colon": (GET + b"abc\r\n\r\n", 400),
    "a name with a bracket": (GET + b"a[b]: c\r\n\r\n", 400),
    "a name that is no ASCII": (GET + "é: b\r\n\r\n".encode(), 400),
    # Hosts (section 3.2).
    "no host": (b"GET / HTTP/1.1\r\n\r\n", 400),
    "an empty host": (b"GET / HTTP/1.1\r\nhost:\r\n\r\n", 400),
    "two hosts": (GET + b"host: b\r\n\r\n", 400),
    "two hosts that agree": (GET + b"host: a\r\n\r\n", 400),
    "a host with a path": (b"GET / HTTP/1.1\r\nhost: a/b\r\n\r\n", 400),
    "a host with a user": (b"GET / HTTP/1.1\r\nhost: a@b\r\n\r\n", 400),
    "a host with a space": (b"GET / HTTP/1.1\r\nhost: a b\r\n\r\n", 400),
    "a list of hosts": (b"GET / HTTP/1.1\r\nhost: a, b\r\n\r\n", 400),
    "a host with a port that is none": (b"GET / HTTP/1.1\r\nhost: a:b\r\n\r\n", 400),
    "a target with another bad host": (b"GET http://a@b/ HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    # Request lines (section 3).
    "no version": (b"GET /\r\n\r\n", 400),
    "a later version": (b"GET / HTTP/2.0\r\nhost: a\r\n\r\n", 505),
    "the preface of HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    "another version of HTTP/1": (b"GET / HTTP/1.2\r\nhost: a\r\n\r\n", 505),
    "a version to come": (b"GET / HTTP/3.0\r\nhost: a\r\n\r\n", 505),
    "a version that is none": (b"GET / HTTP/1.10\r\nhost: a\r\n\r\n", 400),
    "a version in lower case": (b"GET / http/1.1\r\nhost: a\r\n\r\n", 400),
    "two spaces": (b"GET  / HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    "a space in the target": (b"GET /a b HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    "a tab for a space": (b"GET\t/ HTTP/1.1\r\nhost: a\r\n\r\n", 501),
    "a target without a slash": (b"GET a HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    "a target with a fragment": (b"GET /#a HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    "a target that is no ASCII": ("GET /é HTTP/1.1\r\nhost: a\r\n\r\n".encode(), 400),
    "an asterisk for another method": (b"GET * HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    "an escape that is none": (b"GET /%zz HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    "an escape cut short": (b"GET /%4 HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    "an unknown method": (b"FETCH / HTTP/1.1\r\nhost: a\r\n\r\n", 501),
    "a method in lower case": (b"get / HTTP/1.1\r\nhost: a\r\n\r\n", 501),
    "a tunnel": (b"CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n", 501),
    "the beginning of TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    # Other headers.
    "another expectation": (POST + b"expect: the-best\r\ncontent-length: 1\r\n\r\n", 417),
    "a connection that is no token": (GET + b"connection: a b\r\n\r\n", 400),
    "a WebSocket with a body": (
        GET + b"connection: upgrade\r\nupgrade: websocket\r\ncontent-length: 1\r\n\r\n",
        400,
    ),
    "a WebSocket without a key": (
        GET + b"connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\r\n",
        400,
    ),
    "a WebSocket of another version": (
        GET + b"connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 8\r\n\r\n",
        426,
    ),
}


@pytest.mark.parametrize(("data", "status"), REFUSED.values(), ids=REFUSED)
async def test_ambiguous_request_is_refused_and_the_connection_closed(
    data: bytes, status: int
) -> None:
    async with serving() as server, server.client() as client:
        # Whatever follows the refused request is never parsed.
        smuggled = b"GET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n"
        problem = await client.ask(data + smuggled)
        assert problem.status == status, problem
        assert problem["content-type"] == "application/problem+json"
        assert problem["connection"] == "close"
        assert problem["x-request-id"].encode() in problem.body
        assert await client.is_closed()


@pytest.mark.parametrize(("data", "status"), REFUSED.values(), ids=REFUSED)
async def test_ambiguous_request_is_also_refused_byte_by_byte(data: bytes, status: int) -> None:
    async with serving() as server, server.client() as client:
        for at in range(0, len(data), 7):
            await client.send(data[at : at + 7])
        assert (await client.read_response()).status == status
        assert await client.is_closed()


TAKEN = {
    "chunks in capitals": (
        POST + b"Transfer-Encoding: CHUNKED\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        b"POST / hello",
    ),
    "an extension": (CHUNKED + b'5;a=1;b="c d"\r\nhello\r\n0\r\n\r\n', b"POST / hello"),
    "a trailer": (CHUNKED + b"5\r\nhello\r\n0\r\na: b\r\n\r\n", b"POST / hello"),
    "a size with zeros before": (CHUNKED + b"005\r\nhello\r\n000\r\n\r\n", b"POST / hello"),
    "a size in capitals": (CHUNKED + b"A\r\nhellohello\r\n0\r\n\r\n", b"POST / hellohello"),
    "no chunks at all": (CHUNKED + b"0\r\n\r\n", b"POST / "),
    "a length of nothing": (POST + b"content-length: 0\r\n\r\n", b"POST / "),
    "a length with zeros before": (POST + b"content-length: 005\r\n\r\nhello", b"POST / hello"),
    "empty lines before": (b"\r\n\r\n" + GET + b"\r\n", b"GET / "),
    "an absolute target": (b"GET http://b:80/c?d HTTP/1.1\r\nhost: a\r\n\r\n", b"GET /c "),
    "an absolute target without a path": (b"GET http://b HTTP/1.1\r\nhost: a\r\n\r\n", b"GET / "),
    "an asterisk": (b"OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n", b"OPTIONS * "),
    "escapes": (b"GET /a%20b%C3%A9 HTTP/1.1\r\nhost: a\r\n\r\n", "GET /a bé ".encode()),
    "escapes that are no UTF-8": (
        b"GET /a%ff%ED%A0%80 HTTP/1.1\r\nhost: a\r\n\r\n",
        "GET /a\ufffd\ufffd\ufffd\ufffd ".encode(),
    ),
    "an escape of NUL": (b"GET /a%00 HTTP/1.1\r\nhost: a\r\n\r\n", b"GET /a\0 "),
    "a host with a port": (b"GET / HTTP/1.1\r\nhost: a.b:80\r\n\r\n", b"GET / "),
    "a host of IPv6": (b"GET / HTTP/1.1\r\nhost: [::1]:80\r\n\r\n", b"GET / "),
    "a value that is no ASCII": (GET + "a: é\r\n\r\n".encode(), b"GET / "),
    "an empty value": (GET + b"a:\r\n\r\n", b"GET / "),
    "white space around a value": (b"GET / HTTP/1.1\r\nhost: \t a \t\r\n\r\n", b"GET / "),
    "an upgrade to HTTP/2": (
        GET + b"connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: \r\n\r\n",
        b"GET / ",
    ),
    "an upgrade to HTTP/2 with a body": (
        POST + b"connection: upgrade\r\nupgrade: h2c\r\ncontent-length: 5\r\n\r\nhello",
        b"POST / hello",
    ),
    "an extension method": (b"PROPFIND / HTTP/1.1\r\nhost: a\r\n\r\n", b"PROPFIND / "),
}


@pytest.mark.parametrize(("data", "body"), TAKEN.values(), ids=TAKEN)
@pytest.mark.parametrize("step", [1, 1000])
async def test_unusual_request_and_the_next_one_get_responses(
    data: bytes, body: bytes, step: int
) -> None:
    async with serving() as server, server.client() as client:
        data += b"GET /next HTTP/1.1\r\nhost: a\r\n\r\n"
        for at in range(0, len(data), step):
            await client.send(data[at : at + step])
        assert (await client.read_response()).body == body
        assert (await client.read_response()).body == b"GET /next "


async def test_refusal_before_the_application_is_logged_once() -> None:
    async with serving() as server, server.client() as client:
        problem = await client.ask(b"GET /a?b HTTP/1.1\r\n\r\n")
        [refused] = server.refused
        assert (refused.status, refused.code) == (400, "invalid_request")
        assert (refused.client, refused.size) == ("127.0.0.1", len(problem.body))
        assert refused.request_id == problem["x-request-id"]
        assert (refused.method, refused.path, refused.seen) == ("GET", "/a", False)


async def test_refusal_within_the_application_is_left_to_it_to_log() -> None:
    seen: list[object] = []

    async def watching(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await lifespan(receive, send)
            return
        try:
            await receive()
        finally:
            seen.append(scope["extensions"]["antechamber"].rejected)

    async with serving(watching) as server:
        async with server.client() as client:
            assert (await client.ask(CHUNKED + b"xy\r\n")).status == 400
        async with server.client() as client:
            assert (await client.ask(CHUNKED)).status == 408
        assert [refused.seen for refused in server.refused] == [True, True]
    assert seen == [(400, "invalid_request"), (408, "body_timeout")]
