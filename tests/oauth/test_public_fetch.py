"""Documents are fetched from public addresses only, and bounded."""

import ssl
from collections.abc import AsyncIterator, Callable
from functools import partial

import httpcore
import pytest
import trio
import trustme

from octavo.model.oauth.refusal import OAuthRefusal
from octavo.oauth.public_fetch import (
    MAX_BYTES,
    SECONDS,
    PublicBackend,
    fetch_from_internet,
    is_public,
)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("1.1.1.1", True),
        ("2606:4700::1111", True),
        ("127.0.0.1", False),
        ("10.0.0.1", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::1", False),
        ("::", False),
        ("fe80::1", False),
        ("fc00::1", False),
        ("ff02::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:10.0.0.1", False),
        ("2002:7f00:1::", False),
        ("64:ff9b::7f00:1", False),
        ("64:ff9b:1::1", False),
    ],
)
def test_only_addresses_of_the_internet_are_public(address: str, public: bool) -> None:
    assert is_public(address) is public


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "0.0.0.0", "2130706433"])
async def test_nothing_of_this_machine_is_fetched(host: str) -> None:
    fetch = fetch_from_internet(PublicBackend())
    with pytest.raises(OAuthRefusal) as refused:
        await fetch(f"https://{host}/metadata.json")
    assert refused.value.code == "invalid_client"


Respond = Callable[[trio.SSLStream[trio.SocketStream]], object]


@pytest.fixture
async def served() -> AsyncIterator[Callable[[bytes], object]]:
    """Serve one response to each connection; return a function that fetches."""
    authority = trustme.CA()
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(tls)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    responses: list[bytes] = []

    async def respond(stream: trio.SocketStream) -> None:
        secure = trio.SSLStream(stream, tls, server_side=True, https_compatible=True)
        try:
            await secure.receive_some()
            for each in responses:
                await secure.send_all(each)
            if not responses:
                await trio.sleep_forever()
            await secure.aclose()
        except (trio.BrokenResourceError, trio.ClosedResourceError, ssl.SSLError):
            pass

    async with trio.open_nursery() as nursery:
        [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(partial(trio.serve_listeners, respond, [listener]))
        port = listener.socket.getsockname()[1]
        fetch = fetch_from_internet(PublicBackend(allowed=lambda _: True), trusting)

        async def ask(*given: bytes) -> bytes:
            responses[:] = given
            return await fetch(f"https://localhost:{port}/metadata.json")

        yield ask
        nursery.cancel_scope.cancel()


def response(body: bytes, status: bytes = b"200 OK", more: bytes = b"") -> bytes:
    head = b"HTTP/1.1 %s\r\ncontent-type: application/json\r\n%s" % (status, more)
    return head + b"content-length: %d\r\n\r\n%s" % (len(body), body)


async def test_document_is_fetched_over_tls(served: Callable[..., object]) -> None:
    assert await served(response(b'{"a": 1}')) == b'{"a": 1}'  # type: ignore[misc]


@pytest.mark.parametrize(
    "answer",
    [
        response(b"{}", b"404 Not Found"),
        response(b"", b"302 Found", b"location: https://127.0.0.1/\r\n"),
        b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\n{}",
        response(b" " * (MAX_BYTES + 1)),
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n" + b" " * (2 * MAX_BYTES),
        b"no HTTP at all\r\n\r\n",
    ],
    ids=["missing", "redirect", "page", "long", "endless", "garbage"],
)
async def test_anything_but_a_short_document_is_refused(
    served: Callable[..., object], answer: bytes
) -> None:
    with pytest.raises(OAuthRefusal):
        await served(answer)  # type: ignore[misc]


async def test_server_that_never_responds_is_given_up(
    served: Callable[..., object], autojump_clock: trio.testing.MockClock
) -> None:
    began = trio.current_time()
    with pytest.raises(OAuthRefusal, match="can't be fetched"):
        await served()  # type: ignore[misc]
    assert trio.current_time() - began <= SECONDS + 1


async def test_certificate_must_be_valid() -> None:
    authority = trustme.CA()
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(tls)

    async def respond(stream: trio.SocketStream) -> None:
        with pytest.raises((ssl.SSLError, trio.BrokenResourceError)):
            await trio.SSLStream(stream, tls, server_side=True).do_handshake()

    async with trio.open_nursery() as nursery:
        [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(partial(trio.serve_listeners, respond, [listener]))
        port = listener.socket.getsockname()[1]
        fetch = fetch_from_internet(PublicBackend(allowed=lambda _: True))
        with pytest.raises(OAuthRefusal):
            await fetch(f"https://localhost:{port}/metadata.json")
        nursery.cancel_scope.cancel()


async def test_name_with_one_private_address_is_refused() -> None:
    backend = PublicBackend(allowed=lambda address: address != "127.0.0.1")
    with pytest.raises(OAuthRefusal):
        await backend.connect_tcp("localhost", 1)
    assert isinstance(backend, httpcore.AsyncNetworkBackend)
