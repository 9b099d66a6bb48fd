"""Requests of one connection, whose heads are alike."""

import pytest
from antechamber.asgi import Receive, Scope, Send, extension_of
from antechamber.connection import LONGEST_KNOWN

from .http_server import serving


async def tell(scope: Scope, receive: Receive, send: Send) -> None:
    """Return the request as it was received, and change what the scope has of it."""
    headers = scope["headers"]
    body = (await receive())["body"] if scope["method"] == "PUT" else b""
    told = repr((scope["method"], scope["path"], scope["query_string"], sorted(headers), body))
    headers.append((b"added", b"by the application"))
    scope["path"] = "/elsewhere"
    scope["state"]["seen"] = True
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": told.encode()})


def get(path: str = "/a?b=c", *more: str) -> bytes:
    return "\r\n".join((f"GET {path} HTTP/1.1", "host: a", *more, "", "")).encode()


@pytest.mark.parametrize("filler", ["", "x" * LONGEST_KNOWN], ids=["kept", "too long to be kept"])
async def test_repeated_head_is_the_same_request_each_time(filler: str) -> None:
    head = get("/a?b=c", f"filler: {filler}")
    async with serving(tell) as server, server.client() as client:
        first = await client.ask(head)
        assert b"'GET', '/a', b'b=c'" in first.body
        for _ in range(2):
            assert (await client.ask(head)).body == first.body
        other = await client.ask(get("/other"))
        assert b"'/other', b''" in other.body
        assert (await client.ask(head)).body == first.body


async def test_repeated_head_has_the_body_that_follows_it() -> None:
    head = b"PUT /a HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\n"
    async with serving(tell) as server, server.client() as client:
        for body in (b"one", b"two"):
            assert (await client.ask(head + body)).body.endswith(repr(body).encode() + b")")


async def test_requests_with_one_head_have_ids_of_their_own() -> None:
    async def name(scope: Scope, receive: Receive, send: Send) -> None:
        extension = extension_of(scope)
        assert extension is not None
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": extension.request_id.encode()})

    async with serving(name) as server, server.client() as client:
        ids = {(await client.ask(get())).body for _ in range(3)}
        assert len(ids) == 3
        given = get("/a?b=c", "x-request-id: one")
        assert {(await client.ask(given)).body for _ in range(2)} == {b"one"}


async def test_head_after_a_malformed_one_is_that_of_another_connection() -> None:
    async with serving(tell) as server:
        async with server.client() as client:
            assert (await client.ask(get())).status == 200
            assert (await client.ask(get("/a?b=c", "host: b"))).status == 400
        async with server.client() as client:
            assert (await client.ask(get())).status == 200
