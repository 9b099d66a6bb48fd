"""A server that sends every client the same response, to measure the client's upper limit.

``python -m benchmarks.clients.canned PORT``: parses only as much of a request as it must.
"""

from __future__ import annotations

import select
import socket
import sys

RESPONSE = b'HTTP/1.1 200 OK\r\netag: "0190a0b0-0000-7000-8000-00000000000a"\r\n' + (
    b"content-type: application/json\r\ncontent-length: 500\r\n\r\n" + b"x" * 500
)


def serve(port: int) -> None:
    listener = socket.create_server(("127.0.0.1", port), backlog=1024)
    poller = select.epoll()
    poller.register(listener.fileno(), select.EPOLLIN)
    clients: dict[int, socket.socket] = {}
    wanted: dict[int, int] = {}
    while True:
        for descriptor, _ in poller.poll():
            if descriptor == listener.fileno():
                client, _ = listener.accept()
                clients[client.fileno()] = client
                poller.register(client.fileno(), select.EPOLLIN)
                continue
            data = clients[descriptor].recv(65536)
            if not data:
                poller.unregister(descriptor)
                clients.pop(descriptor).close()
                wanted.pop(descriptor, None)
                continue
            left = wanted.pop(descriptor, 0)
            if not left:
                head = data.index(b"\r\n\r\n") + 4
                at = data.find(b"content-length: ", 0, head)
                left = head + (0 if at < 0 else int(data[at + 16 : data.index(b"\r", at)]))
            left -= len(data)
            if left:
                wanted[descriptor] = left
            else:
                clients[descriptor].send(RESPONSE)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
