"""Run the service, and stop it.

A stop has these steps, all within the shutdown timeout: readiness becomes 503; requests are still
accepted for the drain timeout; the listener and idle connections close; requests in flight finish;
what is left is cut off.
"""

import ctypes
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import closing, suppress
from functools import partial
from typing import Final

import trio
from antechamber import Certificate, check_certificate, serve
from antechamber.asgi import Application as ASGIApplication
from antechamber.asgi import Receive, Scope
from antechamber.limits import ServerUsage
from antechamber.listener import open_listener
from greenroom import Runtime, Supervisor, WorkerContext, WorkerSpec, render_tree

from octavo import __version__
from octavo.access.after_commit import AfterCommit
from octavo.access.audit import audit_log, server_audit
from octavo.access.entropy import jitter, new_id, now
from octavo.control.serving import Commands, control_listener, serve_control
from octavo.features.accounts.passwords import Passwords
from octavo.features.archives.job import free_slots_left
from octavo.features.legal.feature import Legal, read_legal
from octavo.features.members.invitations_of_terminal import first_invitation
from octavo.http import contract
from octavo.log import Log, LogFormat, configure, in_rounds
from octavo.model.access.audit import AuditEntry
from octavo.service.components import build_service
from octavo.service.features import LISTENERS
from octavo.service.readiness import ReadinessProbe
from octavo.service.server_options import server_options
from octavo.service.settings import Settings
from octavo.service.wiring import wire_application
from octavo.settings.addresses import Bind, is_local, local_origin
from octavo.store.data_folder import holding
from octavo.store.engine import StoreEngine, open_engine
from octavo.store.open_blobs import BlobFolders, open_blob_folders

CUT_OFF_SECONDS = 2.0
"""Seconds that the cut-off at the end of the shutdown timeout may take.

2,000 connections of clients that don't read took up to 1.75 s on two slow cores, beside two busy
processes.
"""
INVITATION_FILE = "administrator-link.txt"
"""The file in the data folder with the link of the first administrator, unless a terminal has it.
"""
_FIRST = "There is no account yet. Create the first one, an administrator, within an hour"
LARGE_BLOCK = 256 * 1024
"""Bytes of a block that is returned to the system when it is freed."""
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8

_log = logging.getLogger(__name__)


def start_log(settings: Settings) -> Log:
    """Make this process log to standard error from now on, and return its log."""
    log_format: LogFormat = "json" if settings.log_format == "json" else "console"
    # Python has no standard error when the process was started without one.
    stream = open(os.devnull, "wb") if sys.stderr is None else sys.stderr.buffer  # noqa: SIM115
    return configure(log_format, stream, now)


