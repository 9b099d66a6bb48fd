"""WebSockets of an account that send messages as fast as the server reads them."""

import json
import selectors
import socket

from packages.antechamber.tests.websocket_peer import PING, TEXT, frame
from tests.e2e.listening import HANDSHAKE
from tests.e2e.overload.target import Target, begun

_REPEATED = 50


def subscriptions(target: Target) -> None:
    """Subscribe to a workspace, and unsubscribe."""
    workspace = target.path.split("/")[3]
    messages = [
        json.dumps({"type": kind, "workspaceId": workspace}).encode()
        for kind in ("subscribe", "unsubscribe")
    ]
    _flood(target, b"".join(frame(TEXT, message) for message in messages))


def pings(target: Target) -> None:
    """Send pings, each of which the server responds to."""
    _flood(target, frame(PING, b"ping"))


def _flood(target: Target, frames: bytes) -> None:
    """Send ``frames`` on all connections without a pause; replace those that end."""
    selector = selectors.DefaultSelector()
    sent = frames * _REPEATED
    # What the socket has not taken of the last frames.
    rest: dict[int, bytes] = {}

    def open_one(number: int) -> None:
        plain = _open(target, number)
        if plain is not None:
            rest[plain.fileno()] = b""
            selector.register(plain, selectors.EVENT_READ | selectors.EVENT_WRITE, number)

    for number in range(target.connections):
        open_one(number)
    begun()
    while True:
        for key, events in selector.select(0.1):
            plain = key.fileobj
            assert isinstance(plain, socket.socket)
            try:
                if events & selectors.EVENT_READ and not plain.recv(65_536):
                    raise ConnectionResetError
                if events & selectors.EVENT_WRITE:
                    data = rest[key.fd] or sent
                    rest[key.fd] = data[plain.send(data) :]
            except BlockingIOError:
                continue
            except OSError:
                selector.unregister(plain)
                plain.close()
                open_one(key.data)


def _open(target: Target, number: int) -> socket.socket | None:
    """Open a WebSocket; return None when the server does not accept it."""
    key = target.keys[number % len(target.keys)]
    address = target.addresses[number % len(target.addresses)]
    headers = {**HANDSHAKE, "authorization": f"Bearer {key}"}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    plain = socket.socket()
    plain.settimeout(30)
    try:
        plain.bind((f"127.0.0.{address}", 0))
        plain.connect(("127.0.0.1", target.port))
        plain.sendall(f"GET /api/sync/notices HTTP/1.1\r\n{lines}\r\n".encode())
        accepted = plain.recv(4096).startswith(b"HTTP/1.1 101 ")
    except OSError:
        accepted = False
    if not accepted:
        plain.close()
        return None
    plain.setblocking(False)
    return plain
