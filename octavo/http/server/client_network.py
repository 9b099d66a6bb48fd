"""The network that a client address counts as, so that one client has one counter."""

from functools import lru_cache
from ipaddress import IPv6Address, ip_address


@lru_cache(maxsize=4096)
def client_network(client: str | None) -> str:
    """Return the network that the address ``client`` counts as.

    An IPv6 address counts as its /64, the smallest network of one subscriber (RFC 6177 section 2);
    otherwise a client could use each of its addresses for another attempt. An IPv4-mapped address
    counts as the IPv4 address. All clients without an address, as on a Unix socket, count as one.
    """
    if client is None:
        return ""
    try:
        address = ip_address(client.partition("%")[0])
    except ValueError:
        return client
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return f"{IPv6Address(int(address) >> 64 << 64)}/64"
