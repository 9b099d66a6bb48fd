"""Behind proxies, over real sockets: the client's identity for the application and the limits."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest
from antechamber.asgi import Receive, Scope, Send
from antechamber.proxies import ForwardedHeader, Network, parse_networks

from .conftest import Authority
from .http_server import QUICK, respond, routed, serving
from .test_error_boundary import UPGRADE

CLIENT = "203.0.113.7"
TRUSTED = parse_networks("127.0.0.0/8")
STRANGERS = parse_networks("10.0.0.0/8")
WELL = b"GET /well HTTP/1.1\r\nhost: a\r\n\r\n"


async def who(scope: Scope, receive: Receive, send: Send) -> None:
    """Return the client and scheme of the scope, and whether the port is the peer's own."""
    address, port = scope["client"]
    await respond(send, f"{scope['scheme']} {address} {'unknown' if port == 0 else 'own'}".encode())


async def who_asks_for_a_socket(scope: Scope, receive: Receive, send: Send) -> None:
    body = f"{scope['scheme']} {scope['client'][0]}".encode()
    await send({"type": "websocket.http.response.start", "status": 403, "headers": []})
    await send({"type": "websocket.http.response.body", "body": body})


APPLICATION = routed({"/who": who, "/ws": who_asks_for_a_socket})

X_FORWARDED = f"x-forwarded-for: {CLIENT}\r\nx-forwarded-proto: https\r\n"
FORWARDED = f"forwarded: for={CLIENT};proto=https\r\n"
TOLD = f"https {CLIENT} unknown"
KEPT = "http 127.0.0.1 own"


@pytest.mark.parametrize(
    ("kind", "headers", "reported"),
    [
        ("x-forwarded", X_FORWARDED, TOLD),
        ("forwarded", FORWARDED, TOLD),
        ("x-forwarded", FORWARDED, KEPT),
        ("forwarded", X_FORWARDED, KEPT),
        ("x-forwarded", "", KEPT),
        ("forwarded", "", KEPT),
        ("x-forwarded", f"X-Forwarded-For: 1.1.1.1\r\nx-forwarded-for: {CLIENT}, 127.0.0.9\r\n",
         f"http {CLIENT} unknown"),
        ("forwarded", f"Forwarded: for=1.1.1.1\r\nforwarded: for={CLIENT}, for=127.0.0.9\r\n",
         f"http {CLIENT} unknown"),
        ("x-forwarded", "x-forwarded-for: nobody\r\nx-forwarded-proto: https\r\n", KEPT),
        ("forwarded", "forwarded: for=nobody;proto=https\r\n", KEPT),
    ],
)  # fmt: skip
async def test_trusted_proxy_names_client_and_scheme(
    kind: ForwardedHeader, headers: str, reported: str
) -> None:
    async with (
        serving(APPLICATION, trusted_proxies=TRUSTED, proxy_header=kind) as server,
        server.client() as client,
    ):
        found = await client.ask(f"GET /who HTTP/1.1\r\nhost: a\r\n{headers}\r\n".encode())
        assert found.body.decode() == reported
        # What one request reports applies to it alone: a proxy carries many clients.
        found = await client.ask(b"GET /who HTTP/1.1\r\nhost: a\r\n\r\n")
        assert found.body.decode() == KEPT


@pytest.mark.parametrize("trusted", [(), STRANGERS], ids=["nobody", "others"])
@pytest.mark.parametrize("kind", ["x-forwarded", "forwarded"])
async def test_untrusted_peer_changes_nothing(
    kind: ForwardedHeader, trusted: Sequence[Network]
) -> None:
    headers = X_FORWARDED + FORWARDED
    async with (
        serving(APPLICATION, trusted_proxies=trusted, proxy_header=kind) as server,
        server.client() as client,
    ):
        found = await client.ask(f"GET /who HTTP/1.1\r\nhost: a\r\n{headers}\r\n".encode())
        assert found.body.decode() == KEPT


@pytest.mark.parametrize(
    ("kind", "header"), [("x-forwarded", X_FORWARDED), ("forwarded", FORWARDED)]
)
@pytest.mark.parametrize(
    ("trusted", "reported"),
    [(TRUSTED, f"wss {CLIENT}"), (STRANGERS, "ws 127.0.0.1")],
    ids=["", "not"],
)
async def test_websocket_handshake_is_attributed_like_a_request(
    kind: ForwardedHeader, header: str, trusted: Sequence[Network], reported: str
) -> None:
    request = UPGRADE.replace(b"host:", header.encode() + b"host:")
    async with (
        serving(APPLICATION, trusted_proxies=trusted, proxy_header=kind) as server,
        server.client() as client,
    ):
        assert (await client.ask(request)).body.decode() == reported


@pytest.mark.parametrize(
    ("trusted", "reported"),
    [(TRUSTED, f"http {CLIENT} unknown"), (STRANGERS, "https 127.0.0.1 own")],
    ids=["", "not"],
)
async def test_tls_terminated_by_a_trusted_proxy_gives_the_scheme_of_its_client(
    trusted: Sequence[Network], reported: str, authority: Authority
) -> None:
    plain = f"GET /who HTTP/1.1\r\nhost: a\r\nforwarded: for={CLIENT};proto=http\r\n\r\n"
    async with (
        serving(
            APPLICATION,
            certificate=authority.certificate,
            tls=authority.context(),
            trusted_proxies=trusted,
            proxy_header="forwarded",
        ) as server,
        server.client() as client,
    ):
        assert (await client.ask(plain.encode())).body.decode() == reported


@pytest.mark.parametrize(
    ("trusted", "expected"),
    [
        (TRUSTED, [200, 200, 200, 200, 503]),
        (STRANGERS, [200, 200, 503, 503, 503]),
        ((), [200, 200, 503, 503, 503]),
    ],
    ids=["trusted", "others", "nobody"],
)
async def test_limit_per_client_does_not_apply_to_a_proxy_but_the_total_does(
    trusted: Sequence[Network], expected: list[int]
) -> None:
    limits = replace(QUICK, connections=4, connections_per_client=2)
    found = []
    async with (
        serving(APPLICATION, limits, trusted_proxies=trusted) as server,
        AsyncExitStack() as stack,
    ):
        for _ in expected:
            client = await stack.enter_async_context(server.client())
            found.append((await client.ask(WELL)).status)
    assert found == expected
