"""The deadlines and limits of connections, and the open-file limit that they require."""

import resource
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(kw_only=True)
class ServerUsage:
    """The counts of a server; 0 until it serves."""

    most_connections: int = 0
    """Those that fit into the files that the process may open."""
    connections: Callable[[], int] = lambda: 0
    """Returns the number of open connections."""
    requests_per_round: Callable[[], int] = lambda: 0
    """Returns the number of requests that an address may begin in a round of the event loop now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits per client; times in seconds, sizes in bytes.

    Deadlines are checked every ``tick``, so they may be exceeded by up to two ticks.
    """

    header_timeout: float = 10.0
    """From the first to the last byte of a request head; also for a TLS handshake."""
    head_size: int = 16 * 1024
    """Of a request head, from the request line to the final empty line."""
    header_count: int = 100
    """Header fields of a request, and trailer fields of a body."""
    target_length: int = 8 * 1024
    """Of the request target: path and query."""
    body_timeout: float = 20.0
    """Without a byte of a body that the application waits for."""
    request_timeout: float = 60.0
    """From the request head to the last byte of the response. An operation may have its own limit.
    """
    idle_timeout: float = 75.0
    """Between two requests of a connection."""
    write_timeout: float = 20.0
    """For the client to receive a write of at most `WRITE_SIZE` bytes."""
    connections: int = 10_000
    """Open connections, in total."""
    connections_per_client: int = 256
    """Open connections per client address (for IPv6 per /64 network)."""
    requests_per_round_per_client: int = 64
    """Requests, frames of WebSockets and TLS handshakes per client address that begin
    in one round of the event loop; fewer while its rounds are long.
    """
    requests_per_connection: int = 10_000
    """Requests on one connection; the last response announces the close."""
    drain_size: int = 64 * 1024
    """Of an unread body, discarded to keep the connection open."""
    linger_timeout: float = 2.0
    """For bytes in transit when a connection closes: a reset would discard the response."""
    half_close_timeout: float = 1.0
    """For the handler to finish after the client shut down its sending side, which may be a
    disconnect.
    """
    tick: float = 0.25
    """Between two checks of all deadlines."""


READ_SIZE = 64 * 1024
"""Maximum size of a read from a socket."""
WRITE_SIZE = 64 * 1024
"""Maximum size of a write to a socket."""
BACKLOG = 1024
"""Length of the queue of connections to be accepted."""


# For listeners, the store, logs, and connections that are rejected with a 503.
RESERVE = 256


def raise_file_limit(connections: int) -> int:
    """Raise the open-file limit of this process for ``connections``, as far as permitted.

    Returns the number of connections that fit. Never lowers the limit.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + RESERVE
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return connections
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if limit > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return min(connections, max(limit - RESERVE, limit // 2))
