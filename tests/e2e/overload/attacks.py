"""Attackers, each a process of its own on raw sockets.

``python -m tests.e2e.overload.attacks NAME ARGUMENTS`` prints ``begun`` and attacks until it is
killed. What it sends is computed before.
"""

import json
import select
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import cycle, islice

from tests.e2e.overload import costly_requests, operation_floods, page_floods, websocket_floods
from tests.e2e.overload.bystander import TRUSTING
from tests.e2e.overload.target import Request, Target, begun
from tests.e2e.server import environment

_MIB = 1024 * 1024


Finish = Callable[[], dict[str, int]]


@contextmanager
def attacking(name: str, target: Target) -> Iterator[Finish]:
    """Attack from a process of its own while the block runs.

    Yields a function that waits until everything that the attack goes round was attacked, and
    returns how many responses had which status.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", __name__, name, json.dumps(target)],
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "begun\n"
            lines = process.stdout
            yield lambda: json.loads(lines.readline())
            assert process.poll() is None, "the attacker gave up"
        finally:
            process.kill()


def _connect(target: Target, address: int) -> socket.socket | None:
    """A connection that neither waits nor, once it is made, is waited for."""
    plain = socket.socket()
    plain.settimeout(2)
    try:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        plain.bind((f"127.0.0.{address}", 0))
        plain.connect(("127.0.0.1", target.port))
        if target.tls:
            plain = TRUSTING.wrap_socket(plain)
    except OSError:
        plain.close()
        return None
    plain.setblocking(False)
    return plain


def _send(plain: socket.socket, data: bytes) -> bool:
    """Send what the socket takes; False when the server has closed it."""
    try:
        plain.send(data)
    except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
        return True
    except OSError:
        return False
    return True


def _hold(
    target: Target, opening: Callable[[int], bytes], again: bytes = b"", pause: float = 0.2
) -> None:
    """Keep all connections open, each begun with ``opening``; replace those that end."""
    addresses = cycle(target.addresses)
    numbers = iter(range(1 << 60))
    begun()
    held: list[socket.socket] = []
    while True:
        missing = min(target.connections - len(held), 100)
        for number, address in zip(islice(numbers, missing), addresses, strict=False):
            plain = _connect(target, address)
            if plain is not None:
                if _send(plain, opening(number)):
                    held.append(plain)
                else:
                    plain.close()
        time.sleep(pause)
        held = [plain for plain in held if _goes_on(plain, again)]


def _goes_on(plain: socket.socket, again: bytes) -> bool:
    poll = select.poll()
    poll.register(plain, select.POLLRDHUP)
    if poll.poll(0) or (again and not _send(plain, again)):
        plain.close()
        return False
    return True


def nothing(target: Target) -> None:
    """Nothing at all, for comparison."""
    begun()
    time.sleep(3600)


def heads(target: Target) -> None:
    """Heads that don't end, begun together."""
    addresses = cycle(target.addresses)
    held: list[socket.socket] = []
    while len(held) < target.connections:
        plain = _connect(target, next(addresses))
        if plain is not None:
            held.append(plain)
    for plain in held:
        _send(plain, b"GET / HTTP/1.1\r\nhost: a\r\n")
    begun()
    while True:
        time.sleep(1)


def unread_responses(target: Target) -> None:
    """Connections that request a large response and don't read it."""

    def opening(number: int) -> bytes:
        key = target.keys[number % len(target.keys)] if target.keys else ""
        signed = f"authorization: Bearer {key}\r\n" if key else ""
        return f"GET {target.path} HTTP/1.1\r\nhost: a\r\n{signed}\r\n".encode()

    _hold(target, opening)


def dripping_bodies(target: Target) -> None:
    """Bodies of 8 MiB that are announced, and arrive a byte at a time."""

    def opening(number: int) -> bytes:
        lines = (
            f"PUT {target.path} HTTP/1.1",
            "host: a",
            f"authorization: Bearer {target.keys[number % len(target.keys)]}",
            "content-type: application/json",
            'if-match: "00000000-0000-7000-8000-000000000000"',
            f"content-length: {8 * _MIB}",
        )
        return "\r\n".join((*lines, "", '{"text":"')).encode()

    _hold(target, opening, b"a")


