"""What a request costs over HTTP/2 and over HTTP/1.1: the calls of functions, counted."""

import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from types import FrameType

import hpack
import trio
import trio.testing

from octavo.http.contract.application import Application
from octavo.http.contract.call import Call
from octavo.http.contract.contract_model import ContractModel
from octavo.http.contract.memory_budget import MemoryBudget
from octavo.http.contract.operation import Security, operation
from octavo.http.server.http2.frames import (
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PREFACE,
    SETTINGS,
    frame,
)
from tests.fakes.http_server import QUICK, Client, serving

REQUESTS = 40
FIELDS = [
    (":method", "GET"),
    (":scheme", "http"),
    (":path", "/api/well"),
    (":authority", "a"),
    ("user-agent", "tests"),
    ("accept", "*/*"),
]
HTTP_1 = b"GET /api/well HTTP/1.1\r\nhost: a\r\nuser-agent: tests\r\naccept: */*\r\n\r\n"


class Well(ContractModel):
    status: str


class Wells:
    """A small operation."""

    @operation(
        id="well", method="GET", path="/api/well", tag="t", summary="Well", security=Security.NONE
    )
    async def well(self, call: Call) -> Well:
        return Well(status="well")


def application() -> Application:
    return Application(
        [Wells()], new_id=lambda: "made", log_request=lambda _: None, memory=MemoryBudget()
    )


async def calls(work: Callable[[], Awaitable[None]], rounds: int) -> int:
    """The calls of Python functions in ``rounds`` of ``work``, without those of the client."""
    client = trio.lowlevel.current_task()
    counted = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal counted
        if event == "call" and not is_client():
            counted += 1

    def is_client() -> bool:
        try:
            return trio.lowlevel.current_task() is client
        except RuntimeError:
            # Between two tasks.
            return False

    for _ in range(rounds):
        sys.setprofile(count)
        try:
            await work()
        finally:
            sys.setprofile(None)
    return counted


async def http_1(client: Client) -> None:
    response = await client.ask(HTTP_1)
    assert response.status == 200


class Http2Client:
    """Sends requests in the same bytes as most clients, and counts the ends of responses."""

    def __init__(self, client: Client, at_once: int) -> None:
        self._client = client
        self._encoder = hpack.Encoder()
        self._at_once = at_once
        self._next = 1

    async def begin(self) -> None:
        await self._client.send(PREFACE + frame(SETTINGS, 0, 0, b""))

    async def ask(self) -> None:
        sent = b""
        for _ in range(self._at_once):
            block = self._encoder.encode(FIELDS)
            sent += frame(HEADERS, END_HEADERS | END_STREAM, self._next, block)
            self._next += 2
        await self._client.send(sent)
        ended = 0
        while ended < self._at_once:
            data = await self._client.stream.receive_some(65_536)
            while data:
                size = int.from_bytes(data[:3])
                ended += data[3] in (0, 1) and data[4] & END_STREAM
                data = data[9 + size :]


async def costs(at_once: int) -> tuple[float, float]:
    """The calls of a request over HTTP/1.1, and of one of several at once over HTTP/2."""
    # Nothing else happens meanwhile: the watchdog sleeps.
    limits = replace(QUICK, tick=20)
    async with serving(application(), limits) as server:
        async with server.client() as client:
            await http_1(client)
            plain = await calls(lambda: http_1(client), REQUESTS)
        async with server.client() as client:
            asking = Http2Client(client, at_once)
            await asking.begin()
            await asking.ask()
            counted = await calls(asking.ask, REQUESTS // at_once)
    return plain / REQUESTS, counted / REQUESTS


async def test_request_alone_takes_less_than_three_times_the_calls_of_http_1_1() -> None:
    plain, counted = await costs(1)
    assert 40 < plain < 125
    assert counted < 260
    assert counted < 3 * plain


async def test_ten_requests_at_a_time_take_less_each() -> None:
    _, counted = await costs(10)
    assert counted < 200
