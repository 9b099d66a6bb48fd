"""Limits on open connections, in total and per client."""

from collections.abc import Sequence
from enum import Enum
from ipaddress import IPv4Address

from antechamber.proxies import Network, is_within, read_address


class AdmissionDenied(Enum):
    """Why a connection is not admitted."""

    TOTAL = "total"
    """The process has its maximum number of connections."""
    PER_CLIENT = "per_client"
    """The client has its maximum number of connections."""


class ConnectionAdmission:
    """Counts open connections and keeps no state of clients without one.

    A client is an IPv4 address, or the /64 network of an IPv6 address, the smallest that a
    subscriber gets (RFC 6177). Addresses in ``exempt``, such as proxies that carry many clients,
    count only towards the total; so do peers without an IP address, on a Unix socket.

    Args:
        total: maximum number of open connections.
        per_client: maximum number of open connections of one client.
        exempt: networks that the limit per client does not apply to.
    """

    def __init__(self, total: int, per_client: int, exempt: Sequence[Network] = ()) -> None:
        self._total = total
        self._per_client = per_client
        self._exempt = exempt
        self._open = 0
        self._counts: dict[IPv4Address | int | None, int] = {}

    @property
    def open(self) -> int:
        """The number of open connections."""
        return self._open

    def admit(self, address: str | None) -> AdmissionDenied | None:
        """Count a new connection from ``address``; return None when it is admitted.

        A connection that is not admitted is not counted and must not be released.
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
        """Count an admitted connection from ``address`` as closed.

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
