"""The deadlines and bounds of the wire, which every client is held to."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one client may take; times in seconds, sizes in bytes.

    A deadline is noticed at the next ``tick``, so it may be passed by as much.
    """

    #: For a request's head, from its first byte to its last; also for a TLS handshake.
    head_time: float = 10.0
    #: Of a request's head, with its request line and the empty line that ends it.
    head_size: int = 16 * 1024
    #: Header fields of one request, and trailer fields of one body.
    header_count: int = 100
    #: Of the request target: path and query.
    target_length: int = 8 * 1024
    #: Without a byte of a body that was announced and that somebody waits for.
    body_idle_time: float = 20.0
    #: For a whole request, from its head to the last byte of its answer. An operation may have
    #: a longer time of its own.
    request_time: float = 60.0
    #: Between two requests of one connection.
    idle_time: float = 75.0
    #: Until the client has taken what was sent to it, `WRITE_SIZE` bytes at most at once.
    write_time: float = 20.0
    #: Of a body that nobody read, taken and dropped so that the connection can go on.
    drain_size: int = 64 * 1024
    #: For what is still on its way when a connection closes: a reset would take the answer away.
    linger_time: float = 2.0
    linger_size: int = 256 * 1024
    #: For a handler to end after its client closed its sending side, which looks like leaving.
    half_close_time: float = 1.0
    #: Open at once, in all and for one client address (for IPv6: one /64 network).
    connections: int = 10_000
    connections_per_client: int = 256
    #: On one connection; the answer to the last says that it closes.
    requests_per_connection: int = 10_000
    #: Between two looks at all deadlines.
    tick: float = 0.25


#: The most that is read from or written to a socket in one go.
READ_SIZE = 64 * 1024
WRITE_SIZE = 64 * 1024
