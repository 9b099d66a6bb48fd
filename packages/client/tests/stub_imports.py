"""The operations of imports of a server whose failures a test specifies."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import httpx
from octavo_client import Client, Retrying

from .stub_server import Steady, ok, problem

IMPORT = "01900000-0000-7000-8000-0000000000aa"
RESULT: dict[str, Any] = {
    "notes": 3,
    "attachments": 1,
    "leftOut": {"settings": 2, "history": 0, "other": 1},
    "cleaned": 0,
    "position": 4,
}
Failure = Callable[[], Awaitable[httpx.Response | None] | httpx.Response]


@dataclass
class StubImports(httpx.AsyncBaseTransport):
    """Takes parts and completes the import; ``failures`` has what happens to a request instead.

    A failure is for a method and the end of a path. It is used up by one request; one that returns
    None lets the request have its effect.
    """

    part_size: int = 8 * 1024 * 1024
    failures: dict[str, list[Failure]] = field(default_factory=dict)
    parts: dict[int, bytes] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    state: str = "started"
    failure: dict[str, str] | None = None
    read: int = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        assert isinstance(request.stream, httpx.AsyncByteStream)
        body = b"".join([chunk async for chunk in request.stream])
        kind = f"{request.method} {request.url.path.partition('/imports')[2]}"
        kind = kind.replace(f"/{IMPORT}", "")
        self.requests.append(kind)
        planned = self.failures.get(kind)
        if planned:
            found = planned.pop(0)()
            replaced = found if isinstance(found, httpx.Response) else await found
            if replaced is not None:
                return replaced
        return self._respond(kind, body)

    def _respond(self, kind: str, body: bytes) -> httpx.Response:
        match kind.split("/"):
            case ["POST "]:
                self.sizes.append(json.loads(body)["size"])
                started = {"importId": IMPORT, "partSize": self.part_size, "maxParts": 2048}
                return ok(started, 201)
            case ["PUT ", "parts", number]:
                self.parts[int(number)] = body
                return ok(self._received(int(number)))
            case ["POST ", "complete"]:
                self.state = "done"
                return ok(RESULT)
            case ["GET "]:
                return ok(self._document())
            case ["DELETE "]:
                self.state = "aborted"
                return ok({"removed": True})
        raise AssertionError(kind)

    def _received(self, number: int) -> dict[str, Any]:
        part = self.parts[number]
        return {"number": number, "size": len(part), "digest": sha256(part).hexdigest()}

    def _document(self) -> dict[str, Any]:
        if self.state == "aborted":
            return {}
        return {
            "importId": IMPORT,
            "state": self.state,
            "parts": sorted(self.parts),
            "received": [self._received(each) for each in sorted(self.parts)],
            "read": self.read,
            "total": 100,
            "result": RESULT if self.state == "done" else None,
            "failure": self.failure,
        }

    def archive(self) -> bytes:
        """The parts, joined."""
        return b"".join(self.parts[number] for number in sorted(self.parts))

    def client(self, **retrying: float) -> Client:
        """A client of it without jitter."""
        return Client(
            "http://stub",
            entropy=Steady(1),
            key="octk_key",
            retrying=Retrying(**retrying),  # type: ignore[arg-type]  # attempts is an int
            transport=self,
        )


def refusing(status: int, code: str, retry_after: int | None = None) -> Failure:
    return lambda: problem(status, code, retry_after)


def breaking(error: type[httpx.TransportError]) -> Failure:
    def fail() -> httpx.Response:
        raise error("broken")

    return fail
