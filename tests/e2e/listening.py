"""A device that listens to the notice stream."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio

from packages.antechamber.tests.websocket_peer import CLOSE, PING, TEXT, Peer, frame
from tests.e2e.server import PATIENCE

HANDSHAKE = {
    "host": "notes.example.org",
    "connection": "Upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    "sec-websocket-protocol": "octavo.notices.v1",
}


class StreamClosed(Exception):
    """The server closed the stream; the argument is its close code."""


class Device:
    """An open stream; every wait has a deadline."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def subscribe(self, workspace: str) -> int:
        """Subscribe; return the position of the workspace."""
        message = {"type": "subscribe", "workspaceId": workspace}
        await self._peer.send(frame(TEXT, json.dumps(message).encode()))
        received = await self.next()
        assert received["type"] == "subscribed"
        position: int = received["position"]
        return position

    async def next(self) -> dict[str, Any]:
        """Return the next message. Raises `StreamClosed`."""
        with trio.fail_after(PATIENCE):
            opcode, payload = await self._peer.frame()
            while opcode == PING:
                opcode, payload = await self._peer.frame()
        if opcode == CLOSE:
            raise StreamClosed(int.from_bytes(payload[:2], "big"))
        assert opcode == TEXT
        message: dict[str, Any] = json.loads(payload)
        return message

    async def hear(self, position: int) -> list[int]:
        """Wait for a notice of ``position``; return the positions up to it."""
        received: list[int] = []
        while not received or received[-1] < position:
            message = await self.next()
            assert message["type"] == "changed"
            received.append(message["position"])
        return received

    async def closed(self) -> int:
        """Wait for the end of the stream; return its close code."""
        try:
            while True:
                await self.next()
        except StreamClosed as end:
            code: int = end.args[0]
            return code


@asynccontextmanager
async def listening(port: int, headers: dict[str, str]) -> AsyncIterator[Device]:
    """Open a stream at the server on ``port``, authenticated by ``headers``."""
    lines = (f"{name}: {value}\r\n" for name, value in {**HANDSHAKE, **headers}.items())
    request = f"GET /api/sync/notices HTTP/1.1\r\n{''.join(lines)}\r\n"
    with trio.fail_after(PATIENCE):
        stream = await trio.open_tcp_stream("127.0.0.1", port)
    async with stream:
        peer = Peer(stream)
        await peer.send(request.encode())
        with trio.fail_after(PATIENCE):
            head = await peer.head()
        assert head.startswith(b"HTTP/1.1 101 "), head
        device = Device(peer)
        assert (await device.next())["type"] == "hello"
        yield device
