"""Coroutines of asyncio that are run for tasks of trio."""

import asyncio
import gc
import weakref
from contextvars import ContextVar

import pytest

from octavo.store.postgres.bridge import open_bridge, time_limit


class Request:
    """What is served."""


served: ContextVar[Request | None] = ContextVar("served", default=None)


async def within(seconds: float, work: float) -> str:
    async with time_limit(seconds):
        await asyncio.sleep(work)
    return "done"


async def test_time_limit_ends_what_takes_longer() -> None:
    async with open_bridge() as bridge:
        assert await bridge.run(within(30, 0)) == "done"
        with pytest.raises(TimeoutError):
            await bridge.run(within(0.01, 30))
        # The timer of one that has ended in time does nothing later.
        assert await bridge.run(within(0.01, 0)) == "done"
        assert await bridge.run(within(30, 0.05)) == "done"


async def test_time_limit_keeps_nothing_of_the_request_after_its_end() -> None:
    request = Request()
    ended = weakref.ref(request)
    async with open_bridge() as bridge:
        token = served.set(request)
        await bridge.run(within(30, 0))
        served.reset(token)
        del request, token
        # Another one passes through the loop.
        await bridge.run(within(30, 0))
        gc.collect()
        assert ended() is None
