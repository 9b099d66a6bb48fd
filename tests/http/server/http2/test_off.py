"""HTTP/2 switched off, the default: only HTTP/1.1 is negotiated, and the preface is refused."""

import json

import pytest
import trio

from octavo.http.server.asgi import Receive, Scope, Send
from octavo.http.server.connection_handler import ServerOptions
from octavo.http.server.limits import Limits
from tests.fakes.http_server import QUICK, serving
from tests.http.server.conftest import Authority

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\0\0\0\4\0\0\0\0\0"


async def hello(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


def test_http2_is_off_by_default() -> None:
    assert not ServerOptions(now=lambda: 0.0, new_id=str, limits=Limits()).http2


@pytest.mark.parametrize("sent", [PREFACE, PREFACE + SETTINGS])
async def test_preface_is_refused_and_the_connection_closed(sent: bytes) -> None:
    async with serving(hello, QUICK, http2=False) as server, server.client() as client:
        response = await client.ask(sent)
        assert (response.status, response["connection"]) == (505, "close")
        problem = json.loads(response.body)
        assert problem["code"] == "http_version_not_supported"
        assert problem["detail"] == "Use HTTP/1.1: HTTP/2 is disabled."
        with trio.fail_after(5):
            assert await client.is_closed()
        assert [refused.code for refused in server.refused] == ["http_version_not_supported"]


async def test_tls_offers_only_http_1_1(authority: Authority) -> None:
    tls = authority.context("h2", "http/1.1")
    async with (
        serving(hello, QUICK, http2=False, certificate=authority.certificate, tls=tls) as server,
        server.client() as client,
    ):
        assert isinstance(client.stream, trio.SSLStream)
        response = await client.ask(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        assert client.stream.selected_alpn_protocol() == "http/1.1"
        assert (response.status, response.body) == (200, b"hello")
