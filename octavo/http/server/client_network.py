"""The network that a client address is counted under: one client, however many addresses it has."""

from ipaddress import IPv6Address, ip_address


def client_network(client: str | None) -> str:
    """Return the network that the address ``client`` is counted under.

    An IPv6 address counts as its /64, the least that one subscriber gets (RFC 6177 section 2): a
    client could otherwise try once from each of its addresses. An IPv4-mapped address counts as
    the IPv4 address. Clients without an address, as on a Unix socket, count as one.
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
