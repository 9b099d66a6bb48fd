"""The deadlines and bounds of the wire, which every client is held to.

Room for as many connections as are to be let in: each takes an open file.
"""

import resource
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one client may take; times in seconds, sizes in bytes.

    A deadline is noticed at a ``tick``, so it may be passed by two of them.
    """

    head_time: float = 10.0
    """For a request's head, from its first byte to its last; also for a TLS handshake."""
    head_size: int = 16 * 1024
    """Of a request's head, with its request line and the empty line that ends it."""
    header_count: int = 100
    """Header fields of one request, and trailer fields of one body."""
    target_length: int = 8 * 1024
    """Of the request target: path and query."""
    body_idle_time: float = 20.0
    """Without a byte of a body that was announced and that somebody waits for."""
    request_time: float = 60.0
    """For a whole request, from its head to the last byte of its answer. An operation may have
    a time of its own."""
    idle_time: float = 75.0
    """Between two requests of one connection."""
    write_time: float = 20.0
    """Until the client has taken what was sent to it, `WRITE_SIZE` bytes at most at once."""
    connections: int = 10_000
    """Open at once, in all."""
    connections_per_client: int = 256
    """Open at once for one client address (for IPv6: one /64 network)."""
    requests_per_connection: int = 10_000
    """On one connection; the answer to the last says that it closes."""
    drain_size: int = 64 * 1024
    """Of a body that nobody read, taken and dropped so that the connection can go on."""
    linger_time: float = 2.0
    """For what is still on its way when a connection closes: a reset would take the answer away."""
    half_close_time: float = 1.0
    """For a handler to end after its client closed its sending side, which looks like leaving."""
    tick: float = 0.25
    """Between two looks at all deadlines."""


READ_SIZE = 64 * 1024
"""The most that is read from a socket in one go."""
WRITE_SIZE = 64 * 1024
"""The most that is written to a socket in one go."""
BACKLOG = 1024
"""Connections that may wait at a socket for the service to accept them."""


# For the listener, the store, logs, and connections that are told to come back later.
RESERVE = 256


def make_room(connections: int) -> int:
    """Raise this process's limit of open files for ``connections``, as far as it may.

    Answers how many connections there is room for; nothing is lowered.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + RESERVE
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return connections
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if limit > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return min(connections, max(limit - RESERVE, limit // 2))
