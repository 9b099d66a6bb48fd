"""Build the whole from the settings, run it, and stop it.

A stop goes in steps, all within the grace time: readiness turns 503; requests are still taken
for the drain time; the listener closes and idle connections with it; requests in flight finish;
what is left is cut off. Here alone are identifiers made and is the clock read: every other
module is handed what it needs.
"""

import logging
import os
import random
import signal
import socket
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from functools import partial
from typing import cast

import trio

from octavo.actors.core import Runtime, Supervisor, WorkerContext, WorkerSpec
from octavo.http.application import Application
from octavo.http.listener import open_listener
from octavo.http.openapi import document
from octavo.http.operations.contract import ContractOperations
from octavo.http.operations.service import Readiness, Requirement, ServiceOperations
from octavo.http.pages import pages
from octavo.http.problems import PROBLEMS
from octavo.http.request_log import RequestLog, RequestRecord, request_log
from octavo.http.wire import (
    WIRE_PROBLEMS,
    Certificate,
    Limits,
    Refused,
    WireOptions,
    check_certificate,
    make_room,
    serve,
)
from octavo.http.wire.asgi import Application as ASGIApplication
from octavo.log import Log, LogFormat, configure
from octavo.settings import Settings

# The settings were checked before anything started; the rooms to come add their own.
REQUIREMENTS = (
    Requirement("configuration", met=True, detail="The settings were read and checked."),
)
# How long the cut-off at the end of the grace time may itself take.
CUT_OFF_SECONDS = 0.5
CONTRACT_VERSION = "0.1.0"
# Every class whose methods declare operations.
CONTRACT = (ServiceOperations, ContractOperations)

_log = logging.getLogger(__name__)


def new_id() -> str:
    """Make an identifier that no other process makes, too."""
    return str(uuid.uuid4())


def start_log(settings: Settings) -> Log:
    """Make this process log to standard error from now on, and answer its log."""
    log_format: LogFormat = "json" if settings.log_format == "json" else "console"
    # Python has no standard error when the process was started without one.
    stream = open(os.devnull, "wb") if sys.stderr is None else sys.stderr.buffer  # noqa: SIM115
    return configure(log_format, stream, time.time)


async def run(settings: Settings, log: Log) -> None:
    """Run the service until SIGTERM or SIGINT, then stop it within ``settings.grace`` seconds.

    A signal while it still starts ends it there and then, a second one ends the process at once.
    Raises `ListenError` when the address can't be listened on and `CertificateError` when TLS
    can't be spoken, with nothing started, and, in an exception group, `RestartIntensityExceeded`
    when a part keeps failing. Cancelling cuts off what is in flight.
    """
    certificate = _certificate(settings)
    if certificate is not None:
        check_certificate(certificate)
    with closing(await open_listener(settings.host, settings.port)) as listener:
        phase = _Phase()
        root = build_tree(settings, listener, phase, log)
        async with trio.open_nursery() as nursery:
            await nursery.start(_stop_on_signal, settings, listener, phase)
            with phase.starting:
                async with root.running():
                    phase.started.set()
                    # Not before: whoever reads this may ask for the stop, and gets it in order.
                    _log.info("Octavo listens on %s", phase.url)
                    await phase.shutdown.wait()
            nursery.cancel_scope.cancel(reason="every part has stopped")


class _Phase:
    """How far the process is between its start and its end."""

    def __init__(self) -> None:
        self.starting = trio.CancelScope()
        self.url = ""
        self.started, self.stopping, self.shutdown = trio.Event(), trio.Event(), trio.Event()

    def readiness(self) -> Readiness:
        return Readiness(REQUIREMENTS, stopping=self.stopping.is_set())


def build_tree(settings: Settings, listener: socket.socket, phase: _Phase, log: Log) -> Supervisor:
    """Put every part of the service under supervision; nothing runs yet."""
    root = Supervisor("octavo", runtime=Runtime(random=random.random))

    async def http(worker: WorkerContext) -> None:
        async with trio.open_nursery() as nursery:
            serve_until_stopped = partial(
                serve_http,
                settings,
                listener=listener,
                readiness=phase.readiness,
                log_request=request_log(log.write),
                shutdown=worker.stopping,
            )
            phase.url = await nursery.start(serve_until_stopped)
            worker.started()

    rest = settings.grace - settings.drain + CUT_OFF_SECONDS
    root.add(WorkerSpec("http", http, reports_ready=True, drain_timeout=rest))
    return root


async def serve_http(
    settings: Settings,
    *,
    listener: socket.socket,
    readiness: Callable[[], Readiness],
    log_request: RequestLog,
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
    described = document(CONTRACT, title="Octavo", version=CONTRACT_VERSION)
    application = Application(
        [ServiceOperations(readiness), ContractOperations(described)],
        new_id=new_id,
        log_request=log_request,
        # Quart has types of its own for ASGI.
        fallback=cast(
            ASGIApplication,
            pages(api_document=ContractOperations.PATH, problems=[*PROBLEMS, *WIRE_PROBLEMS]),
        ),
    )
    async with trio.open_nursery() as nursery:
        [url] = await nursery.start(
            partial(
                serve,
                application,
                [listener],
                wire_options(settings, log_request),
                shutdown=shutdown.wait,
                grace=settings.grace - settings.drain,
                certificate=_certificate(settings),
            )
        )
        task_status.started(url)


def wire_options(settings: Settings, log_request: RequestLog) -> WireOptions:
    """Answer how the wire works under ``settings``; what it refuses is logged like a request.

    Raises this process's limit of open files as far as it may, for the connections to come.
    """
    room = make_room(settings.connections)
    if room < settings.connections:
        _log.warning(
            "this process may open files for %d connections only, not for %d: "
            "raise its limit (ulimit -n), or lower OCTAVO_CONNECTIONS",
            room,
            settings.connections,
        )

    def log_refused(refused: Refused) -> None:
        if refused.seen:
            # The application logs what it had, and knows more of it.
            return
        log_request(
            RequestRecord(
                request_id=refused.request_id,
                method=refused.method,
                path=refused.path,
                operation=None,
                status=refused.status,
                duration=0.0,
                client=refused.client,
                request_bytes=0,
                response_bytes=refused.size,
                principal=None,
                failure=refused.code,
            )
        )

    return WireOptions(
        now=time.time,
        new_id=new_id,
        limits=Limits(
            head_time=settings.head_time,
            head_size=settings.head_size,
            header_count=settings.header_count,
            target_length=settings.target_length,
            body_idle_time=settings.body_idle_time,
            request_time=settings.request_time,
            idle_time=settings.idle_time,
            write_time=settings.write_time,
            connections=room,
            connections_per_client=settings.connections_per_client,
            requests_per_connection=settings.requests_per_connection,
        ),
        trusted_proxies=settings.trusted_proxies,
        proxy_header="forwarded" if settings.proxy_header == "forwarded" else "x-forwarded",
        log_refused=log_refused,
    )


def _certificate(settings: Settings) -> Certificate | None:
    if not settings.tls_certificate:
        return None
    return Certificate(settings.tls_certificate, settings.tls_key)


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
        _log.info("Octavo stops: what is in flight has up to %g seconds", settings.grace)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_end_on_next, signals)
            await trio.sleep(settings.drain)
            listener.close()
            phase.shutdown.set()
            await trio.sleep_forever()


async def _end_on_next(signals: AsyncIterator[int]) -> None:
    signum = await anext(signals)
    signal.signal(signum, signal.SIG_DFL)
    signal.raise_signal(signum)
