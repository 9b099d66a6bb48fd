"""Fetch documents from addresses that strangers give, guarded against misuse.

A request must not reach what only this machine can reach (server-side request forgery): each
connection is made to an address that was looked up and checked here, and must be a public one.
Redirects are not followed. Size and time are bounded.
"""

import ssl
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Any

import httpcore
import trio

from octavo.features.oauth.clients import Fetch
from octavo.features.oauth.rules.refusal import InvalidClient

SECONDS = 5.0
"""Seconds for the whole request, from the look-up of the name on."""
MAX_BYTES = 32_768
"""Bytes of a response, with its head."""
_HEADERS: Mapping[bytes | str, bytes | str] = {
    "accept": "application/json",
    "accept-encoding": "identity",
    "user-agent": "Octavo",
}
# Addresses that contain an IPv4 address, which a gateway of the network may lead to: NAT64
# (RFC 6052, RFC 8215), 6to4 (RFC 3056) and Teredo (RFC 4380).
_TRANSLATED = tuple(map(IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32")))


def is_public(address: str) -> bool:
    """Return whether an IP address belongs to the public internet."""
    ip = ip_address(address)
    if isinstance(ip, IPv6Address):
        ip = ip.ipv4_mapped or ip
    if isinstance(ip, IPv6Address) and (
        ip.is_site_local or any(ip in network for network in _TRANSLATED)
    ):
        return False
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


class PublicBackend(httpcore.AsyncNetworkBackend):
    """Connects to public addresses only.

    Args:
        allowed: returns whether a connection may be made to an IP address.
    """

    def __init__(self, allowed: Callable[[str], bool] = is_public) -> None:
        self._allowed = allowed
        self._backend = httpcore.TrioBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address of ``host`` that is allowed.

        Raises `OAuthRefusal` if any of its addresses is not: no program on the internet has such a
        name.
        """
        resolved = await trio.socket.getaddrinfo(host, port, type=trio.socket.SOCK_STREAM)
        addresses = [str(item[4][0]) for item in resolved]
        if not addresses or not all(self._allowed(address) for address in addresses):
            raise InvalidClient("The metadata document of the program is not on the internet.")
        return _BoundedStream(
            await self._backend.connect_tcp(
                addresses[0], port, timeout, local_address, socket_options
            )
        )


class _BoundedStream(httpcore.AsyncNetworkStream):
    """A connection that fails once more than `MAX_BYTES` were read."""

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self._left = MAX_BYTES

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = await self._stream.read(min(max_bytes, self._left + 1), timeout)
        self._left -= len(data)
        if self._left < 0:
            raise InvalidClient(f"The metadata document exceeds {MAX_BYTES} bytes.")
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.AsyncNetworkStream:
        return _BoundedStream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)


def fetch_from_internet(
    backend: httpcore.AsyncNetworkBackend, tls: ssl.SSLContext | None = None
) -> Fetch:
    """Return a function that fetches documents through ``backend``."""
    context = tls or ssl.create_default_context()

    async def fetch(address: str) -> bytes:
        try:
            with trio.fail_after(SECONDS):
                async with httpcore.AsyncConnectionPool(context, network_backend=backend) as pool:
                    return _content(await pool.request("GET", address, headers=_HEADERS))
        except (
            trio.TooSlowError,
            OSError,
            httpcore.NetworkError,
            httpcore.ProtocolError,
            httpcore.TimeoutException,
        ) as error:
            raise InvalidClient("The metadata document of the program can't be fetched.") from error

    return fetch


def _content(response: httpcore.Response) -> bytes:
    kinds = [value for name, value in response.headers if name.lower() == b"content-type"]
    is_json = any(b"json" in kind.partition(b";")[0].lower() for kind in kinds)
    if response.status != HTTPStatus.OK or not is_json:
        raise InvalidClient("There is no metadata document at the address of the program.")
    return response.content
