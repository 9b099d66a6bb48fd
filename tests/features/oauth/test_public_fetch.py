"""Documents are fetched from public addresses only, and bounded."""

import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Any

import httpcore
import pytest
import trio
import trustme

from octavo.features.oauth.public_fetch import (
    MAX_BYTES,
    SECONDS,
    PublicBackend,
    fetch_from_internet,
    is_public,
)
from octavo.features.oauth.rules.refusal import OAuthRefusal


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
        ("127.255.255.254", False),
        ("192.0.0.170", False),
        ("192.0.2.1", False),
        ("198.18.0.1", False),
        ("203.0.113.1", False),
        ("240.0.0.1", False),
        ("::ffff:169.254.169.254", False),
        ("::ffff:100.64.0.1", False),
        ("::ffff:0:7f00:1", False),
        ("::ffff:1.1.1.1", True),
        ("::7f00:1", False),
        ("64:ff9b::101:101", False),
        ("2002:101:101::1", False),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", False),
        ("2001:db8::1", False),
        ("fe80::1%eth0", False),
        ("fec0::1", False),
        ("fd00:ec2::254", False),
    ],
)
def test_only_addresses_of_the_internet_are_public(address: str, public: bool) -> None:
    assert is_public(address) is public


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "0.0.0.0",
        "0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:a9fe:a9fe]",
        "169.254.169.254",
        "10.0.0.1",
    ],
)
async def test_nothing_of_this_machine_is_fetched(host: str) -> None:
    fetch = fetch_from_internet(PublicBackend())
    with pytest.raises(OAuthRefusal) as refused:
        await fetch(f"https://{host}/metadata.json")
    assert refused.value.code == "invalid_client"


PAUSE = 0.5
"""Seconds between two parts of a response, of a clock that jumps."""


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
                await trio.sleep(PAUSE)
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


async def test_response_has_at_most_32_kibibytes_with_its_head(
    served: Callable[..., object],
) -> None:
    # The length of the head is the same for both.
    body = b" " * (32_768 - len(response(b" " * 32_000)) + 32_000)
    assert len(response(body)) == 32_768
    assert await served(response(body)) == body  # type: ignore[misc]
    with pytest.raises(OAuthRefusal, match="exceeds 32768 bytes"):
        await served(response(body + b" "))  # type: ignore[misc]


async def test_server_that_never_responds_is_given_up(
    served: Callable[..., object], autojump_clock: trio.testing.MockClock
) -> None:
    began = trio.current_time()
    with pytest.raises(OAuthRefusal, match="can't be fetched"):
        await served()  # type: ignore[misc]
    assert trio.current_time() - began == 5


async def test_response_that_trickles_in_is_given_up(
    served: Callable[..., object], autojump_clock: trio.testing.MockClock
) -> None:
    began = trio.current_time()
    parts = [response(b"{}" + b" " * 1000)[at : at + 10] for at in range(0, 1000, 10)]
    with pytest.raises(OAuthRefusal, match="can't be fetched"):
        await served(*parts)  # type: ignore[misc]
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


class Names(trio.abc.HostnameResolver):
    """Resolves every name to the addresses of the next of some answers."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = [*answers]

    async def getaddrinfo(
        self,
        host: bytes | None,
        port: bytes | str | int | None,
        family: int = 0,
        type: int = 0,  # noqa: A002 - as in the standard library
        proto: int = 0,
        flags: int = 0,
    ) -> Any:  # noqa: ANN401 - as in trio
        await trio.lowlevel.checkpoint()
        return [(family, type, proto, "", (each, port)) for each in self._answers.pop(0)]

    async def getnameinfo(self, sockaddr: Any, flags: int) -> tuple[str, str]:  # noqa: ANN401
        raise AssertionError("nobody asks for names")


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that connections are made to; each of them fails."""
    made: list[str] = []

    async def connect(self: httpcore.TrioBackend, host: str, *_: object) -> object:
        made.append(host)
        raise httpcore.ConnectError("nobody is there")

    monkeypatch.setattr(httpcore.TrioBackend, "connect_tcp", connect)
    return made


@pytest.mark.parametrize(
    "addresses",
    [
        ["10.0.0.1"],
        ["169.254.169.254"],
        ["::1"],
        ["fe80::1%eth0"],
        ["::ffff:10.0.0.1"],
        ["1.1.1.1", "10.0.0.1"],
        ["1.1.1.1", "2606:4700::1111", "::1"],
        [],
    ],
)
async def test_name_of_a_private_address_is_never_connected_to(
    connections: list[str], addresses: list[str]
) -> None:
    trio.socket.set_custom_hostname_resolver(Names(addresses))
    with pytest.raises(OAuthRefusal) as refused:
        await fetch_from_internet(PublicBackend())("https://client.example/metadata.json")
    assert refused.value.code == "invalid_client"
    assert connections == []


async def test_connection_is_made_to_the_address_that_was_checked(connections: list[str]) -> None:
    # A second look-up would get another answer (DNS rebinding).
    trio.socket.set_custom_hostname_resolver(Names(["1.1.1.1"], ["127.0.0.1"]))
    with pytest.raises(OAuthRefusal):
        await fetch_from_internet(PublicBackend())("https://client.example/metadata.json")
    assert connections == ["1.1.1.1"]


async def test_name_with_one_private_address_is_refused() -> None:
    backend = PublicBackend(allowed=lambda address: address != "127.0.0.1")
    with pytest.raises(OAuthRefusal):
        await backend.connect_tcp("localhost", 1)
    assert isinstance(backend, httpcore.AsyncNetworkBackend)


async def test_failure_of_the_network_is_refused_without_its_text() -> None:
    class Failing(httpcore.AsyncNetworkBackend):
        async def connect_tcp(self, *arguments: Any, **named: Any) -> httpcore.AsyncNetworkStream:  # noqa: ANN401
            await trio.lowlevel.checkpoint()
            raise OSError(111, "secret of 10.0.0.1", "/srv/octavo")

    with pytest.raises(OAuthRefusal) as refused:
        await fetch_from_internet(Failing())("https://program.example/client.json")
    assert str(refused.value) == "The metadata document of the program can't be fetched."
