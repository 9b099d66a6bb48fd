"""The network that a client address counts as, so that one client has one counter."""

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

_TRANSLATED = IPv6Network("64:ff9b::/96")
_SUBNET = "/64"


@lru_cache(maxsize=4096)
def network_prefix(client: str | None) -> str:
    """Return the network that the address ``client`` counts as.

    An IPv6 address counts as its /64, the smallest network of one subscriber (RFC 6177 section 2);
    otherwise a client could use each of its addresses for another attempt. An IPv4-mapped address
    counts as the IPv4 address, and so does one that was translated (64:ff9b::/96, RFC 6052). All
    clients without an address, as on a Unix socket, count as one.
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
    if address in _TRANSLATED:
        return str(IPv4Address(int(address) & 0xFFFF_FFFF))
    return f"{IPv6Address(int(address) >> 64 << 64)}{_SUBNET}"


@lru_cache(maxsize=4096)
def site_prefix(network: str) -> str:
    """Return the site that a `network_prefix` belongs to: the /48 of a /64, otherwise itself.

    A subscriber may have all networks of a site (RFC 6177 section 2).
    """
    if not network.endswith(_SUBNET):
        return network
    address = int(IPv6Address(network.removesuffix(_SUBNET)))
    return f"{IPv6Address(address >> 80 << 80)}/48"
