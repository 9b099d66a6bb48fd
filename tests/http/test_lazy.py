"""Lazy values: computed once, in a thread, and before the first request that needs it."""

import threading
from collections.abc import Awaitable, Callable

import pytest
import trio
import trio.testing
from antechamber.asgi import Application, Event, Receive, Scope, Send

from octavo.http.lazy import LazyApplication, LazyValue


async def test_value_is_computed_once_however_many_need_it() -> None:
    threads: list[int] = []

    def compute() -> str:
        threads.append(threading.get_ident())
        return "value"

    deferred = LazyValue(compute)
    found: list[str] = []

    async def need() -> None:
        found.append(await deferred.get())

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(need)
    assert found == ["value"] * 5
    assert len(threads) == 1
    assert threads[0] != threading.get_ident()


class Inner:
    """An application that records the requests that reach it."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.seen.append(scope["type"])
        if scope["type"] == "lifespan":
            for _ in range(2):
                event = await receive()
                self.seen.append(event["type"])
                await send({"type": f"{event['type']}.complete"})


async def test_application_starts_immediately_is_loaded_on_request_and_keeps_requests_waiting() -> (
    None
):
    inner, started = Inner(), trio.Event()

    async def load() -> Application:
        await trio.lowlevel.checkpoint()
        return inner

    application = LazyApplication(load, started)
    to_application, events = trio.open_memory_channel[Event](2)
    sent: list[str] = []

    async def send(event: Event) -> None:
        sent.append(event["type"])

    async with trio.open_nursery() as nursery:
        nursery.start_soon(application, {"type": "lifespan"}, events.receive, send)
        nursery.start_soon(application, {"type": "http"}, events.receive, send)
        await to_application.send({"type": "lifespan.startup"})
        await trio.testing.wait_all_tasks_blocked()
        assert (sent, inner.seen) == (["lifespan.startup.complete"], [])
        started.set()
        await trio.testing.wait_all_tasks_blocked()
        assert inner.seen == ["lifespan", "lifespan.startup", "http"]
        await to_application.send({"type": "lifespan.shutdown"})
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


class Failing:
    """An application that reports that it can't start."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no template"})


async def load_nothing() -> Application:
    raise RuntimeError("no template")


async def load_failing() -> Application:
    await trio.lowlevel.checkpoint()
    return Failing()


@pytest.mark.parametrize("load", [load_nothing, load_failing])
async def test_application_that_cannot_be_loaded_is_logged_and_each_request_gets_503(
    load: Callable[[], Awaitable[Application]], caplog: pytest.LogCaptureFixture
) -> None:
    application = LazyApplication(load)
    to_application, events = trio.open_memory_channel[Event](2)
    sent: list[Event] = []

    async def send(event: Event) -> None:
        sent.append(event)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(application, {"type": "lifespan"}, events.receive, send)
        nursery.start_soon(application, {"type": "http"}, events.receive, send)
        await to_application.send({"type": "lifespan.startup"})
        await trio.testing.wait_all_tasks_blocked()
        assert [event.get("status") for event in sent] == [None, 503, None]
        await to_application.send({"type": "lifespan.shutdown"})
    assert [sent[0]["type"], sent[-1]["type"]] == [
        "lifespan.startup.complete",
        "lifespan.shutdown.complete",
    ]
    [record] = caplog.records
    assert record.exc_text is not None
    assert "no template" in record.exc_text