def repeated_requests(target: Target) -> None:
    """Connections that always have ``pipelined`` requests in progress, and read."""
    sent = f"GET {target.path} HTTP/1.1\r\nhost: a\r\n\r\n".encode()
    _repeat(target, lambda _: sent)


def networks_of_a_site(target: Target) -> None:
    """The same, each connection through a proxy from another network of one subscriber."""
    _repeat(
        target,
        lambda number: (
            f"GET {target.path} HTTP/1.1\r\nhost: a\r\n"
            f"x-forwarded-for: 2001:db8:1:{number:x}::1\r\n\r\n"
        ).encode(),
    )


def _repeat(target: Target, request: Callable[[int], bytes]) -> None:
    addresses = cycle(target.addresses)
    numbers = cycle(range(1 << 16))
    poll = select.poll()
    held: dict[int, tuple[socket.socket, bytes]] = {}

    def open_one() -> None:
        plain, sent = _connect(target, next(addresses)), request(next(numbers))
        if plain is not None:
            held[plain.fileno()] = plain, sent
            poll.register(plain, select.POLLIN)
            _send(plain, sent * target.pipelined)

    for _ in range(target.connections):
        open_one()
    begun()
    while True:
        for descriptor, _ in poll.poll(1000):
            plain, sent = held[descriptor]
            try:
                received = plain.recv(65_536)
            except OSError:
                received = b""
            # No body of the responses has an empty line of its own.
            if received and _send(plain, sent * received.count(b"\r\n\r\n")):
                continue
            poll.unregister(descriptor)
            del held[descriptor]
            plain.close()
            open_one()


def handshakes(target: Target) -> None:
    """Connections that end after the handshake of TLS."""

    def repeat() -> None:
        addresses = cycle(target.addresses)
        while True:
            plain = _connect(target, next(addresses))
            if plain is not None:
                plain.close()

    threads = [threading.Thread(target=repeat, daemon=True) for _ in range(target.connections)]
    begun()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def full_bodies(target: Target) -> None:
    """Bodies of 8 MiB that stop before their last bytes."""
    addresses = cycle(target.addresses)
    held: list[socket.socket] = []
    for number in range(target.connections):
        plain = _connect(target, next(addresses))
        if plain is None:
            continue
        key = target.keys[number % len(target.keys)]
        lines = (
            f"PUT {target.path} HTTP/1.1",
            "host: a",
            f"authorization: Bearer {key}",
            "content-type: application/json",
            'if-match: "00000000-0000-7000-8000-000000000000"',
            f"content-length: {8 * _MIB}",
        )
        plain.settimeout(5)
        with suppress(OSError):
            plain.sendall("\r\n".join((*lines, "", '{"text":"')).encode() + bytes(8 * _MIB - 1000))
        held.append(plain)
    begun()
    while True:
        time.sleep(1)


ATTACKS = (
    nothing,
    heads,
    unread_responses,
    dripping_bodies,
    full_bodies,
    repeated_requests,
    networks_of_a_site,
    handshakes,
    costly_requests.links_read,
    costly_requests.large_changesets,
    costly_requests.moves,
    costly_requests.words_of_long_notes,
    costly_requests.unknown_members,
    costly_requests.many_operations,
    websocket_floods.subscriptions,
    websocket_floods.pings,
    page_floods.sizes,
    page_floods.fields,
    page_floods.part_heads,
    page_floods.drips,
    page_floods.unread_pages,
    operation_floods.at_once,
)


def main() -> None:
    chosen = {attack.__name__: attack for attack in ATTACKS}[sys.argv[1]]
    given = json.loads(sys.argv[2])
    target = Target(*given)
    target = target._replace(operations=tuple(Request(*each) for each in target.operations))
    chosen(target)


if __name__ == "__main__":
    main()
