"""Random conversations with another implementation: windows, settings, resets, uploads at a time.

Each is a function of its number, by which a failing one can be repeated. The client, h2, refuses
whatever a server must not send.
"""

import hashlib
import random
from dataclasses import dataclass, field, replace

import h2.config
import h2.connection
import h2.events
import h2.settings
import pytest
import trio

from octavo.http.server.asgi import Receive, Scope, Send, extension_of
from octavo.http.server.response import NO_HEADERS
from tests.fakes.http_server import QUICK, Client, respond, serving

CONVERSATIONS = 25
STEPS = 60
LIMITS = replace(QUICK, write_time=20, body_idle_time=20, request_time=20)


def content(size: int) -> bytes:
    return (b"%d," % size * (size // 2 + 1))[:size]


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond with as many bytes as the path says, or with the digest of the body."""
    kind, size = scope["path"].strip("/").split("/")
    if kind == "digest":
        digest, more = hashlib.sha256(), True
        while more:
            event = await receive()
            if event["type"] == "http.disconnect":
                return
            digest.update(event["body"])
            more = event["more_body"]
        await respond(send, digest.hexdigest().encode())
    elif kind == "whole":
        extension = extension_of(scope)
        assert extension is not None
        headers = [(b"content-length", size.encode()), (b"x-size", size.encode())]
        await extension.respond(200, headers, NO_HEADERS, content(int(size)))
    else:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        whole = content(int(size))
        for at in range(0, len(whole), 30_000):
            part = whole[at : at + 30_000]
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


@dataclass
class Exchange:
    """A request, what is left to send of its body, and what arrived of its response."""

    expected: bytes
    left: bytes | None = None
    received: bytes = b""
    ended: bool = False
    owed: int = 0


@dataclass
class Conversation:
    """A client that does something at random in each step."""

    client: Client
    rng: random.Random
    exchanges: dict[int, Exchange] = field(default_factory=dict)
    reset: set[int] = field(default_factory=set)
    owed: int = 0
    window: int = 1
    changed: int = 1
    acknowledged: int = 0

    def __post_init__(self) -> None:
        config = h2.config.H2Configuration(client_side=True)
        self.connection = h2.connection.H2Connection(config)
        self.window = self.rng.choice((1, 100, 1_000, 65_535))
        settings = self.connection.local_settings
        settings[h2.settings.SettingCodes.INITIAL_WINDOW_SIZE] = self.window
        settings.acknowledge()
        self.connection.initiate_connection()

    def step(self) -> None:
        action = self.rng.choice(
            (self.get, self.get, self.post, self.upload, self.open, self.settings, self.give_up)
        )
        action()

    def _head(self, method: str, path: str, *, end: bool) -> int:
        number = self.connection.get_next_available_stream_id()
        headers = [(":method", method), (":path", path), (":scheme", "http"), (":authority", "a")]
        if self.rng.random() < 0.5:
            headers.append(("x-random", "a" * self.rng.randrange(300)))
        self.connection.send_headers(number, headers, end_stream=end)
        return number

    def get(self) -> None:
        size = self.rng.choice((0, 1, 5, 1_000, 16_384, 16_385, 65_535, 65_536, 200_000))
        kind = self.rng.choice(("whole", "parts"))
        number = self._head("GET", f"/{kind}/{size}", end=True)
        self.exchanges[number] = Exchange(content(size))

    def post(self) -> None:
        body = content(self.rng.choice((0, 1, 1_000, 70_000, 200_000)))
        number = self._head("POST", "/digest/0", end=False)
        expected = hashlib.sha256(body).hexdigest().encode()
        self.exchanges[number] = Exchange(expected, body)

    def upload(self) -> None:
        for number, exchange in self.exchanges.items():
            if exchange.left is None or number in self.reset:
                continue
            padding = self.rng.choice((None, 0, 200))
            room = self.connection.local_flow_control_window(number) - (padding or 0) - 1
            size = min(len(exchange.left), room, self.rng.choice((2_000, 16_000)))
            if size >= 0:
                part, rest = exchange.left[:size], exchange.left[size:]
                self.connection.send_data(
                    number, part, end_stream=not rest, pad_length=padding if size else None
                )
                exchange.left = rest or None

    def open(self) -> None:
        for number, exchange in self.exchanges.items():
            step = min(exchange.owed, self.rng.choice((100, 100_000)))
            if step and not exchange.ended and number not in self.reset:
                self.connection.increment_flow_control_window(step, number)
                exchange.owed -= step
        if self.owed:
            self.connection.increment_flow_control_window(self.owed)
            self.owed = 0

    def settings(self) -> None:
        # h2 takes the first acknowledgement for that of all, and an empty frame for too much where
        # a window is negative.
        if self.acknowledged < self.changed:
            return
        self.window = max(self.window, self.rng.choice((1, 100, 1_000, 65_535, 1_000_000)))
        codes = h2.settings.SettingCodes
        self.connection.update_settings(
            {
                codes.INITIAL_WINDOW_SIZE: self.window,
                codes.HEADER_TABLE_SIZE: self.rng.choice((0, 100, 4_096, 65_536)),
            }
        )
        self.changed += 1

    def give_up(self) -> None:
        numbers = [n for n, e in self.exchanges.items() if not e.ended and n not in self.reset]
        if numbers and len(self.reset) < 20:
            number = self.rng.choice(numbers)
            self.connection.reset_stream(number)
            self.reset.add(number)

    async def exchange(self, seconds: float) -> None:
        """Send what is queued, and read what arrives within ``seconds``."""
        await self.client.send(self.connection.data_to_send())
        with trio.move_on_after(seconds):
            data = await self.client.stream.receive_some(self.rng.choice((10, 1_000, 65_536)))
            assert data, "the connection ended"
            for event in self.connection.receive_data(data):
                self.handle(event)

    def handle(self, event: h2.events.Event) -> None:
        assert not isinstance(event, h2.events.StreamReset | h2.events.ConnectionTerminated), event
        if isinstance(event, h2.events.DataReceived):
            self.owed += event.flow_controlled_length
            exchange = self.exchanges[event.stream_id]
            exchange.owed += event.flow_controlled_length
            exchange.received += event.data
        elif isinstance(event, h2.events.SettingsAcknowledged):
            self.acknowledged += 1
        elif isinstance(event, h2.events.StreamEnded):
            self.exchanges[event.stream_id].ended = True

    @property
    def complete(self) -> bool:
        return all(e.ended or n in self.reset for n, e in self.exchanges.items())


@pytest.mark.parametrize("number", range(CONVERSATIONS))
async def test_random_conversation_is_complete_and_correct(number: int) -> None:
    async with serving(application, LIMITS) as server, server.client() as client:
        talk = Conversation(client, random.Random(number))
        for _ in range(STEPS):
            talk.step()
            await talk.exchange(0.001)
        while not talk.complete:
            talk.upload()
            talk.open()
            await talk.exchange(0.01)
        for stream, exchange in talk.exchanges.items():
            if stream not in talk.reset:
                assert exchange.received == exchange.expected, stream
