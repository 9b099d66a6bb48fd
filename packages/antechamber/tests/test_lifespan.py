"""An application with a lifespan, without one, and with one that fails."""

import logging

import pytest
import trio
from antechamber.asgi import Application, Receive, Scope, Send
from hypercorn.utils import LifespanFailureError

from .http_server import echo, serving


def living(live: Application) -> Application:
    """Return an application with the lifespan ``live`` that echoes requests."""

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        await (live if scope["type"] == "lifespan" else echo)(scope, receive, send)

    return application


async def returns(scope: Scope, receive: Receive, send: Send) -> None:
    return


async def refuses(scope: Scope, receive: Receive, send: Send) -> None:
    raise ValueError("no such scope")


async def starts_and_returns(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "lifespan.startup.complete"})


@pytest.mark.parametrize("live", [returns, refuses, starts_and_returns])
async def test_application_with_a_partial_lifespan_is_served_and_stops(live: Application) -> None:
    async with serving(living(live)) as server:
        assert await server.is_well()
        server.shutdown.set()
        with trio.fail_after(5):
            await server.ended.wait()


async def test_application_that_fails_to_start_fails_the_start_and_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fails(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        raise RuntimeError("the database is gone")

    with pytest.RaisesGroup(LifespanFailureError, flatten_subgroups=True):
        async with serving(living(fails)) as server:
            await server.ended.wait()
    [record] = [r for r in caplog.records if r.levelno >= logging.ERROR]
    assert record.exc_info is not None
    assert "the database is gone" in str(record.exc_info[1])


async def test_lifespan_gets_start_and_stop_once() -> None:
    seen: list[str] = []

    async def keeps(scope: Scope, receive: Receive, send: Send) -> None:
        for _ in range(2):
            event = await receive()
            seen.append(event["type"])
            await send({"type": f"{event['type']}.complete"})

    async with serving(living(keeps)) as server:
        assert await server.is_well()
        server.shutdown.set()
        await server.ended.wait()
    assert seen == ["lifespan.startup", "lifespan.shutdown"]
