"""Work in threads that ends when it is cancelled, and commands that end on a signal."""

import signal
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

import trio
from outcome import capture

T = TypeVar("T")

# An interrupt that arrives between two statements has no effect, so it is repeated.
INTERRUPT_EVERY = 0.01
INTERRUPT_FOR = 60.0
WATCH_EVERY = 0.1
"""Seconds between two looks at work that is watched."""

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(Exception):
    """A signal ended the work before it was done."""


async def in_thread(
    work: Callable[[], T], interrupt: Callable[[], None], watch: Callable[[], None] = lambda: None
) -> T:
    """Run ``work`` in a thread and return its result; what it raises propagates.

    ``watch`` is called every `WATCH_EVERY` seconds meanwhile, and must not raise. When cancelled,
    ``interrupt`` is called until the thread has ended, and its result is dropped.
    """
    finished = False

    async def keep_watching() -> None:
        while True:
            watch()
            await trio.sleep(WATCH_EVERY)

    async def interrupt_when_cancelled() -> None:
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            with trio.move_on_after(INTERRUPT_FOR, shield=True):
                while not finished:
                    interrupt()
                    await trio.sleep(INTERRUPT_EVERY)
            raise

    async with trio.open_nursery() as nursery:
        nursery.start_soon(interrupt_when_cancelled)
        nursery.start_soon(keep_watching)
        try:
            outcome = await trio.to_thread.run_sync(partial(capture, work))
        finally:
            finished = True
        nursery.cancel_scope.cancel(reason="the thread has ended")
    await trio.lowlevel.checkpoint_if_cancelled()
    return outcome.unwrap()


async def until_signal(work: Callable[[], Awaitable[T]]) -> T:
    """Run ``work`` and return its result; SIGINT, SIGTERM and SIGHUP cancel it.

    Raises `Interrupted` when a signal ended it, and what it raises, outside any group.
    """
    results: list[T] = []
    errors: list[Exception] = []

    async def run() -> None:
        try:
            results.append(await work())
        except Exception as error:  # noqa: BLE001  # raised below, outside the nursery
            errors.append(error)
        nursery.cancel_scope.cancel(reason="the work has ended")

    with trio.open_signal_receiver(*_ENDING) as signals:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            await anext(signals)
            nursery.cancel_scope.cancel(reason="a signal")
    if errors:
        raise errors[0]
    if not results:
        raise Interrupted
    return results[0]
