"""Determine the client's address and scheme from headers of trusted proxies.

A proxy appends the address and scheme of its peer to a header, so the header is read from the
right, where the nearest proxy wrote. An entry counts only if its writer is trusted: the peer of the
connection wrote the last entry, the address in the last entry wrote the one before it, and so on.
The first address that is not a trusted proxy is the client. Entries to the left of it come from the
client and are not read, not even to check their syntax. A client can therefore not influence the
result, not even with an unclosed quote.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from socket import AF_INET, inet_pton
from typing import Literal, NamedTuple

from antechamber.asgi import SocketAddress


@dataclass(frozen=True, slots=True)
class Peer:
    """The other end of a connection.

    ``client`` and ``server`` are addresses with ports, None on a Unix socket; ``trusted`` is
    whether the peer is a trusted proxy.
    """

    client: SocketAddress | None
    server: SocketAddress | None
    scheme: str
    trusted: bool


Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
ForwardedHeader = Literal["x-forwarded", "forwarded"]

_SCHEMES = {"http": "http", "https": "https", "ws": "http", "wss": "https"}
_MAPPED = IPv6Network("::ffff:0:0/96")

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_QUOTED = r'"(?:[\t !#-\[\]-~\x80-\xff]|\\[\t !-~\x80-\xff])*"'
_PAIR = re.compile(rf"[ \t]*({_TOKEN})=({_TOKEN}|{_QUOTED})[ \t]*(?:;|\Z)|[ \t]*(?:;|\Z)")
_NODE = re.compile(r"(\[[^][]+\]|[0-9.]+)(?::(?:[0-9]{1,5}|_[A-Za-z0-9._-]+))?")
_HIDDEN = re.compile(
    r"(?:unknown|_[A-Za-z0-9._-]+)(?::(?:[0-9]{1,5}|_[A-Za-z0-9._-]+))?", re.IGNORECASE
)


class _Malformed(ValueError):
    """An entry that violates the grammar of its header."""


MOST_BYTES = 2048
"""Bytes of a list of proxies; of a longer one, the end counts."""


class _Hop(NamedTuple):
    """An entry of one proxy: its caller's address (None if hidden), and the scheme."""

    caller: Address | None
    scheme: str | None


def client_of(
    peer: str,
    scheme: str,
    headers: Iterable[tuple[bytes, bytes]],
    *,
    trusted: Sequence[Network],
    header: ForwardedHeader,
) -> tuple[str, str]:
    """Return the client's address and scheme (``http`` or ``https``).

    Args:
        peer: the address of the peer of the connection.
        scheme: the scheme of the connection itself.
        headers: the headers of the request, names in lower case.
        trusted: the networks of the trusted proxies.
        header: the header that the proxies write. The other one, which they may pass on from the
            client, is ignored.

    The address is the rightmost one that is not a trusted proxy; if all are, the leftmost. A proxy
    that hides its caller (``unknown`` or an obfuscated identifier, RFC 7239 section 6), or omits
    it, counts as the client. With ``forwarded``, the scheme is that of the outermost trusted proxy
    that gives one. The entries of ``x-forwarded-proto`` do not identify their writers, so only the
    last one counts: trusted proxies must set or extend that header.

    If an entry that counts is malformed, returns ``peer`` and ``scheme``, as for a peer that is not
    trusted. Raises nothing.
    """
    if not is_within(peer, trusted):
        return peer, scheme
    try:
        if header == "forwarded":
            hops = _forwarded_hops(_joined(headers, b"forwarded"))
            return _outermost(peer, scheme, hops, trusted)
        fields = list(headers)
        hops = _x_forwarded_hops(_joined(fields, b"x-forwarded-for"))
        protocol = _joined(fields, b"x-forwarded-proto").rpartition(",")[2].strip(" \t").lower()
        return _outermost(peer, _SCHEMES.get(protocol, scheme), hops, trusted)
    except _Malformed:
        return peer, scheme


def parse_networks(text: str) -> tuple[Network, ...]:
    """Parse addresses and networks separated by commas; return an empty tuple for blank text.

    Raises `ValueError` with a message for operators.
    """
    if not text.strip():
        return ()
    return tuple(_network(part.strip()) for part in text.split(","))


