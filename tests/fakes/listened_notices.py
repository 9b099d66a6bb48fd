"""A notice server that runs one script of a test per stream."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import trio
from octavo_client import Client, Retrying
from trio_websocket import WebSocketConnection, WebSocketRequest, serve_websocket
from wsproto.events import Event, Pong

from packages.client.tests.stub_server import Steady
from tests.fakes.cursors import at

Script = Callable[["Stream"], Awaitable[None]]


@dataclass
class Stream:
    """A stream that a client opened."""

    socket: WebSocketConnection

    async def heard(self) -> Any:  # noqa: ANN401  # what JSON holds
        return json.loads(await self.socket.get_message())

    async def say(self, **message: object) -> None:
        await self.socket.send_message(json.dumps(message))

    async def pinged(self, times: int) -> None:
        """Wait until the client has sent this many pings."""
        send = self.socket._send
        enough = trio.Event()
        count = 0

        async def counting(event: Event) -> None:
            nonlocal count
            await send(event)
            count += isinstance(event, Pong)
            if count == times:
                enough.set()

        vars(self.socket)["_send"] = counting
        await enough.wait()

    def stop_reading(self) -> None:
        """Receive nothing more from the client."""

        async def nothing(max_bytes: int | None = None) -> bytes:
            await trio.sleep_forever()
            raise AssertionError

        vars(self.socket._stream)["receive_some"] = nothing

    async def subscribed(self, position: int) -> str:
        """Wait for a subscription; reply that the workspace is at ``position``."""
        workspace_id: str = (await self.heard())["workspaceId"]
        await self.say(type="subscribed", workspaceId=workspace_id, **told(position))
        return workspace_id


def told(position: int) -> dict[str, object]:
    """What a message says of a position."""
    return at(position)._asdict()


@dataclass
class Notices:
    """The server; each stream is served by the next script, the last one forever."""

    scripts: list[Script | int]
    port: int = 0
    headers: list[dict[str, str]] = field(default_factory=list)

    async def serve(self, request: WebSocketRequest) -> None:
        self.headers.append({key.decode(): value.decode() for key, value in request.headers})
        script = self.scripts[0] if len(self.scripts) == 1 else self.scripts.pop(0)
        if isinstance(script, int):
            body = json.dumps({"code": "code", "detail": "why"}).encode()
            await request.reject(script, body=body)
            return
        socket = await request.accept(subprotocol="octavo.notices.v1")
        stream = Stream(socket)
        await stream.say(type="hello", protocol="octavo.notices.v1")
        await script(stream)

    def client(self) -> Client:
        return Client(
            f"http://127.0.0.1:{self.port}",
            entropy=Steady(1),
            key="octk_key",
            retrying=Retrying(first=0, rest=0),
        )


@asynccontextmanager
async def notices(scripts: Sequence[Script | int]) -> AsyncIterator[Notices]:
    """Serve on a free port until the block ends."""
    server = Notices([*scripts])
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            listening = await nursery.start(
                partial(serve_websocket, server.serve, "127.0.0.1", 0, None)
            )
            server.port = listening.port
            yield server
            nursery.cancel_scope.cancel()
