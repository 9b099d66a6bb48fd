"""A server whose responses and failures a test specifies."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx
from octavo_client import Client, Retrying, WorkspaceClient

WORKSPACE = "01900000-0000-7000-8000-00000000000a"
FILE = "01900000-0000-7000-8000-00000000000b"
REVISION: dict[str, Any] = {
    "id": "01900000-0000-7000-8000-00000000000c",
    "fileId": FILE,
    "position": 1,
    "kind": "note",
    "path": "a.md",
    "digest": "0" * 64,
    "size": 3,
    "mediaType": "text/markdown",
    "author": "01900000-0000-7000-8000-00000000000d",
    "createdAt": "2026-01-01T00:00:00.000Z",
    "mutationId": "01900000-0000-7000-8000-00000000000e",
    "origin": "key",
}
CHANGE: dict[str, Any] = {
    "fileId": FILE,
    "outcome": "created",
    "revision": REVISION,
    "position": 1,
    "path": "a.md",
}
FILE_DOCUMENT: dict[str, Any] = {
    "id": FILE,
    "workspaceId": WORKSPACE,
    "path": "a.md",
    "kind": "note",
    "state": "live",
    "head": REVISION,
    "text": "one",
}

Reply = httpx.Response | type[httpx.TransportError] | Callable[[], httpx.Response]


def ok(body: object, status: int = 200) -> httpx.Response:
    return httpx.Response(status, json=body)


def problem(
    status: int, code: str, retry_after: int | None = None, **members: object
) -> httpx.Response:
    headers = {} if retry_after is None else {"retry-after": str(retry_after)}
    body = {"code": code, "detail": "why", **members}
    return httpx.Response(status, json=body, headers=headers)


@dataclass
class Stub(httpx.AsyncBaseTransport):
    """Sends the replies in their order, the last one forever."""

    replies: list[Reply]
    requests: list[httpx.Request] = field(default_factory=list)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        reply = self.replies[0] if len(self.replies) == 1 else self.replies.pop(0)
        if isinstance(reply, httpx.Response):
            return reply
        if isinstance(reply, type):
            raise reply("broken")
        return reply()

    def bodies(self) -> list[Any]:
        return [json.loads(each.content) for each in self.requests]

    def client(self, **retrying: float) -> Client:
        """A client of it without jitter."""
        return Client(
            "http://stub",
            entropy=Steady(1),
            key="octk_key",
            retrying=Retrying(**retrying),  # type: ignore[arg-type]  # attempts is an int
            transport=self,
        )


class Steady(Random):
    """Always chooses the longest wait, so that waits can be counted."""

    def random(self) -> float:
        return 1.0


def workspace_of(client: Client) -> WorkspaceClient:
    return client.workspace(WORKSPACE)
