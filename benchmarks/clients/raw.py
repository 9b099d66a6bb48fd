"""Many connections in one thread, each sending its next request when its response has arrived.

No framework and no request objects: bytes out, bytes in. Its upper limit is measured against a
server that sends everybody the same bytes (``python -m benchmarks.clients.canned``).
"""

from __future__ import annotations

import math
import select
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field

_END = b"\r\n\r\n"
_LENGTH = b"content-length: "
_ETAG = b"etag: "

NextRequest = Callable[[int, bytes], bytes]
"""Makes a request from status and entity tag of the previous response; 0 and nothing at first."""


@dataclass
class Found:
    """The results of a load: when responses arrived, how long each took, and their statuses."""

    seconds: float
    latencies: list[float] = field(default_factory=list)
    statuses: dict[int, int] = field(default_factory=dict)

    def rate(self, status: int) -> float:
        """Responses with a status, per second."""
        return self.statuses.get(status, 0) / self.seconds

    def percentile(self, percent: int) -> float:
        """The percentile of the response times, in milliseconds."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] * 1000


class _Connection:
    __slots__ = ("buffer", "next_request", "sent_at", "socket")

    def __init__(self, port: int, next_request: NextRequest) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.next_request = next_request
        self.buffer = b""
        self.sent_at = 0.0

    def send(self, request: bytes) -> None:
        self.sent_at = time.perf_counter()
        sent = self.socket.send(request)
        if sent != len(request):
            raise SystemExit("a request did not fit into the socket")

    def receive(self) -> tuple[int, bytes] | None:
        """Return status and entity tag of a complete response; None until it has arrived."""
        self.buffer += self.socket.recv(65536)
        head = self.buffer.find(_END)
        if head < 0:
            return None
        at = self.buffer.find(_LENGTH, 0, head)
        length = 0 if at < 0 else int(self.buffer[at + 16 : self.buffer.index(b"\r", at)])
        if len(self.buffer) < head + 4 + length:
            return None
        at = self.buffer.find(_ETAG, 0, head + 2)
        tag = b"" if at < 0 else self.buffer[at + 6 : self.buffer.index(b"\r", at)]
        status = int(self.buffer[9:12])
        self.buffer = b""
        return status, tag


def load(
    port: int,
    requests: list[NextRequest],
    seconds: float = math.inf,
    *,
    each: float = math.inf,
    pause: float = 0.0,
) -> Found:
    """Send requests on one connection for each of ``requests``.

    It ends after some seconds, or when each connection has sent ``each`` requests. ``pause`` is the
    time in seconds between a response and the next request of a single connection.
    """
    connections = [_Connection(port, each) for each in requests]
    poller = select.epoll()
    by_descriptor = {each.socket.fileno(): each for each in connections}
    for descriptor in by_descriptor:
        poller.register(descriptor, select.EPOLLIN)
    began = time.perf_counter()
    found = Found(seconds)
    left = dict.fromkeys(by_descriptor, each)
    for connection in connections:
        connection.send(connection.next_request(0, b""))
    waiting = len(connections)
    while waiting:
        for descriptor, _ in poller.poll():
            connection = by_descriptor[descriptor]
            response = connection.receive()
            if response is None:
                continue
            now = time.perf_counter()
            found.latencies.append(now - connection.sent_at)
            status, tag = response
            found.statuses[status] = found.statuses.get(status, 0) + 1
            left[descriptor] -= 1
            if now - began < seconds and left[descriptor] > 0:
                if pause:
                    time.sleep(pause)
                connection.send(connection.next_request(status, tag))
            else:
                waiting -= 1
                poller.unregister(descriptor)
    found.seconds = time.perf_counter() - began
    for connection in connections:
        connection.socket.close()
    poller.close()
    return found
