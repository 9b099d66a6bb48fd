"""Who is at the other end of a connection."""

from dataclasses import dataclass

from octavo.http.wire.scope import Address


@dataclass(frozen=True, slots=True)
class Peer:
    """Who is at the other end of a connection, and how it came.

    ``client`` and ``server`` are addresses with ports, None on a Unix socket; ``trusted`` says
    that the peer is a proxy whose word on its own clients counts.
    """

    client: Address | None
    server: Address | None
    scheme: str
    trusted: bool
