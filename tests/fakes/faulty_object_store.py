"""An HTTP server before an object store, which passes requests on, or fails as a test specifies."""

import http.client
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar, Literal, NamedTuple
from urllib.parse import urlsplit

Fault = Literal[
    "error",
    "refusal",
    "full",
    "not-found",
    "no-bucket",
    "page",
    "garbage",
    "reset",
    "stall",
    "half",
    "short",
    "shifted",
    "beyond",
    "redirect",
]
_Socket = socket.socket | tuple[bytes, socket.socket]
_STALL_SECONDS = 60
_OF_ONE_CONNECTION = frozenset({"connection", "content-length", "date", "server", "keep-alive"})


class ObjectRequest(NamedTuple):
    """A request that arrived."""

    method: str
    target: str


class UpstreamResponse(NamedTuple):
    """What the store behind the server responded."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


@dataclass
class FaultyObjectStore:
    """The server, for the tests.

    Attributes:
        address: its address.
        fault: how requests fail; None passes them on.
        applies: which requests fail.
        requests: the requests that arrived.
        arrived: released once for each of them.
        released: ends every stall when set.
    """

    upstream: str
    address: str = ""
    fault: Fault | None = None
    applies: Callable[[ObjectRequest], bool] = lambda request: True
    requests: list[ObjectRequest] = field(default_factory=list)
    arrived: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    released: threading.Event = field(default_factory=threading.Event)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store: FaultyObjectStore

    def handle_request(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        request = ObjectRequest(self.command, self.path)
        self.store.requests.append(request)
        self.store.arrived.release()
        fault = self.store.fault
        if fault is None or not self.store.applies(request):
            self.respond(self.forward(body))
        else:
            self.fail(fault, body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_request  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log nothing."""

    def forward(self, body: bytes) -> UpstreamResponse:
        host = urlsplit(self.store.upstream).netloc
        connection = http.client.HTTPConnection(host, timeout=_STALL_SECONDS)
        try:
            connection.request(self.command, self.path, body, dict(self.headers.items()))
            response = connection.getresponse()
            return UpstreamResponse(response.status, response.getheaders(), response.read())
        finally:
            connection.close()

    def respond(self, response: UpstreamResponse, length: int | None = None) -> None:
        """Send a response; ``length`` is its content-length if not the true one."""
        self.send_response(response.status)
        length = len(response.body) if length is None else length
        for name, value in response.headers:
            if name.lower() == "content-length" and self.command == "HEAD":
                length = int(value)
            elif name.lower() not in _OF_ONE_CONNECTION:
                self.send_header(name, value)
        self.send_header("content-length", str(length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(response.body)

    def stall(self) -> None:
        self.close_connection = True
        self.wfile.flush()
        self.store.released.wait(_STALL_SECONDS)

    def refuse(self, status: int, code: str) -> None:
        # As S3 does it: the response repeats what was signed and how.
        details = f"{self.path} {self.headers.get('authorization')}"
        body = f"<Error><Code>{code}</Code><Message>{details}</Message></Error>".encode()
        self.respond(UpstreamResponse(status, [("content-type", "application/xml")], body))

    def fail(self, fault: Fault, body: bytes) -> None:
        html = [("content-type", "text/html")]
        match fault:
            case "error":
                self.refuse(500, "InternalError")
            case "refusal":
                self.refuse(403, "AccessDenied")
            case "full":
                self.refuse(507, "XMinioStorageFull")
            case "beyond":
                self.refuse(416, "InvalidRange")
            case "no-bucket":
                self.refuse(404, "NoSuchBucket")
            case "not-found":
                self.respond(UpstreamResponse(404, html, b"<html>Not here</html>"))
            case "page":
                self.respond(UpstreamResponse(200, html, b"<html>Sign in first</html>"))
            case "redirect":
                self.respond(UpstreamResponse(302, [("location", "/elsewhere")], b""))
            case "garbage":
                self.close_connection = True
                self.wfile.write(b"\0garbage\r\n\r\n" * 8)
            case "reset":
                self.close_connection = True
                linger = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                self.connection.close()
            case "stall":
                self.stall()
            case "half":
                whole = self.forward(body)
                half = whole._replace(body=whole.body[: len(whole.body) // 2])
                self.respond(half, len(whole.body) + 1)
                self.stall()
            case "short":
                whole = self.forward(body)
                self.respond(whole._replace(body=whole.body[:-1]))
            case "shifted":
                whole = self.forward(body)
                moved = [
                    (name, "bytes 1-2/3" if name.lower() == "content-range" else value)
                    for name, value in whole.headers
                ]
                self.respond(whole._replace(headers=moved))


@contextmanager
def faulty_object_store(upstream: str) -> Iterator[FaultyObjectStore]:
    """Run a server for the block that passes requests on to ``upstream``."""
    store = FaultyObjectStore(upstream)
    handler = type("Handler", (_Handler,), {"store": store})

    class Server(ThreadingHTTPServer):
        daemon_threads = False
        request_queue_size = 128
        connections: ClassVar[list[socket.socket]] = []

        def process_request(self, request: _Socket, client_address: object) -> None:
            assert isinstance(request, socket.socket)
            self.connections.append(request)
            super().process_request(request, client_address)

        def handle_error(self, request: object, client_address: object) -> None:
            """Ignore clients that left."""

    with Server(("127.0.0.1", 0), handler) as server:
        store.address = f"http://127.0.0.1:{server.server_port}"
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        try:
            yield store
        finally:
            store.released.set()
            server.shutdown()
            for connection in Server.connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            serving.join()
