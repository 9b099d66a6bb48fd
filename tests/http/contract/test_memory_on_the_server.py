"""Clients that request a lot and read nothing, over real sockets."""

import gc
import json
import tracemalloc
from dataclasses import replace

import pytest
import trio
import trio.testing
from antechamber.asgi import Receive, Scope, Send

from octavo.http.contract.application import Application
from octavo.http.contract.bodies.json_body import json_body
from octavo.http.contract.call import Call
from octavo.http.contract.contract_model import Model
from octavo.http.contract.memory_budget import MemoryBudget
from octavo.http.contract.operation import Security, operation
from packages.antechamber.tests.http_server import QUICK, Client, Server, serving

MIB = 1024 * 1024
PATIENT = replace(
    QUICK, write_timeout=30, request_timeout=60, body_timeout=30, idle_timeout=60, tick=20
)
LARGE = b"GET /api/large HTTP/1.1\r\nhost: a\r\n\r\n"
SMALL = b"GET /api/small HTTP/1.1\r\nhost: a\r\n\r\n"


class Text(Model):
    text: str


class Texts:
    """Operations with texts, large and small."""

    @operation(
        id="large",
        method="GET",
        path="/api/large",
        tag="t",
        summary="Large",
        security=Security.NONE,
    )
    async def large(self, call: Call) -> Text:
        return Text(text="x" * (8 * MIB))

    @operation(
        id="small",
        method="GET",
        path="/api/small",
        tag="t",
        summary="Small",
        security=Security.NONE,
    )
    async def small(self, call: Call) -> Text:
        return Text(text="x")

    @operation(
        id="write",
        method="POST",
        path="/api/write",
        tag="t",
        summary="Write",
        security=Security.NONE,
        body=json_body(Text, limit=8 * MIB),
    )
    async def write(self, call: Call, body: Text) -> Text:
        return Text(text=str(len(body.text)))


def texts(budget: MemoryBudget) -> Application:
    return Application([Texts()], new_id=lambda: "made", log_request=lambda _: None, memory=budget)


async def other_client(server: Server) -> Client:
    """A client at another address of this machine."""
    stream = await trio.open_tcp_stream("127.0.0.1", server.port, local_address="127.0.0.2")
    return Client(stream)


async def test_unread_connections_stay_within_the_budget() -> None:
    budget = MemoryBudget()
    async with serving(texts(budget), PATIENT) as server:
        async with trio.open_nursery() as nursery:
            gc.collect()
            tracemalloc.start()
            try:
                streams = []
                for _ in range(30):
                    stream = await trio.open_tcp_stream("127.0.0.1", server.port)
                    await stream.send_all(LARGE)
                    streams.append(stream)
                await trio.testing.wait_all_tasks_blocked(0.1)
                grown = tracemalloc.get_traced_memory()[0]
            finally:
                tracemalloc.stop()
            assert 0 < budget.held <= 64 * MIB
            # What is held, and what is being sent on each connection.
            assert grown < 80 * MIB
            other = await other_client(server)
            response = await other.ask(LARGE)
            assert (response.status, len(response.body)) == (200, 8 * MIB + len('{"text":""}'))
            await other.stream.aclose()
            async with server.client() as same:
                assert (await same.ask(SMALL)).status == 200
                busy = await same.ask(LARGE)
                assert (busy.status, busy["retry-after"]) == (503, "1")
                assert json.loads(busy.body)["code"] == "server_busy"
            for stream in streams:
                nursery.start_soon(trio.aclose_forcefully, stream)
        with trio.fail_after(5):
            while budget.held:
                await trio.testing.wait_all_tasks_blocked(0.05)


async def test_application_waits_for_a_client_that_does_not_read() -> None:
    made = 0

    async def endless(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal made
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while True:
            made += 1
            await send({"type": "http.response.body", "body": bytes(MIB), "more_body": True})

    async with serving(endless, PATIENT) as server, server.client() as client:
        await client.send(LARGE)
        await trio.testing.wait_all_tasks_blocked(0.1)
        # The kernel keeps some MiB for the two ends of the connection.
        assert 1 <= made < 64


@pytest.mark.parametrize("size", [65_536, 65_537, 1_000_000])
@pytest.mark.parametrize("chunked", [True, False])
async def test_response_larger_than_a_write_arrives_complete(size: int, chunked: bool) -> None:
    content = bytes(range(256)) * (size // 256) + bytes(size % 256)

    async def large(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": content, "more_body": chunked})
        if chunked:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async with serving(large, PATIENT) as server, server.client() as client:
        assert (await client.ask(LARGE)).body == content


@pytest.mark.parametrize("framing", [b"content-length: 8000000", b"transfer-encoding: chunked"])
async def test_body_without_memory_is_refused_before_it_arrives(framing: bytes) -> None:
    budget = MemoryBudget(16 * MIB, 8 * MIB)
    head = b"POST /api/write HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n"
    async with serving(texts(budget), PATIENT) as server:
        async with server.client() as slow, server.client() as refused:
            await slow.send(head + b"content-length: 8000000\r\n\r\n" + bytes(7_999_999))
            await trio.testing.wait_all_tasks_blocked(0.1)
            assert budget.held == 7_999_999
            busy = await refused.ask(head + framing + b"\r\n\r\n")
            assert (busy.status, busy["retry-after"], busy["connection"]) == (503, "1", "close")
            other = await other_client(server)
            body = b'{"text":"%b"}' % (b"x" * 100_000)
            length = b"content-length: %d\r\n\r\n" % len(body)
            assert (await other.ask(head + length + body)).body == b'{"text":"100000"}'
            await other.stream.aclose()
        with trio.fail_after(5):
            while budget.held:
                await trio.testing.wait_all_tasks_blocked(0.05)


async def test_announced_body_holds_nothing_until_it_arrives() -> None:
    budget = MemoryBudget(16 * MIB, 8 * MIB)
    head = b"POST /api/write HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n"
    async with serving(texts(budget), PATIENT) as server, server.client() as slow:
        await slow.send(head + b"content-length: 8000000\r\n\r\n{")
        await trio.testing.wait_all_tasks_blocked(0.1)
        assert budget.held == 1
        async with server.client() as same:
            body = b'{"text":"%b"}' % (b"x" * 7_000_000)
            length = b"content-length: %d\r\n\r\n" % len(body)
            assert (await same.ask(head + length + body)).body == b'{"text":"7000000"}'


async def test_unread_responses_give_way_to_those_of_another_client() -> None:
    # Room for three, and for the making of a third, but not of a fourth.
    budget = MemoryBudget(42 * MIB, 42 * MIB)
    async with serving(texts(budget), PATIENT) as server:
        unread = []
        for _ in range(3):
            stream = await trio.open_tcp_stream("127.0.0.1", server.port)
            await stream.send_all(LARGE)
            unread.append(stream)
        await trio.testing.wait_all_tasks_blocked(0.1)
        assert budget.held > 24 * MIB
        other = await other_client(server)
        response = await other.ask(LARGE)
        assert (response.status, len(response.body)) == (200, 8 * MIB + len('{"text":""}'))
        await trio.testing.wait_all_tasks_blocked(0.1)
        # One of the three was enough.
        assert 16 * MIB < budget.held < 17 * MIB
        for each in (*unread, other.stream):
            await trio.aclose_forcefully(each)
        with trio.fail_after(5):
            while budget.held:
                await trio.testing.wait_all_tasks_blocked(0.05)