def return_large_blocks() -> None:
    """Let the C library return each large block of memory to the system when it is freed.

    glibc does so at first, but keeps larger and larger ones for reuse the more it frees, up to
    32 MiB (mallopt(3), M_MMAP_THRESHOLD). The texts of notes leave gaps there that later ones don't
    fit into: the process takes more memory than `MemoryBudget` admits. So would threads that each
    have a heap of their own (M_ARENA_MAX). Other C libraries have no such settings.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_M_MMAP_THRESHOLD, LARGE_BLOCK)
        set_option(_M_ARENA_MAX, 1)


async def run(settings: Settings, log: Log, *, new: bool = False) -> None:
    """Run the service until SIGTERM or SIGINT, then stop it within the shutdown timeout.

    If there are images but no database, the database was lost: the service does not start with an
    empty one unless ``new`` is True.

    A signal during the start ends it immediately; a second one ends the process immediately.
    Raises, with nothing started: `ListenError` when the address can't be listened on,
    `DataFolderError` when the data folder can't be used or another server uses it,
    `BlobsUnavailable` when files can't be stored in it,
    `CertificateError` when TLS can't be spoken, `LegalTextError` when a legal document can't
    be used, `StoreError` when the database can't be opened;
    and, in an exception group, `RestartIntensityExceeded` when a part keeps failing. Cancelling
    cuts off what is in flight.
    """
    return_large_blocks()
    certificate = _certificate(settings)
    if certificate is not None:
        check_certificate(certificate)
    bind = settings.bind
    with (
        in_rounds(log) as rounds,
        holding(settings.data_dir) as private,
        control_listener(settings.data_dir) as control,
        closing(await open_listener(bind.host, bind.port)) as listener,
    ):
        settings = _at_port(settings, listener)
        if not private:
            _log.warning(
                "others on this machine may look into the data folder: chmod 700 %s",
                settings.data_dir.absolute(),
            )
        phase = _Phase()
        async with trio.open_nursery() as nursery:
            await nursery.start(_stop_on_signal, settings, listener, phase)
            with phase.starting:
                legal = await read_legal(settings)
                async with open_engine(
                    settings, LISTENERS, random=jitter, serving=True, new=new
                ) as engine:
                    folders = await open_blob_folders(settings, new_id())
                    if engine.postgres is None:
                        await free_slots_left(engine.store)
                    root = build_tree(
                        settings,
                        engine,
                        folders,
                        legal,
                        listener,
                        control,
                        phase,
                        log,
                        contract.request_log(rounds.write),
                    )
                    invited: list[AuditEntry] = []
                    audit = server_audit(engine.store, invited.append, AfterCommit())
                    token = await first_invitation(engine.store, audit)
                    async with root.running():
                        phase.started.set()
                        _tell_started(settings, phase.url, token)
                        # A start that was cancelled logs nothing.
                        for entry in invited:
                            audit_log(log.write)(entry)
                        await phase.shutdown.wait()
            nursery.cancel_scope.cancel(reason="every part has stopped")
    _log.info("Octavo has stopped")


def _at_port(settings: Settings, listener: socket.socket) -> Settings:
    """Return the settings with the port that the system chose, and the origin that follows."""
    if settings.bind.port:
        return settings
    bind = Bind(settings.bind.host, listener.getsockname()[1])
    changed: dict[str, object] = {"bind": bind}
    if "public_url" not in settings.model_fields_set:
        changed["public_url"] = local_origin(bind, tls=bool(settings.tls_certificate))
    return settings.model_copy(update=changed)


def _tell_started(settings: Settings, url: str, invitation: str | None) -> None:
    # Not earlier: after this line a signal leads to an orderly stop.
    _log.info(
        "Octavo listens on %s: open %s in a browser (version %s, data folder %s)",
        url,
        settings.public_url,
        __version__,
        settings.data_dir.absolute(),
    )
    # Workers load it; the server needs it for this line.
    from octavo.confinement import confinements  # noqa: PLC0415

    _log.info("worker processes are confined by %s", ", ".join(confinements()))
    if settings.public_url.startswith("http:") and not is_local(settings.public_url):
        _log.warning(
            "browsers keep no session at %s: use an https address (docs/http-server.md)",
            settings.public_url,
        )
    _tell_invitation(settings, invitation)


def _tell_invitation(settings: Settings, invitation: str | None) -> None:
    """Write the link of the first administrator to the terminal, or else to a file.

    The link is a secret, and any other output is often kept with the log.
    """
    path = settings.data_dir.absolute() / INVITATION_FILE
    with suppress(OSError):
        path.unlink(missing_ok=True)
    if invitation is None:
        return
    link = f"{settings.public_url}/register?invitation={invitation}\n"
    if sys.stdout is not None and sys.stdout.isatty():
        with suppress(OSError):
            sys.stdout.write(f"{_FIRST}:\n  {link}")
            sys.stdout.flush()
        return
    try:
        with open(path, "w", opener=_opened_for_the_owner) as file:
            file.write(link)
    except OSError as error:
        _log.warning("%s, with octavo invite --administrator (%s)", _FIRST, error)
    else:
        _log.info("%s, with the link in %s", _FIRST, path)


def _opened_for_the_owner(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_EXCL | os.O_CLOEXEC, 0o600)


class _Phase:
    """The phase of the process: starting, started, stopping or shutting down."""

    def __init__(self) -> None:
        self.starting = trio.CancelScope()
        self.url = ""
        self.started, self.stopping, self.shutdown = trio.Event(), trio.Event(), trio.Event()


def build_tree(
    settings: Settings,
    engine: StoreEngine,
    folders: BlobFolders,
    legal: Legal,
    listener: socket.socket,
    control_listener: socket.socket,
    phase: _Phase,
    log: Log,
    log_request: contract.RequestLog,
) -> Supervisor:
    """Put every part of the service under supervision; nothing runs yet.

    The parts start in the order in which they are added, and stop in reverse order.
    """
    root = Supervisor("octavo", runtime=Runtime(random=jitter))

    async def control(worker: WorkerContext) -> None:
        commands: Commands = {
            "actors": lambda: f"{render_tree(root.tree())}\n\n{limits()}",
            "public_url": lambda: settings.public_url,
            "engine": lambda: "sqlite" if settings.database is None else "postgresql",
            "blobs": lambda: "object store" if settings.object_store else "folder",
            **{
                name: command
                for parts in features.parts
                for name, command in parts.commands.items()
            },
        }
        await serve_control(control_listener, commands)

    root.add(WorkerSpec("control", control))

    # The worker starts when everything has been added.
    async def perform(
        scope: Scope, receive: Receive, request_id: str, caller: contract.Principal
    ) -> object:
        return await application.perform(scope, receive, request_id, caller)

    service = build_service(
        root,
        settings,
        engine,
        folders,
        legal,
        log_audit=audit_log(log.write),
        log_request=log_request,
        perform=perform,
    )
    features = service.features
    object_store = folders.blobs if settings.object_store else None
    probe = ReadinessProbe(engine, settings.data_dir, phase.stopping, object_store=object_store)
    usage = ServerUsage()
    memory = contract.MemoryBudget(settings.memory, settings.memory_per_client)

    def limits() -> str:
        # Imported when somebody looks.
        from octavo.service.running import render_limits  # noqa: PLC0415

        return render_limits(settings, usage, memory, features.accounts.passwords)

    application = wire_application(
        service, legal, memory=memory, readiness=probe.look, started=phase.started
    )

    async def http(worker: WorkerContext) -> None:
        async with trio.open_nursery() as nursery:
            serve_until_stopped = partial(
                serve_http,
                settings,
                application,
                listener=listener,
                log_request=log_request,
                usage=usage,
                shutdown=worker.stopping,
            )
            phase.url = await nursery.start(serve_until_stopped)
            worker.started()

    rest = settings.shutdown_timeout - settings.drain_timeout + CUT_OFF_SECONDS
    root.add(WorkerSpec("http", http, reports_ready=True, drain_timeout=rest))
    return root


async def serve_http(
    settings: Settings,
    application: ASGIApplication,
    *,
    listener: socket.socket,
    log_request: contract.RequestLog,
    usage: ServerUsage,
    shutdown: trio.Event,
    task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve HTTP on ``listener`` until ``shutdown`` is set, then stop gracefully.

    ``task_status`` receives the URL that is served. After ``shutdown``, idle connections close
    immediately, and requests in flight have the rest of the shutdown timeout after the drain
    timeout, less the time of the cut-off. The listener is not closed, so a restart serves the same
    port. Cancelling closes every connection.
    """
    # A start that was cancelled must not touch the listener, which may be closed by then.
    await trio.lowlevel.checkpoint_if_cancelled()
    async with trio.open_nursery() as nursery:
        [url] = await nursery.start(
            partial(
                serve,
                application,
                [listener],
                server_options(settings, log_request, usage),
                shutdown=shutdown.wait,
                shutdown_timeout=_for_requests(settings),
                certificate=_certificate(settings),
            )
        )
        task_status.started(url)


