"""A server on a real socket in the test's own loop, and clients that write bytes by hand."""

import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import trio
from antechamber.asgi import Application, Receive, Scope, Send
from antechamber.connection_handler import ServerOptions
from antechamber.limits import Limits
from antechamber.listener import Certificate
from antechamber.rejection_writer import RejectedRequest
from antechamber.serve import serve

# Deadlines that a test can wait for, far enough apart to tell which one it was.
QUICK = Limits(
    header_timeout=0.4,
    head_size=16_384,
    header_count=100,
    target_length=8_192,
    body_timeout=0.4,
    request_timeout=5.0,
    idle_timeout=5.0,
    write_timeout=0.4,
    connections=10_000,
    connections_per_client=256,
    requests_per_connection=10_000,
    linger_timeout=0.4,
    half_close_timeout=0.3,
    tick=0.05,
)


@dataclass(frozen=True)
class Response:
    """A response as it was received."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def __getitem__(self, name: str) -> str:
        [value] = [value for key, value in self.headers if key == name]
        return value

    def get(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)

    def __contains__(self, name: str) -> bool:
        return any(key == name for key, _ in self.headers)


class Client:
    """A client that sends exactly the given bytes, and reads complete responses or the end."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self.stream = stream
        self.received = b""

    async def send(self, data: bytes) -> None:
        await self.stream.send_all(data)

    async def ask(self, data: bytes, *, head_only: bool = False) -> Response:
        await self.send(data)
        return await self.read_response(head_only=head_only)

    async def read_response(self, *, head_only: bool = False) -> Response:
        """Read a complete response; fail if it is truncated or malformed."""
        head = await self._until(b"\r\n\r\n")
        lines = head[:-4].decode("latin-1").split("\r\n")
        version, status, _ = lines[0].split(" ", 2)
        assert version == "HTTP/1.1"
        headers = tuple(
            (name.lower(), value) for name, value in (line.split(": ", 1) for line in lines[1:])
        )
        response = Response(int(status), headers, b"")
        if response.status == 100 or head_only or response.status in (204, 304):
            return response
        if response.headers and "content-length" in response:
            return replace(response, body=await self._exactly(int(response["content-length"])))
        if "transfer-encoding" in response:
            assert response["transfer-encoding"] == "chunked"
            return replace(response, body=await self._chunks())
        return replace(response, body=await self.rest())

    async def rest(self) -> bytes:
        """Read to the end of the connection."""
        while await self._more():
            pass
        rest, self.received = self.received, b""
        return rest

    async def is_closed(self) -> bool:
        """Whether the connection ends without further data."""
        return await self.rest() == b""

    async def _chunks(self) -> bytes:
        body = b""
        while size := int(await self._until(b"\r\n"), 16):
            body += await self._exactly(size)
            assert await self._exactly(2) == b"\r\n"
        assert await self._exactly(2) == b"\r\n"
        return body

    async def _until(self, end: bytes) -> bytes:
        while end not in self.received:
            assert await self._more(), f"the connection ended behind {self.received!r}"
        found, _, self.received = self.received.partition(end)
        return found + end

    async def _exactly(self, size: int) -> bytes:
        while len(self.received) < size:
            assert await self._more(), "the connection ended within a body"
        data, self.received = self.received[:size], self.received[size:]
        return data

    async def _more(self) -> bool:
        try:
            data = await self.stream.receive_some(65536)
        except trio.BrokenResourceError:
            return False
        self.received += data
        return bool(data)


@dataclass
class Server:
    """A server under test."""

    port: int
    refused: list[RejectedRequest] = field(default_factory=list)
    shutdown: trio.Event = field(default_factory=trio.Event)
    ended: trio.Event = field(default_factory=trio.Event)
    tls: ssl.SSLContext | None = None

    @property
    def scheme(self) -> str:
        return "http" if self.tls is None else "https"

    def url(self, path: str) -> str:
        return f"{self.scheme}://localhost:{self.port}{path}"

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        """Connect, for 20 seconds at most."""
        with trio.fail_after(20):
            tcp = await trio.open_tcp_stream("127.0.0.1", self.port)
            stream: trio.abc.Stream = tcp
            if self.tls is not None:
                stream = trio.SSLStream(
                    tcp, self.tls, server_hostname="localhost", https_compatible=True
                )
            try:
                yield Client(stream)
            finally:
                await trio.aclose_forcefully(stream)

    async def is_well(self) -> bool:
        """Whether a new connection gets its response."""
        async with self.client() as client:
            response = await client.ask(b"GET /well HTTP/1.1\r\nhost: a\r\n\r\n")
            return response.status == 200 and response.body == b"GET /well "


class Rounds(trio.abc.Instrument):
    """Counts the rounds of trio's scheduler."""

    def __init__(self) -> None:
        self.count = 0

    def before_io_wait(self, timeout: float) -> None:
        self.count += 1


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond with method, path and body of the request."""
    if scope["type"] == "lifespan":
        await lifespan(receive, send)
        return
    body = b""
    more = True
    while more:
        event = await receive()
        if event["type"] == "http.disconnect":
            return
        body += event["body"]
        more = event["more_body"]
    await respond(send, f"{scope['method']} {scope['path']} ".encode() + body)


async def respond(send: Send, body: bytes, status: int = 200) -> None:
    headers = [(b"content-type", b"text/plain")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def lifespan(receive: Receive, send: Send) -> None:
    while True:
        event = await receive()
        await send({"type": f"{event['type']}.complete"})
        if event["type"] == "lifespan.shutdown":
            return


def routed(routes: dict[str, Application]) -> Application:
    """Dispatch by path; a path without a route is echoed."""

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        route = echo if scope["type"] == "lifespan" else routes.get(scope["path"], echo)
        await route(scope, receive, send)

    return application


@asynccontextmanager
async def serving(
    application: Application = echo,
    limits: Limits = QUICK,
    *,
    shutdown_timeout: float = 5.0,
    certificate: Certificate | None = None,
    tls: ssl.SSLContext | None = None,
    listener: socket.socket | None = None,
    **options: Any,  # noqa: ANN401  # what WireOptions takes
) -> AsyncIterator[Server]:
    """Serve on ``listener``, or on a free port, until the block ends."""
    if listener is None:
        listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    listener.setblocking(False)
    server = Server(listener.getsockname()[1], tls=tls)
    numbers = count(1)
    known: dict[str, Any] = {
        "now": lambda: 784111777.0,
        "new_id": lambda: f"id-{next(numbers)}",
        "log_rejected": server.refused.append,
    }
    wire = ServerOptions(limits=limits, **(known | options))

    async def run(task_status: trio.TaskStatus[Any]) -> None:
        await serve(
            application,
            [listener],
            wire,
            certificate=certificate,
            shutdown=server.shutdown.wait,
            shutdown_timeout=shutdown_timeout,
            task_status=task_status,
        )
        server.ended.set()

    with listener:
        async with trio.open_nursery() as nursery:
            await nursery.start(run)
            yield server
            nursery.cancel_scope.cancel()
