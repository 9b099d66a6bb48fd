"""A client that writes frames by hand, and a server that hands over its connections."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import outcome
import trio
from antechamber.websocket import ServerWebSocket, WebSockets
from trio.testing import MemoryReceiveStream, MemorySendStream

MemoryStream = trio.StapledStream[MemorySendStream, MemoryReceiveStream]

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
MASK = b"\x12\x34\x56\x78"
SUBPROTOCOL = "antechamber.test"

HEAD = (
    b"GET /notices HTTP/1.1\r\n"
    b"host: notes.example\r\n"
    b"upgrade: websocket\r\n"
    b"connection: Upgrade\r\n"
    b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    b"sec-websocket-version: 13\r\n"
    b"sec-websocket-extensions: permessage-deflate\r\n"
    b"sec-websocket-protocol: other, antechamber.test\r\n\r\n"
)


def frame(
    opcode: int,
    payload: bytes = b"",
    *,
    fin: bool = True,
    reserved: int = 0,
    masked: bool = True,
    length: int | None = None,
) -> bytes:
    """A client's frame; ``length`` replaces the true length."""
    size = len(payload) if length is None else length
    mask_bit = 0x80 if masked else 0
    head = bytes([(0x80 if fin else 0) | reserved << 4 | opcode])
    if size < 126:
        head += bytes([mask_bit | size])
    elif size < 1 << 16:
        head += bytes([mask_bit | 126]) + size.to_bytes(2, "big")
    else:
        head += bytes([mask_bit | 127]) + size.to_bytes(8, "big")
    if not masked:
        return head + payload
    mask = (MASK * (len(payload) // 4 + 1))[: len(payload)]
    masked_payload = int.from_bytes(payload, "big") ^ int.from_bytes(mask, "big")
    return head + MASK + masked_payload.to_bytes(len(payload), "big")


def close(code: int | None, reason: bytes = b"") -> bytes:
    return frame(CLOSE, b"" if code is None else code.to_bytes(2, "big") + reason)


@dataclass
class Peer:
    """The client's end of a connection."""

    stream: trio.abc.Stream
    buffer: bytearray = field(default_factory=bytearray)

    async def send(self, data: bytes) -> None:
        await self.stream.send_all(data)

    async def exactly(self, size: int) -> bytes:
        while len(self.buffer) < size:
            data = await self.stream.receive_some()
            if not data:
                raise EOFError
            self.buffer += data
        taken = bytes(self.buffer[:size])
        del self.buffer[:size]
        return taken

    async def head(self) -> bytes:
        """The response to the request."""
        response = b""
        while not response.endswith(b"\r\n\r\n"):
            response += await self.exactly(1)
        return response

    async def frame(self) -> tuple[int, bytes]:
        """Return the server's next frame, which must be complete and unmasked."""
        first, size = await self.exactly(2)
        assert first & 0x80
        assert not first & 0x70
        if size >= 126:
            size = int.from_bytes(await self.exactly(2 if size == 126 else 8), "big")
        return first & 0x0F, await self.exactly(size)

    async def frames(self) -> list[tuple[int, bytes]]:
        """All frames up to the end of the connection; fails on a reset."""
        frames = []
        while True:
            try:
                frames.append(await self.frame())
            except EOFError:
                assert not self.buffer
                return frames

    async def close_code(self) -> int:
        """The code of the close frame that ends the connection; nothing may follow it."""
        *_, (opcode, payload) = await self.frames()
        assert opcode == CLOSE
        return int.from_bytes(payload[:2], "big")


class Upgraded(trio.abc.HalfCloseableStream):
    """What an HTTP server hands over: a stream whose sends have a deadline."""

    def __init__(self, stream: trio.abc.HalfCloseableStream, send_time: float = 5) -> None:
        self.stream = stream
        self.send_time = send_time
        self.closed = trio.Event()

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        with trio.move_on_after(self.send_time):
            await self.stream.send_all(data)
            return
        await trio.aclose_forcefully(self.stream)
        raise trio.BrokenResourceError("the peer doesn't read")

    async def wait_send_all_might_not_block(self) -> None:
        await self.stream.wait_send_all_might_not_block()

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        return await self.stream.receive_some(max_bytes)

    async def send_eof(self) -> None:
        await self.stream.send_eof()

    async def aclose(self) -> None:
        self.closed.set()
        await self.stream.aclose()


class Immediate(Upgraded):
    """A connection in memory that also sends without waiting."""

    def __init__(self, stream: MemoryStream, peer: MemoryStream) -> None:
        super().__init__(stream)
        self.peer = peer

    def send_now(self, data: bytes) -> int:
        self.peer.receive_stream.put_data(data)
        return len(data)


Handler = Callable[[ServerWebSocket], Awaitable[None]]
OPTIONS: dict[str, Any] = {"max_message_size": 1 << 20, "close_time": 5.0}


async def echo(connection: ServerWebSocket) -> None:
    async for message in connection:
        await connection.send(message)


@dataclass
class Server:
    """Serves WebSockets on a port; records how each connection ended."""

    port: int
    stopping: trio.Event
    ended: list[outcome.Maybe[None]]
    done: trio.abc.ReceiveChannel[outcome.Maybe[None]]
    streams: list[trio.SocketStream] = field(default_factory=list)

    async def open(self) -> Peer:
        """Open a WebSocket."""
        stream = await trio.open_tcp_stream("127.0.0.1", self.port)
        self.streams.append(stream)
        return Peer(stream)


@asynccontextmanager
async def served(
    handler: Handler = echo,
    *,
    send_time: float = 5,
    **options: Any,  # noqa: ANN401
) -> AsyncIterator[Server]:
    """Run a server on a real socket; all of its connections have ended afterwards."""
    stopping = trio.Event()
    ended: list[outcome.Maybe[None]] = []
    report, done = trio.open_memory_channel[outcome.Maybe[None]](1000)

    sockets = WebSockets(**{**OPTIONS, **options})

    async def hand_over(stream: trio.SocketStream) -> None:
        result = await outcome.acapture(_serve, Upgraded(stream, send_time))
        ended.append(result)
        report.send_nowait(result)

    async def _serve(stream: trio.abc.Stream) -> None:
        await sockets.serve(stream, handler, stopping=stopping)

    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sockets.run)
            [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
            nursery.start_soon(trio.serve_listeners, hand_over, [listener])
            port = listener.socket.getsockname()[1]
            server = Server(port, stopping, ended, done)
            try:
                yield server
            finally:
                for stream in server.streams:
                    stream.socket.close()
            nursery.cancel_scope.cancel()
