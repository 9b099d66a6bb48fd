"""Worker processes that are kept for the next work."""

import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar

import trio

from octavo.workers.worker import Worker, WorkerFailed, WorkRefused, start_worker

_log = logging.getLogger(__name__)

IDLE_SECONDS = 300.0
"""Seconds without work after which a process ends: each takes some 15 MB."""
MOST_PROCESSES = 4
"""Processes of a pool whose size is not given; fewer on fewer processors."""

P = ParamSpec("P")
T = TypeVar("T")


class RunWork(Protocol):
    """Runs a function in a worker process: `WorkerPool.run`, or what replaces it in tests."""

    def __call__(
        self, function: Callable[P, T], *arguments: P.args, **named: P.kwargs
    ) -> Awaitable[T]:
        """Return the result of ``function``. Raises the same errors as `WorkerPool.run`."""


class WorkerPool:
    """Runs functions in worker processes.

    A process is started when one is needed, and kept until it has been idle for `IDLE_SECONDS`; one
    that is started ahead stays.

    Args:
        size: the maximum number of processes; None for one a processor, and at most
            `MOST_PROCESSES`.
        seconds: after which a process that has not done its work is killed.
        preloaded: modules that a process imports when it starts.
        max_memory: bytes of address space of a process; None for any.
        max_seconds: processor time that a function may take; None for any.
        folder: the only folder whose files functions may use, as an absolute path; it exists when
            they are called. None for no files.
        threads: whether functions start threads.
        ahead: whether to start a process before the first work.

    Attributes:
        size: the maximum number of processes.
    """

    def __init__(
        self,
        size: int | None = None,
        *,
        seconds: float,
        preloaded: Sequence[str] = (),
        max_memory: int | None = None,
        max_seconds: int | None = None,
        folder: Path | None = None,
        threads: bool = False,
        ahead: bool = False,
    ) -> None:
        size = size or min(os.cpu_count() or 1, MOST_PROCESSES)
        self._ahead = ahead
        self.size = size
        self._limiter = trio.CapacityLimiter(size)
        self._seconds = seconds
        self._start = partial(
            start_worker, preloaded, max_memory, max_seconds, folder, threads=threads
        )
        self._idle: list[Worker] = []
        self._wanted = trio.Event()

    @property
    def idle(self) -> int:
        """The number of processes that wait for work."""
        return len(self._idle)

    async def run(self, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Return the result of ``function``, a function of a module, for ``arguments``.

        Arguments and result are JSON; there are no named arguments.

        Raises:
            WorkRefused: the function raised a ValueError.
            WorkTooLarge: it exceeded its memory or processor time, or crashed the process.
            WorkerFailed: there is no process, it was killed, ran out of memory, or took too long.
                The reason is logged; the work may have been done in part.

        If cancelled while the function runs, its process is killed.
        """
        try:
            return await self._run(function, *arguments, **named)
        except WorkerFailed as error:
            _log.warning("work was not done: %s", error)
            raise

    async def _run(self, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        async with self._limiter:
            worker = await self._worker()
            try:
                with trio.fail_after(self._seconds):
                    result = await worker.call(function, *arguments, **named)
            except WorkRefused:
                self._keep(worker)
                raise
            except trio.TooSlowError:
                await worker.end()
                raise WorkerFailed(f"a worker process took over {self._seconds:g} s") from None
            except BaseException:
                await worker.end()
                raise
            self._keep(worker)
            return result

    async def serve(self) -> None:
        """Start processes that are wanted ahead, and end all processes when cancelled.

        A process that can't be started is logged; it is tried again when one is needed.
        """
        try:
            if self._ahead:
                await self._start_one()
            while True:
                with trio.move_on_after(IDLE_SECONDS / 2):
                    await self._wanted.wait()
                if not self._wanted.is_set():
                    await self._end_unused()
                    continue
                self._wanted = trio.Event()
                async with trio.open_nursery() as nursery:
                    for _ in range(self.size - len(self._idle)):
                        nursery.start_soon(self._start_one)
        finally:
            while self._idle:
                await self._idle.pop().end()

    def prepare(self) -> None:
        """Start all processes, because there will be work soon."""
        self._wanted.set()

    async def _start_one(self) -> None:
        async with self._limiter:
            # Work that came first may have started one, and finished.
            if len(self._idle) + self._limiter.borrowed_tokens > self.size:
                return
            try:
                self._keep(await self._start())
            except WorkerFailed as error:
                _log.warning("%s; it is tried again when one is needed", error)

    def _keep(self, worker: Worker) -> None:
        worker.idle_since = trio.current_time()
        self._idle.append(worker)

    async def _end_unused(self) -> None:
        before = trio.current_time() - IDLE_SECONDS
        # Work takes the one that was kept last.
        while len(self._idle) > self._ahead and self._idle[0].idle_since <= before:
            await self._idle.pop(0).end()

    async def _worker(self) -> Worker:
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                return worker
            await worker.end()
        return await self._start()
