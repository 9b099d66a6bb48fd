"""The control socket between a server and its commands, over real sockets."""

import os
import socket
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

import pytest
import trio

from octavo.control import lines, serving
from octavo.control.client import ControlFailed, ask
from octavo.control.lines import LONGEST_REQUEST, AddressTooLong, socket_address
from octavo.control.serving import CONNECTIONS, DEADLINE, Commands, control_listener, serve_control
from octavo.store.data_folder import DataFolderError, holding

COMMANDS: Commands = {"greet": lambda: "Grüße", "long": lambda: "x" * 1_000_000}


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A new folder. The path of one that pytest makes leaves no room for that of a socket."""
    with TemporaryDirectory(prefix="octavo-") as name:
        yield Path(name)


@pytest.fixture
def folder(short_path: Path) -> Path:
    return short_path / "data"


@contextmanager
def listening(folder: Path) -> Iterator[socket.socket]:
    with holding(folder), control_listener(folder) as listener:
        yield listener


@asynccontextmanager
async def running(folder: Path, commands: Commands = COMMANDS) -> AsyncIterator[None]:
    with listening(folder) as listener, trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve_control, listener, commands)
            yield
            nursery.cancel_scope.cancel()


async def asked(folder: Path, command: str) -> str:
    return await trio.to_thread.run_sync(ask, folder, command)


async def sent(folder: Path, data: bytes) -> bytes:
    """The response of the server to ``data``, after which the client sends no more."""
    async with await connect(folder) as stream:
        await stream.send_all(data)
        await stream.send_eof()
        return await read_all(stream)


async def connect(folder: Path) -> trio.SocketStream:
    with socket_address(folder) as address:
        return await trio.open_unix_socket(address)


async def read_all(stream: trio.SocketStream) -> bytes:
    received = b""
    async for chunk in stream:
        received += chunk
    return received


async def test_ask_returns_the_result_of_the_command(folder: Path) -> None:
    async with running(folder):
        assert await asked(folder, "greet") == "Grüße"
        assert await asked(folder, "long") == "x" * 1_000_000


async def test_ask_unknown_command_fails_and_lists_the_known_ones(folder: Path) -> None:
    async with running(folder):
        with pytest.raises(ControlFailed, match="no such command; it has greet, long"):
            await asked(folder, "sing")


async def test_failing_command_is_an_error_for_its_caller_only(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> NoReturn:
        raise ValueError("the reason")

    async with running(folder, {"fail": fail, **COMMANDS}):
        with pytest.raises(ControlFailed, match="the command failed: the log") as caught:
            await asked(folder, "fail")
        assert "the reason" not in str(caught.value)
        assert await asked(folder, "greet") == "Grüße"
    [record] = caplog.records
    assert "the control command fail failed" in record.getMessage()
    assert record.exc_info is not None


@pytest.mark.parametrize(
    "data",
    [b"", b"\n", b"nonsense\n", b'{"command": "greet"}', b'{"command": "greet"} more\n', b"\xff\n"],
)
async def test_bad_input_gets_an_error_and_the_server_continues(folder: Path, data: bytes) -> None:
    async with running(folder):
        response = await sent(folder, data)
        expected = b'"result"' if data == b'{"command": "greet"}' else b"this is not a request"
        assert expected in response
        assert await asked(folder, "greet") == "Grüße"


async def test_line_that_never_ends_is_refused_at_its_bound(folder: Path) -> None:
    async with running(folder), await connect(folder) as stream:
        await stream.send_all(b" " * LONGEST_REQUEST)
        assert b"this is not a request" in await read_all(stream)


async def test_disconnecting_client_affects_no_other(folder: Path) -> None:
    async with running(folder):
        for _ in range(CONNECTIONS + 1):
            stream = await connect(folder)
            await stream.send_all(b'{"command": "long"}\n')
            await trio.aclose_forcefully(stream)
        assert await asked(folder, "greet") == "Grüße"


async def test_silent_client_is_cut_off_at_the_deadline(
    folder: Path, autojump_clock: trio.testing.MockClock
) -> None:
    with listening(folder) as listener:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve_control, listener, COMMANDS)
            began = trio.current_time()
            async with await connect(folder) as stream:
                assert await read_all(stream) == b""
            assert trio.current_time() - began == pytest.approx(DEADLINE)
            nursery.cancel_scope.cancel()


async def test_connections_over_the_limit_wait(
    folder: Path, autojump_clock: trio.testing.MockClock
) -> None:
    with listening(folder) as listener:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve_control, listener, COMMANDS)
            silent = [await connect(folder) for _ in range(CONNECTIONS)]
            await trio.testing.wait_all_tasks_blocked()
            began = trio.current_time()
            assert b'"result"' in await sent(folder, b'{"command": "greet"}\n')
            assert trio.current_time() - began == pytest.approx(DEADLINE)
            for stream in silent:
                await stream.aclose()
            nursery.cancel_scope.cancel()


async def test_socket_is_served_again_after_a_restart_of_its_worker(folder: Path) -> None:
    with listening(folder) as listener, trio.fail_after(30):
        for _ in range(2):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(serve_control, listener, COMMANDS)
                assert await asked(folder, "greet") == "Grüße"
                nursery.cancel_scope.cancel()


def test_folder_and_socket_are_private_to_their_owner(folder: Path) -> None:
    with holding(folder) as private, control_listener(folder):
        assert private
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE((folder / "control.sock").stat().st_mode) == 0o600


def test_folder_readable_by_others_is_left_unchanged_and_reported(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o750)
    with holding(folder) as private:
        assert not private
    assert stat.S_IMODE(folder.stat().st_mode) == 0o750


def test_socket_is_gone_after_a_stop_and_can_be_opened_again(folder: Path) -> None:
    for _ in range(2):
        with listening(folder):
            assert (folder / "control.sock").is_socket()
        assert list(folder.iterdir()) == []


def test_stale_socket_of_a_crash_is_replaced(folder: Path) -> None:
    folder.mkdir()
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(folder / "control.sock"))
    left.listen()
    left.close()
    with listening(folder), socket.socket(socket.AF_UNIX) as caller:
        caller.connect(str(folder / "control.sock"))


def test_file_in_place_of_the_socket_is_replaced(folder: Path) -> None:
    folder.mkdir()
    (folder / "control.sock").write_text("no socket")
    with listening(folder):
        assert (folder / "control.sock").is_socket()


def test_live_server_is_not_robbed_of_its_folder(folder: Path) -> None:
    with listening(folder):
        before = (folder / "control.sock").stat().st_ino
        with (
            pytest.raises(DataFolderError, match=f"another server runs .* {folder}: stop it"),
            holding(folder),
        ):
            raise AssertionError
        assert (folder / "control.sock").stat().st_ino == before


@pytest.mark.parametrize("queue", [0, 1])
def test_live_socket_is_not_stolen_even_if_the_folder_is_not_locked(
    folder: Path, queue: int
) -> None:
    folder.mkdir()
    with ExitStack() as stack:
        other = stack.enter_context(socket.socket(socket.AF_UNIX))
        other.bind(str(folder / "control.sock"))
        other.listen(0)
        for _ in range(queue):
            caller = stack.enter_context(socket.socket(socket.AF_UNIX))
            caller.connect(str(folder / "control.sock"))
        with pytest.raises(DataFolderError, match="a server responds on "), listening(folder):
            raise AssertionError
        assert (folder / "control.sock").is_socket()


@pytest.mark.parametrize("name", ["missing/deep", "file", "file/below"])
def test_folder_is_created_or_refused_with_the_reason(short_path: Path, name: str) -> None:
    (short_path / "file").touch()
    with ExitStack() as stack:
        if name.startswith("file"):
            expected = pytest.raises(DataFolderError, match=f"{name} can't be used: .* --data-dir")
            stack.enter_context(expected)
        with holding(short_path / name):
            assert (short_path / name).is_dir()


async def test_path_too_long_for_a_socket_is_reached_through_the_open_folder(
    short_path: Path,
) -> None:
    folder = short_path / ("a" * 120)
    async with running(folder):
        assert (folder / "control.sock").is_socket()
        assert await asked(folder, "greet") == "Grüße"
    assert list(folder.iterdir()) == []


def test_path_too_long_without_a_workaround_is_refused(
    short_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = short_path / ("a" * 120)
    monkeypatch.setattr(lines, "_OPEN_FILES", short_path / "nowhere")
    reason = r"control\.sock has \d+ bytes, and a socket takes \d+ at most: choose"
    with pytest.raises(AddressTooLong, match=reason), socket_address(folder):
        raise AssertionError
    with pytest.raises(DataFolderError, match=reason), listening(folder):
        raise AssertionError
    with pytest.raises(ControlFailed, match=reason):
        ask(folder, "greet")


@pytest.mark.parametrize("length", [100, 107, 108, 109, 200])
def test_path_of_about_the_maximum_length_is_served(short_path: Path, length: int) -> None:
    missing = length - len(os.fsencode(short_path / "control.sock")) - 1
    folder = short_path / ("a" * missing)
    assert len(os.fsencode(folder / "control.sock")) == length
    with listening(folder):
        assert (folder / "control.sock").is_socket()


def test_path_with_letters_of_several_bytes_is_served(short_path: Path) -> None:
    missing = 100 - len(str(short_path / "control.sock")) - 1
    folder = short_path / ("ä" * missing)
    path = folder / "control.sock"
    assert len(str(path)) == 100
    assert len(os.fsencode(path)) > 108
    with listening(folder):
        assert path.is_socket()


@pytest.mark.parametrize("left", [None, "file", "socket"])
def test_ask_without_a_server_fails_and_names_the_folder(folder: Path, left: str | None) -> None:
    if left is not None:
        folder.mkdir()
    if left == "file":
        (folder / "control.sock").touch()
    if left == "socket":
        with socket.socket(socket.AF_UNIX) as crashed:
            crashed.bind(str(folder / "control.sock"))
    with pytest.raises(ControlFailed, match=f"no server runs with the data folder {folder}: start"):
        ask(folder, "greet")


def test_ask_unresponsive_server_fails_after_the_timeout(folder: Path) -> None:
    with (
        listening(folder),
        pytest.raises(ControlFailed, match=r"did not respond within 0\.05 seconds"),
    ):
        ask(folder, "greet", patience=0.05)


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (b"", "ended within the response"),
        (b'{"result": "half', "ended within the response"),
        (b"nonsense\n", "can.t be read"),
    ],
)
async def test_ask_server_with_a_malformed_response_fails(
    folder: Path, response: bytes, reason: str
) -> None:
    async def misbehave(listener: socket.socket) -> None:
        stream = await trio.SocketListener(trio.socket.from_stdlib_socket(listener)).accept()
        await stream.receive_some()
        await stream.send_all(response)
        await stream.aclose()

    with listening(folder) as listener, trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(misbehave, listener)
            with pytest.raises(ControlFailed, match=reason):
                await asked(folder, "greet")


async def test_too_few_file_descriptors_are_tolerated(
    folder: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    refused = 0
    accept = trio.SocketListener.accept

    async def refuse_twice(self: trio.SocketListener) -> trio.SocketStream:
        nonlocal refused
        refused += 1
        if refused <= CONNECTIONS + 1:
            raise OSError(24, "Too many open files")
        return await accept(self)

    monkeypatch.setattr(trio.SocketListener, "accept", refuse_twice)
    with listening(folder) as listener, trio.fail_after(3600):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(serving.serve_control, listener, COMMANDS))
            assert b'"result"' in await sent(folder, b'{"command": "greet"}\n')
            nursery.cancel_scope.cancel()