def _for_requests(settings: Settings) -> float:
    """Return the seconds that requests in flight have after the drain timeout.

    The cut-off of what is left then ends within the shutdown timeout as well.
    """
    left = settings.shutdown_timeout - settings.drain_timeout
    return left - min(CUT_OFF_SECONDS, left / 2)


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
        _log.info(
            "Octavo is stopping; requests in flight have up to %g seconds",
            settings.drain_timeout + _for_requests(settings),
        )
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_end_on_next, signals)
            await trio.sleep(settings.drain_timeout)
            listener.close()
            phase.shutdown.set()
            await trio.sleep_forever()


async def _end_on_next(signals: AsyncIterator[int]) -> None:
    signum = await anext(signals)
    signal.signal(signum, signal.SIG_DFL)
    signal.raise_signal(signum)


_MIB: Final = 1024 * 1024


def render_limits(
    settings: Settings, server: ServerUsage, memory: contract.MemoryBudget, passwords: Passwords
) -> str:
    """Return the limits as text for a terminal, one line for each, with what is used now."""
    used = f"{memory.held / _MIB:.1f} MiB", f"{memory.most_of_one / _MIB:.1f} MiB"
    lines = {
        "connections": f"{server.connections():,} of {server.most_connections:,}",
        "memory of large requests and responses": f"{used[0]} of {settings.memory // _MIB:,} MiB",
        "  of one account or address": f"{used[1]} of {settings.memory_per_client // _MIB:,} MiB",
        "passwords being checked or waiting": (
            f"{passwords.in_use} of {passwords.capacity},"
            f" and {passwords.known_capacity} more for known browsers"
        ),
        "requests of an address in a round": (
            f"up to {server.requests_per_round():,} now,"
            f" {settings.requests_per_round_per_client:,} while rounds are short"
        ),
    }
    width = max(map(len, lines)) + 2
    return "\n".join(["limits", *(f"  {name:{width}}{figure}" for name, figure in lines.items())])
