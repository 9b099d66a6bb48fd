"""Defer work until the server listens; it is done once, in a thread."""

import gc
import logging
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import trio
from antechamber.asgi import Application, Event, Receive, Scope, Send

from octavo.http import contract

T = TypeVar("T")

_log = logging.getLogger(__name__)


class LazyValue(Generic[T]):
    """A value that is computed in a thread when it is first needed.

    Args:
        compute: returns the value; what it raises propagates, and the next call tries again.
    """

    def __init__(self, compute: Callable[[], T]) -> None:
        self._compute = compute
        self._lock = trio.Lock()
        self._values: list[T] = []

    @property
    def made(self) -> T | None:
        """The value; None before it was computed."""
        return self._values[0] if self._values else None

    async def get(self) -> T:
        """Return the value. When cancelled, the thread goes on, and its value is dropped."""
        async with self._lock:
            if not self._values:
                self._values.append(
                    await trio.to_thread.run_sync(self._compute, abandon_on_cancel=True)
                )
        return self._values[0]


class LazyApplication:
    """An ASGI application that is loaded when the server has started.

    The lifespan reports its start immediately, and loads the application after it, so that loading
    delays neither the start nor the first request. Requests that come earlier wait. When the
    application can't be loaded, the log says why, and each request is rejected with 503.

    Args:
        load: returns the application, which has a lifespan of its own.
        started: loading waits for it; None to load immediately.
    """

    def __init__(
        self, load: Callable[[], Awaitable[Application]], started: trio.Event | None = None
    ) -> None:
        self._load = load
        self._started = started
        self._application: Application | None = None
        self._loaded = trio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one scope of ASGI; the lifespan has to run for requests to be served."""
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
            return
        await self._loaded.wait()
        await (self._application or _reject)(scope, receive, send)

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        pending = [await receive()]
        await send({"type": "lifespan.startup.complete"})
        if self._started is not None:
            await self._started.wait()
        try:
            application = await self._load()
            await self._run(application, scope, pending, receive, send)
            if self._application is None:
                raise RuntimeError("they ended before they had started")
        except Exception:
            if self._application is not None:
                raise
            _log.exception("the pages can't be served")
            self._loaded.set()
            await receive()
            await send({"type": "lifespan.shutdown.complete"})

    async def _run(
        self,
        application: Application,
        scope: Scope,
        pending: list[Event],
        receive: Receive,
        send: Send,
    ) -> None:
        async def receive_startup_first() -> Event:
            return pending.pop() if pending else await receive()

        async def note_startup(event: Event) -> None:
            if event["type"] == "lifespan.startup.complete":
                self._application = application
                self._loaded.set()
                # What was loaded lives as long as the process: the collector need not walk it.
                gc.freeze()
            elif event["type"] == "lifespan.startup.failed":
                raise RuntimeError(event.get("message", ""))
            else:
                await send(event)

        await application(scope, receive_startup_first, note_startup)


async def _reject(scope: Scope, receive: Receive, send: Send) -> None:
    body = b"This page can't be served: the log of the service says why.\n"
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        *contract.PAGE_HEADERS,
    ]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body})
