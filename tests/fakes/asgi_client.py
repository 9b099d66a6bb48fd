"""One request to an ASGI application in this process, and its response."""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import trio
from antechamber.asgi import Application, Event, Scope
from antechamber.response import FixedHeaders

Headers = Sequence[tuple[bytes, bytes]]


@dataclass
class Response:
    """What an application has sent; complete once it is ``ended``."""

    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytes = b""
    ended: bool = False

    def cookies(self) -> dict[str, str]:
        """Return the headers that set cookies, by the names of these."""
        values = [value.decode() for given, value in self.headers if given == b"set-cookie"]
        return {value.partition("=")[0]: value for value in values}

    def header(self, name: str) -> str | None:
        """Return the header ``name``, which may occur once at most."""
        values = [value.decode() for given, value in self.headers if given == name.encode()]
        assert len(values) <= 1, f"{name} stands there {len(values)} times"
        return values[0] if values else None

    def json(self) -> Any:  # noqa: ANN401 - a document has any shape
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of the problem."""
        assert self.header("content-type") == "application/problem+json"
        document = self.json()
        assert document["status"] == self.status
        assert document["requestId"] == self.header("x-request-id")
        return str(document["code"])

    async def take(self, event: Event) -> None:
        """Accept an event, in the order that ASGI prescribes."""
        kind = event["type"].removeprefix("websocket.")
        assert not self.ended
        if kind == "http.response.start":
            assert not self.status
            self.status, self.headers = event["status"], list(event["headers"])
        else:
            assert kind == "http.response.body"
            assert self.status
            self.body += event["body"]
            self.ended = not event["more_body"]


@dataclass
class FakeExchange:
    """A double of the server's exchange; ``taken`` is the complete response it received."""

    request_id: str = "from-the-wire"
    request_id_accepted: bool = True
    rejected: tuple[int, str] | None = None
    allowed: list[float] = field(default_factory=list)
    ignores_disconnect: bool = False
    taken: Response = field(default_factory=Response)
    aborts: Callable[[], None] | None = None

    async def respond(
        self, status: int, headers: Headers, fixed: FixedHeaders, body: bytes
    ) -> None:
        assert not self.taken.status
        self.taken = Response(status, [*headers, *fixed.headers], body, ended=True)

    def allow(self, seconds: float) -> None:
        self.allowed.append(seconds)

    def progressed_at(self) -> float:
        return trio.current_time()

    def abort(self) -> None:
        assert self.aborts is not None, "nobody needs the memory"
        self.aborts()

    def ignore_disconnect(self) -> None:
        self.ignores_disconnect = True


def scope_of(
    method: str,
    target: str,
    headers: Headers = (),
    exchange: FakeExchange | None = None,
    kind: str = "http",
) -> Scope:
    path, _, query = target.partition("?")
    return {
        "type": kind,
        "method": method,
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": list(headers),
        "client": ("192.0.2.7", 50000),
        "extensions": {} if exchange is None else {"antechamber": exchange},
    }


async def ask(
    application: Application,
    method: str,
    target: str,
    *,
    headers: Headers = (),
    body: Sequence[bytes] = (b"",),
    leaves: bool = False,
    exchange: FakeExchange | None = None,
    before_last: Callable[[], Awaitable[None]] | None = None,
) -> Response:
    """Send a request whose body arrives in the chunks of ``body``; return the response.

    A client that ``leaves`` disconnects in place of the last chunk. Before the last chunk arrives,
    ``before_last`` is awaited.
    """
    events: list[Event] = [
        {"type": "http.request", "body": chunk, "more_body": at + 1 < len(body)}
        for at, chunk in enumerate(body)
    ]
    if leaves:
        events[-1:] = [{"type": "http.disconnect"}]
    response = Response()

    async def receive() -> Event:
        await trio.lowlevel.checkpoint()
        if before_last is not None and len(events) == 1:
            await before_last()
        return events.pop(0) if events else {"type": "http.disconnect"}

    await application(scope_of(method, target, headers, exchange), receive, response.take)
    if exchange is not None and exchange.taken.ended:
        assert not response.status, "the response was sent twice"
        return exchange.taken
    return response


async def ask_json(
    application: Application, method: str, target: str, document: object, headers: Headers = ()
) -> Response:
    """Send ``document`` as JSON."""
    typed = [*headers, (b"content-type", b"application/json")]
    return await ask(
        application, method, target, headers=typed, body=[json.dumps(document).encode()]
    )


async def never() -> Event:
    raise AssertionError("nobody reads a body here")