def read_address(text: str) -> Address | None:
    """Parse an IP address, an IPv4-mapped one as IPv4; return None if invalid."""
    try:
        # Three times as fast as `ip_address`, and called for every request.
        return IPv4Address(inet_pton(AF_INET, text))
    except (OSError, ValueError):
        return _read_other_address(text)


def is_within(address: str | Address, networks: Sequence[Network]) -> bool:
    """Return whether ``address`` is in one of ``networks``; False for invalid addresses."""
    if not networks:
        return False
    known = read_address(address) if isinstance(address, str) else address
    if known is not None:
        for network in networks:
            if known in network:
                return True
    return False


def _read_other_address(text: str) -> Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _outermost(
    peer: str, scheme: str, hops: Iterator[_Hop], trusted: Sequence[Network]
) -> tuple[str, str]:
    for hop in hops:
        scheme = hop.scheme or scheme
        if hop.caller is None:
            break
        peer = str(hop.caller)
        if not is_within(hop.caller, trusted):
            break
    return peer, scheme


def _joined(headers: Iterable[tuple[bytes, bytes]], wanted: bytes) -> str:
    """Return the values of all fields ``wanted`` as one list (RFC 9110 section 5.3).

    Of a long list it returns the last entries: those of the nearest proxies.
    """
    joined = ",".join([value.decode("latin-1") for name, value in headers if name == wanted])
    return joined if len(joined) <= MOST_BYTES else joined[-MOST_BYTES:].partition(",")[2]


def _x_forwarded_hops(value: str) -> Iterator[_Hop]:
    while value:
        value, _, entry = value.rpartition(",")
        entry = entry.strip(" \t")
        if entry:
            yield _Hop(_caller(entry), None)


def _forwarded_hops(value: str) -> Iterator[_Hop]:
    """Yield the elements of ``forwarded`` (RFC 7239 section 4) from the right.

    Read from its right end, a quoted string begins at the next quote without a backslash before it,
    since within the string each quote is escaped. So a well-formed element is recognised whatever
    precedes it.
    """
    end = mark = len(value)
    quoted = False
    while (mark := max(value.rfind(",", 0, mark), value.rfind('"', 0, mark))) >= 0:
        if value[mark] == '"':
            quoted = not quoted or value[mark - 1 : mark] == "\\"
        elif not quoted:
            yield from _element(value[mark + 1 : end])
            end = mark
    yield from _element(value[:end])


def _element(text: str) -> Iterator[_Hop]:
    """Yield the hop of an element, nothing if it is empty."""
    pairs: dict[str, str] = {}
    place = 0
    while place < len(text):
        pair = _PAIR.match(text, place)
        if pair is None:
            raise _Malformed
        place = pair.end()
        name, value = pair.groups()
        if name is None:
            continue
        if name.lower() in pairs:
            raise _Malformed
        pairs[name.lower()] = re.sub(r"\\(.)", r"\1", value[1:-1]) if value[0] == '"' else value
    if pairs:
        node = pairs.get("for")
        caller = None if node is None else _caller(node)
        yield _Hop(caller, _SCHEMES.get(pairs.get("proto", "").lower()))


def _caller(node: str) -> Address | None:
    """Parse a node (RFC 7239 section 6) or a bare IPv6 address; return None if it is hidden."""
    if _HIDDEN.fullmatch(node):
        return None
    parts = _NODE.fullmatch(node)
    host = node if parts is None else parts[1]
    bracketed = host.startswith("[") and host.endswith("]")
    address = read_address(host[1:-1] if bracketed else host)
    # A zone has a meaning only on the proxy's own machine.
    if address is None or "%" in host or (bracketed and ":" not in host):
        raise _Malformed
    return address


def _network(text: str) -> Network:
    try:
        network = ip_network(text)
    except ValueError:
        try:
            suggestion = ip_network(text, strict=False)
        except ValueError:
            raise ValueError(
                f"{text!r} is neither an IP address nor a network such as 10.0.0.0/8"
            ) from None
        raise ValueError(f"{text!r} is an address within a network: write {suggestion}") from None
    if isinstance(network, IPv6Network) and network.subnet_of(_MAPPED):
        return IPv4Network((int(network.network_address) & 0xFFFFFFFF, network.prefixlen - 96))
    return network
