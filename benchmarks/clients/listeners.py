"""Many WebSockets in one thread that listen for notices and record when each arrived."""

from __future__ import annotations

import json
import select
import socket
import time


class Listeners:
    """Sockets that are subscribed to one workspace.

    ``key`` is an API key; without one, they listen to all that `benchmarks/servers/floor.py` has.
    """

    def __init__(self, port: int, key: str | None, workspace: str, count: int) -> None:
        self._poller = select.epoll()
        self._sockets: dict[int, socket.socket] = {}
        self.arrivals: list[tuple[float, int]] = []
        message = json.dumps({"type": "subscribe", "workspaceId": workspace}).encode()
        mask = b"\0\0\0\0"
        frame = bytes([0x81, 0x80 | len(message)]) + mask + message
        request = (
            b"GET %b HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\n"
            b"upgrade: websocket\r\nsec-websocket-version: 13\r\n"
            b"sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        ) % (b"/notices" if key is None else b"/api/sync/notices")
        if key is not None:
            request += b"sec-websocket-protocol: octavo.notices.v1\r\n"
            request += b"authorization: Bearer %b\r\n" % key.encode()
        for _ in range(count):
            client = socket.create_connection(("127.0.0.1", port))
            client.sendall(request + b"\r\n")
            received = b""
            while (b"\r\n\r\n" if key is None else b'"hello"') not in received:
                received += client.recv(4096)
            if key is not None:
                client.sendall(frame)
                while b'"subscribed"' not in received:
                    received += client.recv(4096)
            client.setblocking(False)
            self._sockets[client.fileno()] = client
            self._poller.register(client.fileno(), select.EPOLLIN)

    def listen(self, seconds: float, enough: int = 1 << 62) -> int:
        """Listen for some seconds, or until ``enough`` notices arrived; return how many did."""
        deadline = time.perf_counter() + seconds
        count = 0
        while count < enough and (left := deadline - time.perf_counter()) > 0:
            for descriptor, _ in self._poller.poll(left):
                data = self._sockets[descriptor].recv(65536)
                now = time.perf_counter()
                notices = data.count(b'"changed"')
                count += notices
                self.arrivals.append((now, notices))
        return count

    def close(self) -> None:
        for client in self._sockets.values():
            client.close()
        self._poller.close()
