"""The service from inside: situations that can't be forced on a real process."""

import platform
import signal
import socket
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from typing import NoReturn

import pytest
import trio
from antechamber.limits import ServerUsage
from antechamber.listener import open_listener

from octavo.access import entropy
from octavo.http.contract.application import Application
from octavo.http.contract.request_context import RequestRecord
from octavo.log import Log, Sink
from octavo.service import running
from octavo.service.health import Readiness, ServiceOperations
from octavo.service.running import serve_http
from octavo.service.settings import Settings
from octavo.settings import Bind


async def ready() -> Readiness:
    return Readiness((), stopping=False)


HEALTH = Application(
    [ServiceOperations(ready)], new_id=entropy.new_id, log_request=lambda record: None
)


def unlogged(record: RequestRecord) -> None:
    """Keep no log."""


async def health(listener: socket.socket) -> bytes:
    async with await trio.open_tcp_stream(*listener.getsockname()) as stream:
        await stream.send_all(b"GET /health HTTP/1.1\r\nhost: octavo\r\n\r\n")
        return bytes(await stream.receive_some())


async def test_run_signal_while_starting_ends_it_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    output = BytesIO()

    async def never_ready(*_: object, **__: object) -> NoReturn:
        signal.raise_signal(signal.SIGTERM)
        await trio.sleep_forever()
        raise AssertionError

    monkeypatch.setattr(running, "serve", never_ready)
    with trio.fail_after(10):
        settings = Settings(bind=Bind("127.0.0.1", 0), data_dir=tmp_path / "data")
        await running.run(settings, Log("console", Sink(output), lambda: 0.0))
    assert output.getvalue() == b""


async def test_serve_http_restarted_serves_on_the_same_listener() -> None:
    with await open_listener("127.0.0.1", 0) as listener:
        host, port = listener.getsockname()
        for _ in range(2):
            async with trio.open_nursery() as nursery:
                url = await nursery.start(
                    lambda task_status: serve_http(
                        Settings(),
                        HEALTH,
                        listener=listener,
                        log_request=unlogged,
                        usage=ServerUsage(),
                        shutdown=trio.Event(),
                        task_status=task_status,
                    )
                )
                assert url == f"http://{host}:{port}"
                assert (await health(listener)).startswith(b"HTTP/1.1 200 ")
                nursery.cancel_scope.cancel()


async def test_serve_http_shutdown_returns_and_leaves_the_listener_open() -> None:
    shutdown = trio.Event()
    with await open_listener("127.0.0.1", 0) as listener, trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            await nursery.start(
                lambda task_status: serve_http(
                    Settings(),
                    HEALTH,
                    listener=listener,
                    log_request=unlogged,
                    usage=ServerUsage(),
                    shutdown=shutdown,
                    task_status=task_status,
                )
            )
            shutdown.set()
        assert listener.fileno() != -1


async def test_serve_http_cancelled_before_it_began_does_not_touch_the_listener() -> None:
    with await open_listener("127.0.0.1", 0) as listener:
        listener.close()
        with trio.CancelScope() as scope:
            scope.cancel()
            await serve_http(
                Settings(),
                HEALTH,
                listener=listener,
                log_request=unlogged,
                usage=ServerUsage(),
                shutdown=trio.Event(),
            )
        assert scope.cancelled_caught


def test_new_id_is_different_every_time() -> None:
    assert len({entropy.new_id() for _ in range(1000)}) == 1000


FRAGMENTED = """
import sys
from octavo.service.running import return_large_blocks

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

if sys.argv[1] == "returned":
    return_large_blocks()
# What is freed once makes glibc keep blocks of this size.
for size in (1, 2, 4, 8, 16):
    bytes(size << 20)
before = resident()
texts, kept = [], []
for number in range(50):
    texts.append(b"x" * (1_000_000 + number))
    kept.append(b"x" * 10_000)
texts.clear()
print(resident() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library has no mallopt")
def test_large_blocks_are_returned_to_the_system_though_small_ones_lie_between() -> None:
    grown = {
        how: int(subprocess.check_output([sys.executable, "-c", FRAGMENTED, how]))
        for how in ("kept", "returned")
    }
    assert grown["returned"] < 5_000_000 < 40_000_000 < grown["kept"]


def test_link_of_the_first_administrator_is_gone_with_the_next_start(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    running._tell_invitation(settings, "token")
    [file] = tmp_path.iterdir()
    assert file.read_text().endswith("/register?invitation=token\n")
    assert file.stat().st_mode & 0o077 == 0
    running._tell_invitation(settings, None)
    assert list(tmp_path.iterdir()) == []
