"""Build the whole from the settings, run it, and stop it.

A stop goes in steps, all within the grace time: readiness turns 503; requests are still taken
for the drain time; the listener closes and idle connections with it; requests in flight finish;
what is left is cut off. Here alone are identifiers made: every other module is handed what it
needs.
"""

import os
import random
import signal
import socket
import sys
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from functools import partial

import trio
from hypercorn.config import Config
from hypercorn.trio import serve

from octavo.actors.core import Runtime, Supervisor, WorkerContext, WorkerSpec
from octavo.http.health import HealthApplication, Readiness, Requirement
from octavo.http.listener import BACKLOG, open_listener
from octavo.settings import Settings

# The settings were checked before anything started; the rooms to come add their own.
REQUIREMENTS = (Requirement("configuration", met=True),)
IDLE_CONNECTION_SECONDS = 75
# How long the cut-off at the end of the grace time may itself take.
CUT_OFF_SECONDS = 0.5


def new_id() -> str:
    """Make an identifier that no other process makes, too."""
    return str(uuid.uuid4())


async def run(settings: Settings) -> None:
    """Run the service until SIGTERM or SIGINT, then stop it within ``settings.grace`` seconds.

    A signal while it still starts ends it there and then, a second one ends the process at once.
    Raises `ListenError`, with nothing started, when the address can't be listened on, and, in an
    exception group, `RestartIntensityExceeded` when a part keeps failing. Cancelling cuts off
    what is in flight.
    """
    with closing(await open_listener(settings.host, settings.port)) as listener:
        phase = _Phase()
        root = build_tree(settings, listener, phase)
        async with trio.open_nursery() as nursery:
            await nursery.start(_stop_on_signal, settings, listener, phase)
            with phase.starting:
                async with root.running():
                    phase.started.set()
                    await phase.shutdown.wait()
            nursery.cancel_scope.cancel(reason="every part has stopped")


class _Phase:
    """How far the process is between its start and its end."""

    def __init__(self) -> None:
        self.starting = trio.CancelScope()
        self.started, self.stopping, self.shutdown = trio.Event(), trio.Event(), trio.Event()

    def readiness(self) -> Readiness:
        return Readiness(REQUIREMENTS, stopping=self.stopping.is_set())


def build_tree(settings: Settings, listener: socket.socket, phase: _Phase) -> Supervisor:
    """Put every part of the service under supervision; nothing runs yet."""
    root = Supervisor("octavo", runtime=Runtime(random=random.random))

    async def http(worker: WorkerContext) -> None:
        async with trio.open_nursery() as nursery:
            serve_until_stopped = partial(
                serve_http,
                settings,
                listener=listener,
                readiness=phase.readiness,
                shutdown=worker.stopping,
            )
            url = await nursery.start(serve_until_stopped)
            _say(f"Octavo listens on {url}")
            worker.started()

    rest = settings.grace - settings.drain + CUT_OFF_SECONDS
    root.add(WorkerSpec("http", http, reports_ready=True, drain_timeout=rest))
    return root


async def serve_http(
    settings: Settings,
    *,
    listener: socket.socket,
    readiness: Callable[[], Readiness],
    shutdown: trio.Event,
    task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Answer HTTP on ``listener`` until ``shutdown`` is set, then stop gracefully.

    Started with the address served, as a URL. After ``shutdown`` idle connections close at once
    and requests in flight have what the drain time left of ``settings.grace`` seconds. The
    listener is shared, not taken: whoever opened it closes it, so a restart serves the same port.
    Cancelling closes every connection.
    """
    # A start that is called off must not touch the listener, which may be closed by then.
    await trio.lowlevel.checkpoint_if_cancelled()
    remaining = settings.grace - settings.drain
    cut_off = trio.CancelScope()

    async def stop_asked() -> None:
        await shutdown.wait()
        cut_off.deadline = trio.current_time() + remaining

    config = Config()
    # hypercorn closes the sockets that it serves: it gets a copy.
    config.bind = [f"fd://{os.dup(listener.fileno())}"]
    config.backlog = BACKLOG
    config.graceful_timeout = remaining
    config.keep_alive_timeout = IDLE_CONNECTION_SECONDS
    config.include_server_header = False
    config.loglevel = "WARNING"
    application = HealthApplication(new_id=new_id, readiness=readiness)
    with cut_off:
        async with trio.open_nursery() as nursery:
            [url] = await nursery.start(
                partial(serve, application, config, shutdown_trigger=stop_asked, mode="asgi")
            )
            task_status.started(url)


async def _stop_on_signal(
    settings: Settings,
    listener: socket.socket,
    phase: _Phase,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        await anext(signals)
        if not phase.started.is_set():
            phase.starting.cancel(reason="a signal asked for the stop")
        phase.stopping.set()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_end_on_next, signals)
            await trio.sleep(settings.drain)
            listener.close()
            phase.shutdown.set()
            await trio.sleep(settings.grace - settings.drain + CUT_OFF_SECONDS)
            # hypercorn shields its sends: a client that stopped reading withstands cancellation.
            _say("Octavo was stopped by force: a connection withstood the end of the grace time")
            os._exit(1)


async def _end_on_next(signals: AsyncIterator[int]) -> None:
    signum = await anext(signals)
    signal.signal(signum, signal.SIG_DFL)
    signal.raise_signal(signum)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
