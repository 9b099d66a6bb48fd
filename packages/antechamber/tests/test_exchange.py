"""Complete responses that the application passes to the server directly, without ASGI events."""

import pytest
import trio
from antechamber.asgi import Receive, Scope, Send, extension_of
from antechamber.response import FixedHeaders, InvalidResponse

from .http_server import routed, serving

FIXED = FixedHeaders([(b"content-type", b"text/plain"), (b"x-kind", b"fixed")])
ID = (b"x-request-id", b"one")


async def whole(scope: Scope, receive: Receive, send: Send) -> None:
    body = b"" if scope["method"] == "HEAD" else b"whole"
    await give(scope, 200, [(b"content-length", b"5"), ID], body)


async def nothing(scope: Scope, receive: Receive, send: Send) -> None:
    await give(scope, 204, [ID], b"")


async def split(scope: Scope, receive: Receive, send: Send) -> None:
    await give(scope, 200, [(b"x-name", b"a\r\nset-cookie: stolen")], b"")


async def wrong_length(scope: Scope, receive: Receive, send: Send) -> None:
    await give(scope, 200, [(b"content-length", b"9")], b"short")


async def begun(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    with pytest.raises(InvalidResponse):
        await give(scope, 200, [], b"again")
    await send({"type": "http.response.body", "body": b"once"})


async def lasting(scope: Scope, receive: Receive, send: Send) -> None:
    await give(scope, 200, [(b"connection", b"keep-alive"), (b"content-length", b"5")], b"whole")


async def twice(scope: Scope, receive: Receive, send: Send) -> None:
    await whole(scope, receive, send)
    await whole(scope, receive, send)


async def give(scope: Scope, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    extension = extension_of(scope)
    assert extension is not None
    await extension.respond(status, headers, FIXED, body)


APPLICATION = routed(
    {
        "/whole": whole,
        "/nothing": nothing,
        "/split": split,
        "/wrong-length": wrong_length,
        "/begun": begun,
        "/lasting": lasting,
        "/twice": twice,
    }
)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_whole_response_has_its_own_and_the_fixed_headers(method: str) -> None:
    async with serving(APPLICATION) as server, server.client() as client:
        data = f"{method} /whole HTTP/1.1\r\nhost: a\r\n\r\n".encode()
        found = await client.ask(data, head_only=method == "HEAD")
        assert found["content-type"] == "text/plain"
        assert (found["x-kind"], found["x-request-id"]) == ("fixed", "one")
        assert found["content-length"] == "5"
        assert found.body == (b"whole" if method == "GET" else b"")
        # Nothing of it remains.
        assert (await client.ask(b"GET /nothing HTTP/1.1\r\nhost: a\r\n\r\n")).status == 204


async def test_application_keeps_no_connection_open_that_is_to_close() -> None:
    async with (
        serving(APPLICATION) as server,
        await trio.open_tcp_stream("127.0.0.1", server.port) as stream,
    ):
        data = b"GET /lasting HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
        await stream.send_all(data)
        with trio.fail_after(5):
            response = b"".join([part async for part in stream])
        assert b"connection: close\r\n" in response
        assert response.endswith(b"whole")


@pytest.mark.parametrize("path", ["/split", "/wrong-length"])
async def test_invalid_response_is_a_failure_of_the_application(path: str) -> None:
    async with serving(APPLICATION) as server:
        async with server.client() as client:
            found = await client.ask(f"GET {path} HTTP/1.1\r\nhost: a\r\n\r\n".encode())
            assert (found.status, "set-cookie" in found) == (500, False)
        assert await server.is_well()


async def test_response_after_the_start_of_another_is_refused() -> None:
    async with serving(APPLICATION) as server, server.client() as client:
        found = await client.ask(b"GET /begun HTTP/1.1\r\nhost: a\r\n\r\n")
        assert (found.status, found.body) == (200, b"once")


async def test_second_response_is_a_failure_that_the_first_survives() -> None:
    async with serving(APPLICATION) as server:
        async with server.client() as client:
            found = await client.ask(b"GET /twice HTTP/1.1\r\nhost: a\r\n\r\n")
            assert (found.status, found.body) == (200, b"whole")
            assert await client.is_closed()
        assert await server.is_well()


@pytest.mark.parametrize(
    "header",
    [
        (b"x-name", b"a\r\nb: c"),
        (b"x-name", b"a\n"),
        (b"x-\rname", b"a"),
        (b"x-name", b"\0"),
        (b"content-length", b"3"),
        (b"transfer-encoding", b"chunked"),
        (b"date", b"now"),
    ],
)
def test_invalid_fixed_headers_are_refused(header: tuple[bytes, bytes]) -> None:
    with pytest.raises(InvalidResponse):
        FixedHeaders([(b"x-before", b"1"), header])
