"""Run coroutines of asyncio from tasks of trio."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import Context
from typing import Any, TypeVar

import trio
import trio_asyncio  # type: ignore[import-untyped]
from outcome import capture

from octavo.store.errors import StoreUnavailable

T = TypeVar("T")


@asynccontextmanager
async def time_limit(seconds: float) -> AsyncIterator[None]:
    """Raise TimeoutError in the block after so many seconds; in asyncio.

    trio-asyncio keeps a timer until its time, also one that was cancelled, and a timer keeps the
    context in which it was set, with the request that is served there. This one has an empty one.
    """
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(None) as timeout:

        def expire() -> None:
            timeout.reschedule(loop.time())

        timer = loop.call_later(seconds, expire, context=Context())
        try:
            yield
        finally:
            timer.cancel()


class Bridge:
    """Runs coroutines of asyncio for any task of trio."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._closed = False

    async def run(self, coroutine: Coroutine[Any, Any, T], *, to_the_end: bool = False) -> T:
        """Run a coroutine and return its result; its exceptions propagate.

        When this is cancelled, the coroutine is cancelled, too, and this returns when it has ended.
        With ``to_the_end`` it is left to finish, so it must have a deadline.

        Raises:
            StoreUnavailable: the bridge is closed, or was closed in the meantime.
        """
        if self._closed:
            coroutine.close()
            raise StoreUnavailable("the database was closed")
        waiting = trio.lowlevel.current_task()
        cancel: Callable[[], None] | None = None
        task: asyncio.Task[T] | None
        task = self._loop.create_task(coroutine)

        def wake(ended: asyncio.Task[T]) -> None:
            trio.lowlevel.reschedule(waiting, capture(ended.result))

        def give_up(raise_cancel: Callable[[], None]) -> trio.lowlevel.Abort:
            nonlocal cancel
            if task is not None and not to_the_end:
                cancel = raise_cancel
                task.cancel()
            return trio.lowlevel.Abort.FAILED

        task.add_done_callback(wake)
        try:
            result: T = await trio.lowlevel.wait_task_rescheduled(give_up)
        except asyncio.CancelledError:
            if cancel is not None:
                cancel()
            raise StoreUnavailable("the database was closed", outcome_unknown=to_the_end) from None
        finally:
            # The task keeps its error, which refers to this frame.
            task = None
        return result

    def close(self) -> None:
        """Accept no further coroutines."""
        self._closed = True


@contextmanager
def ungrouped() -> Iterator[None]:
    """Raise a single exception of the block without the groups that nurseries add."""
    try:
        yield
    except BaseExceptionGroup as group:
        single: BaseException = group
        while isinstance(single, BaseExceptionGroup) and len(single.exceptions) == 1:
            single = single.exceptions[0]
        if single is group:
            raise
        try:
            raise single from single.__cause__
        finally:
            del single


@asynccontextmanager
async def open_bridge() -> AsyncIterator[Bridge]:
    """Run an asyncio loop for the block; at its end, running coroutines are cancelled."""
    async with trio_asyncio.open_loop() as loop:
        bridge = Bridge(loop)
        try:
            yield bridge
        finally:
            bridge.close()
