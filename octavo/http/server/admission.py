"""How many connections may be open: in all, and from one client."""

from collections.abc import Sequence
from enum import Enum
from ipaddress import IPv4Address

from octavo.http.server.proxies import Network, is_within, read_address


class AdmissionDenied(Enum):
    """Why a connection is not let in."""

    TOTAL = "total"
    """As many are open as this process takes."""
    PER_CLIENT = "per_client"
    """As many are open as one client gets."""


class ConnectionAdmission:
    """Counts open connections; remembers nothing of clients that have none.

    A client is an IPv4 address, or the /64 of an IPv6 address, since a whole /64 is what one
    subscriber gets (RFC 6177). Proxies carry many clients, so those in ``exempt`` count in all
    alone; so does a peer without an IP address, on a Unix socket.

    Args:
        total: how many connections may be open at once.
        per_client: how many of them may be one client's.
        exempt: whose connections are not counted for each client.
    """

    def __init__(self, total: int, per_client: int, exempt: Sequence[Network] = ()) -> None:
        self._total = total
        self._per_client = per_client
        self._exempt = exempt
        self._open = 0
        self._counts: dict[IPv4Address | int | None, int] = {}

    @property
    def open(self) -> int:
        """How many connections are open."""
        return self._open

    def admit(self, address: str | None) -> AdmissionDenied | None:
        """Count a new connection from ``address``; None means that it is let in.

        One that is refused is not counted and must not be released.
        """
        if self._open >= self._total:
            return AdmissionDenied.TOTAL
        client = self._client(address)
        mine = self._counts.get(client, 0)
        if client is not None and mine >= self._per_client:
            return AdmissionDenied.PER_CLIENT
        self._counts[client] = mine + 1
        self._open += 1
        return None

    def release(self, address: str | None) -> None:
        """Count a connection that was let in from ``address`` as closed.

        Raises `ValueError`, and changes nothing, if there is no such connection.
        """
        client = self._client(address)
        mine = self._counts.pop(client, 0)
        if mine == 0:
            raise ValueError(f"no connection from {address} is open")
        if mine > 1:
            self._counts[client] = mine - 1
        self._open -= 1

    def _client(self, address: str | None) -> IPv4Address | int | None:
        known = None if address is None else read_address(address)
        if known is None or is_within(known, self._exempt):
            return None
        return known if isinstance(known, IPv4Address) else int(known) >> 64
