"""Go round over requests, each on a connection of its own, until the process is killed."""

import json
import select
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress

from tests.e2e.overload.target import Target, begun

_DRIP_SECONDS = 0.2
_CHUNK = 256 * 1024

Sent = tuple[bytes, bytes]
"""The head of a request, and its body: many requests share one."""


class _Exchange:
    """A request on a connection of its own, and the status of its response."""

    def __init__(self, target: Target, data: Sent, *, reads: bool) -> None:
        self.status = 0
        self.ended = False
        self.left = [memoryview(part) for part in reversed(data) if part]
        self.begun = time.monotonic()
        self.socket = socket.socket()
        self._reads = reads
        self.socket.settimeout(2)
        try:
            if not reads:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            self.socket.bind((f"127.0.0.{target.addresses[0]}", 0))
            self.socket.connect(("127.0.0.1", target.port))
        except OSError:
            self.ended = True
        self.socket.setblocking(False)

    @property
    def events(self) -> int:
        """What is waited for."""
        return (select.POLLIN if self._reads else 0) | (select.POLLOUT if self.left else 0)

    def go_on(self) -> None:
        """Send what the socket takes, and read what it has."""
        try:
            if self.left:
                with suppress(BlockingIOError):
                    part = self.left[-1]
                    rest = part[self.socket.send(part[:_CHUNK]) :]
                    self.left[-1:] = [rest] if rest else []
            if self._reads:
                received = self.socket.recv(_CHUNK)
                self.ended = not received
                self.status = self.status or int(received[9:12] or 0)
        except BlockingIOError:
            return
        except OSError:
            self.ended = True


def exchange(
    target: Target,
    requests: Iterable[Sent],
    statuses: Counter[int],
    *,
    drip: bytes = b"",
    reads: bool = True,
) -> None:
    """Send the requests, as many at a time as the target has connections.

    Each has the seconds of the target. Those that were sent go on with ``drip``, a byte at a time.
    The statuses of the responses are counted: 0 for one that did not come.
    """
    left = iter(requests)
    held: dict[int, _Exchange] = {}
    poll = select.poll()
    drips_at = time.monotonic() + _DRIP_SECONDS
    while True:
        for _ in range(target.connections - len(held)):
            data = next(left, None)
            if data is None:
                break
            made = _Exchange(target, data, reads=reads)
            held[made.socket.fileno()] = made
            poll.register(made.socket, made.events)
        if not held:
            return
        for descriptor, _ in poll.poll(50):
            held[descriptor].go_on()
            poll.modify(descriptor, held[descriptor].events)
        now = time.monotonic()
        drips, drips_at = now > drips_at, drips_at + _DRIP_SECONDS * (now > drips_at)
        for descriptor, each in tuple(held.items()):
            if drips and drip and not each.left:
                each.left = [memoryview(drip)]
                poll.modify(descriptor, each.events)
            if each.ended or now - each.begun > target.seconds:
                statuses[each.status] += 1
                poll.unregister(descriptor)
                del held[descriptor]
                each.socket.close()


def go_round(once: Callable[[Counter[int]], None]) -> None:
    """Do ``once`` again and again; print the statuses of the first time."""
    begun()
    statuses = Counter[int]()
    once(statuses)
    print(json.dumps(statuses), flush=True)  # noqa: T201
    while True:
        once(statuses)
