"""Devices that edit one note together, and do little else: the server is to be the limit.

Each inserts a few words, sends them as an update, and applies what it lacks, as the typed client
does. That also compares texts of the whole note after each save.
"""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import trio
from octavo_rules.documents.document import ROOT
from pycrdt import Doc, Text

MOST_BYTES = 1 << 20
"""That are received at once."""
WORDS = "some words "


class _Connection:
    """Sends requests of the API one after the other."""

    def __init__(self, stream: trio.SocketStream, key: str) -> None:
        self._stream = stream
        self._key = key
        self._received = b""

    async def ask(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        data = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {self._key}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
        )
        await self._stream.send_all(head.encode() + data)
        while b"\r\n\r\n" not in self._received:
            self._received += await self._more()
        head_bytes, _, content = self._received.partition(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head_bytes.split(b"\r\n")[1:])
        size = int(fields[b"content-length"])
        while len(content) < size:
            content += await self._more()
        content, self._received = content[:size], content[size:]
        status = head_bytes.split()[1]
        if status != b"200":
            raise SystemExit(f"{method} {path}: {head_bytes.decode()}\n{content.decode()}")
        return dict(json.loads(content))

    async def _more(self) -> bytes:
        received = await self._stream.receive_some(MOST_BYTES)
        if not received:
            raise SystemExit("the server closed the connection")
        return bytes(received)


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


async def edit(port: int, key: str, path: str, seed: int, end: float, took: list[float]) -> None:
    """Edit the first half of the note of ``path`` until ``end``; record how long each save took."""
    rng = random.Random(seed)
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        connection = _Connection(stream, key)
        opened = (await connection.ask("GET", f"{path}?content=full"))["document"]
        document: Doc[Text] = Doc()
        text = document.get(ROOT, type=Text)
        document.apply_update(base64.b64decode(opened["state"]))
        half = len(text) // 2
        while (began := trio.current_time()) < end:
            before = document.get_state()
            text.insert(rng.randrange(half), WORDS)
            body = {
                "epoch": opened["epoch"],
                "update": encoded(document.get_update(before)),
                "stateVector": encoded(document.get_state()),
            }
            saved = await connection.ask("POST", f"{path}/saves", body)
            if saved["epoch"] != opened["epoch"]:
                raise SystemExit("the document has begun a new epoch: measure for a shorter time")
            document.apply_update(base64.b64decode(saved["update"]))
            took.append(trio.current_time() - began)


async def edit_together(port: int, key: str, path: str, count: int, seconds: float) -> list[float]:
    """Let ``count`` devices edit a note of ASCII; return how long each save took, in seconds."""
    took: list[float] = []
    end = trio.current_time() + seconds
    async with trio.open_nursery() as nursery:
        for seed in range(count):
            nursery.start_soon(edit, port, key, path, seed, end, took)
    return took
