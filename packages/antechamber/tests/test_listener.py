"""The listening socket, and the messages when it can't be opened."""

import errno
import socket
from dataclasses import replace

import pytest
import trio
from antechamber.asgi import Receive, Scope, Send
from antechamber.listener import ListenError, open_listener

from .conftest import Authority
from .http_server import QUICK, Client, respond, routed, serving
from .test_error_boundary import UPGRADE, refuse_socket


async def test_open_listener_port_zero_takes_a_free_one() -> None:
    with await open_listener("127.0.0.1", 0) as listener:
        host, port = listener.getsockname()
        assert (host, listener.getblocking()) == ("127.0.0.1", False)
        socket.create_connection((host, port)).close()


async def test_open_listener_port_in_use_is_named_with_a_remedy() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(
            ListenError, match=rf"port {port} of 127\.0\.0\.1 is in use.*another port"
        ):
            await open_listener("127.0.0.1", port)


async def test_open_listener_foreign_address_is_refused() -> None:
    # RFC 5737 reserves 192.0.2.0/24 for documentation: no machine has such an address.
    with pytest.raises(ListenError, match=r"does not have the address 192\.0\.2\.1"):
        await open_listener("192.0.2.1", 0)


@pytest.mark.parametrize(
    ("number", "says"),
    [(errno.EACCES, "may not listen on port 80"), (errno.ENOBUFS, "No buffer space")],
)
async def test_open_listener_other_failures_have_a_reason(
    number: int, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Refusing(socket.socket):
        def bind(self, address: object) -> None:
            raise OSError(number, "No buffer space available")

    monkeypatch.setattr(socket, "socket", Refusing)
    with pytest.raises(ListenError, match=says):
        await open_listener("127.0.0.1", 80)


GET = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"


async def scheme(scope: Scope, receive: Receive, send: Send) -> None:
    await respond(send, scope["scheme"].encode())


async def endless(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while True:
        await send({"type": "http.response.body", "body": bytes(65536), "more_body": True})


APPLICATION = routed({"/scheme": scheme, "/endless": endless, "/ws": refuse_socket})


async def test_requests_get_responses_in_order_under_tls(authority: Authority) -> None:
    async with (
        serving(APPLICATION, certificate=authority.certificate, tls=authority.context()) as server,
        server.client() as client,
    ):
        await client.send(b"GET /scheme HTTP/1.1\r\nhost: a\r\n\r\n" + GET)
        assert (await client.read_response()).body == b"https"
        assert (await client.read_response()).body == b"GET / "


async def test_tls_offers_only_http_1_1(authority: Authority) -> None:
    tls = authority.context()
    tls.set_alpn_protocols(["h2", "http/1.1"])
    async with (
        serving(APPLICATION, certificate=authority.certificate, tls=tls) as server,
        server.client() as client,
    ):
        assert isinstance(client.stream, trio.SSLStream)
        assert (await client.ask(GET)).body == b"GET / "
        assert client.stream.selected_alpn_protocol() == "http/1.1"


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: a\r\n", 408),
        (b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nhello", 408),
        (UPGRADE + b"x", 404),
    ],
)
async def test_refusal_arrives_under_tls(authority: Authority, data: bytes, status: int) -> None:
    async with serving(
        APPLICATION, certificate=authority.certificate, tls=authority.context()
    ) as server:
        async with server.client() as client:
            assert (await client.ask(data)).status == status
            assert await client.is_closed()
        assert await server.is_well()


@pytest.mark.parametrize("data", [GET, b"\x16\x03\x01", b"", bytes(1000)])
async def test_client_without_tls_is_disconnected(authority: Authority, data: bytes) -> None:
    async with serving(
        APPLICATION, certificate=authority.certificate, tls=authority.context()
    ) as server:
        with trio.fail_after(5):
            async with await trio.open_tcp_stream("127.0.0.1", server.port) as stream:
                await stream.send_all(data)
                # Nothing but a TLS alert precedes the end.
                assert len(await Client(stream).rest()) < 100
        assert await server.is_well()


async def test_stalled_reader_under_tls_does_not_block_shutdown(authority: Authority) -> None:
    limits = replace(QUICK, write_timeout=60)
    async with (
        serving(
            APPLICATION,
            limits,
            shutdown_timeout=0.5,
            certificate=authority.certificate,
            tls=authority.context(),
        ) as server,
        server.client() as client,
    ):
        await client.send(b"GET /endless HTTP/1.1\r\nhost: a\r\n\r\n")
        await client.stream.receive_some(1)
        assert await server.is_well()
        server.shutdown.set()
        with trio.fail_after(2):
            await server.ended.wait()


async def test_handler_is_cancelled_when_its_client_disconnects_under_tls(
    authority: Authority,
) -> None:
    started, cancelled = trio.Event(), trio.Event()

    async def waiting(scope: Scope, receive: Receive, send: Send) -> None:
        started.set()
        try:
            await trio.sleep_forever()
        finally:
            cancelled.set()

    async with serving(
        routed({"/waiting": waiting}), certificate=authority.certificate, tls=authority.context()
    ) as server:
        async with server.client() as client:
            await client.send(b"GET /waiting HTTP/1.1\r\nhost: a\r\n\r\n")
            await started.wait()
        with trio.fail_after(3):
            await cancelled.wait()
