"""From a task of trio to asyncio and back, once for all that is to be done there."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import trio
import trio_asyncio  # type: ignore[import-untyped]
from outcome import capture

from octavo.store.errors import StoreUnavailable

T = TypeVar("T")


class Bridge:
    """Runs coroutines of asyncio for tasks of trio, whichever they are."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._closed = False

    async def run(self, coroutine: Coroutine[Any, Any, T], *, to_the_end: bool = False) -> T:
        """Run a coroutine and answer what it returns; what it raises comes out.

        When cancelled, the coroutine is, too, and this returns when it has ended; with
        ``to_the_end`` it is left to finish, so it must be bounded in time.

        Raises:
            StoreUnavailable: the bridge is closed, or was meanwhile.
        """
        if self._closed:
            coroutine.close()
            raise StoreUnavailable("the database was closed")
        waiting = trio.lowlevel.current_task()
        cancel: Callable[[], None] | None = None
        task = self._loop.create_task(coroutine)

        def wake(ended: asyncio.Task[T]) -> None:
            trio.lowlevel.reschedule(waiting, capture(ended.result))

        def give_up(raise_cancel: Callable[[], None]) -> trio.lowlevel.Abort:
            nonlocal cancel
            if not to_the_end:
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
        return result

    def close(self) -> None:
        """Let no further coroutine begin."""
        self._closed = True


@asynccontextmanager
async def open_bridge() -> AsyncIterator[Bridge]:
    """Run an asyncio loop for the block; at its end, what still runs there is cancelled."""
    async with trio_asyncio.open_loop() as loop:
        bridge = Bridge(loop)
        try:
            yield bridge
        finally:
            bridge.close()
