"""The control socket of a server, for its user alone: few connections, each in bounded time."""

import logging
import os
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import trio
from pydantic import BaseModel, ValidationError

from octavo.control import lines
from octavo.store.data_folder import DataFolderError

BACKLOG = 16


@contextmanager
def control_listener(folder: Path) -> Iterator[socket.socket]:
    """Listen on the control socket of ``folder`` during the block.

    The caller holds the folder (`octavo.store.data_folder.holding`), so an existing socket was left
    by a crash and is replaced, unless a server responds on it. The socket does not block. Raises
    `DataFolderError`.
    """
    path = folder / lines.SOCKET_NAME
    try:
        with lines.socket_address(folder) as address:
            if _accepts(address):
                raise DataFolderError(
                    f"a server responds on {path.absolute()}: stop it, "
                    "or choose another folder with --data-dir or OCTAVO_DATA_DIR"
                )
            listener = _listen(address)
    except lines.AddressTooLong as error:
        raise DataFolderError(str(error)) from error
    except OSError as error:
        raise DataFolderError(
            f"the control socket {path.absolute()} can't be opened: {error.strerror}: "
            "choose another folder with --data-dir or OCTAVO_DATA_DIR"
        ) from error
    with listener:
        try:
            yield listener
        finally:
            # If the disk has become read-only, it stays, and the next start replaces it.
            with suppress(OSError):
                path.unlink()


def _accepts(address: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        # A server whose queue is full would block the call; it is running.
        caller.setblocking(False)
        try:
            caller.connect(address)
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        except BlockingIOError:
            return True
    return True


def _listen(address: str) -> socket.socket:
    with suppress(FileNotFoundError):
        os.unlink(address)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(address)
        # Nobody can connect before it listens, whatever the mode of the new file.
        os.chmod(address, 0o600)
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


CONNECTIONS = 8
"""Connections served at once; the next wait for one of these to end."""
DEADLINE = 5.0
"""Seconds in which a request must arrive, and in which its response must be sent."""
COMMAND_SECONDS = 60.0
"""Seconds that a command with arguments may take."""

M = TypeVar("M", bound=BaseModel)

Commands = Mapping[str, "Callable[[], str] | CommandWithArguments"]
"""The commands by name. A function takes no arguments, and returns its result without blocking."""

_log = logging.getLogger(__name__)


class CommandWithArguments:
    """A command that takes arguments, and may wait.

    Args:
        model: the arguments; others are refused.
        run: carries it out and returns its result. It is cancelled after `COMMAND_SECONDS`.
    """

    def __init__(self, model: type[M], run: Callable[[M], Awaitable[str]]) -> None:
        self._run: Callable[[lines.Arguments], Awaitable[str]] = partial(_validated, model, run)

    async def run(self, arguments: lines.Arguments) -> str:
        """Return the result. Raises `BadLine` for wrong arguments."""
        return await self._run(arguments)


async def _validated(
    model: type[M], run: Callable[[M], Awaitable[str]], arguments: lines.Arguments
) -> str:
    try:
        validated = model.model_validate(arguments)
    except ValidationError:
        message = "these are not the arguments of the command: is the server of the same version?"
        raise lines.BadLine(message) from None
    return await run(validated)


async def serve_control(listener: socket.socket, commands: Commands) -> None:
    """Serve connections to ``listener`` until cancelled, which cuts off those that are open.

    The listener stays the caller's, so a restart serves the same socket. A command that fails is
    logged, and its response is an error.
    """
    places = trio.Semaphore(CONNECTIONS)
    # trio closes the socket that it serves.
    shared = trio.SocketListener(trio.socket.from_stdlib_socket(listener.dup()))
    handler = partial(_serve, commands, places)
    await trio.serve_listeners(handler, [_Accepting(shared, places)])


class _Accepting(trio.abc.Listener[trio.SocketStream]):
    """Accepts a connection when there is a place for it."""

    def __init__(self, listener: trio.SocketListener, places: trio.Semaphore) -> None:
        self._listener = listener
        self._places = places

    async def accept(self) -> trio.SocketStream:
        await self._places.acquire()
        try:
            return await self._listener.accept()
        except BaseException:
            self._places.release()
            raise

    async def aclose(self) -> None:
        await self._listener.aclose()


async def _serve(commands: Commands, places: trio.Semaphore, stream: trio.SocketStream) -> None:
    try:
        line = None
        with trio.move_on_after(DEADLINE):
            line = await _read_line(stream)
        if line is not None:
            response = await _respond(commands, line)
            with trio.move_on_after(DEADLINE):
                await stream.send_all(response)
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        # The client has left.
        pass
    finally:
        await trio.aclose_forcefully(stream)
        places.release()


async def _read_line(stream: trio.SocketStream) -> bytes:
    received = b""
    while len(received) < lines.LONGEST_REQUEST:
        chunk = await stream.receive_some(lines.LONGEST_REQUEST - len(received))
        received += chunk
        line, ended, rest = received.partition(b"\n")
        if ended or not chunk:
            return line + rest
    return received


async def _respond(commands: Commands, line: bytes) -> bytes:
    try:
        name, arguments = lines.read_request(line)
    except lines.BadLine as error:
        return lines.error_line(str(error))
    command = commands.get(name)
    if command is None:
        return lines.error_line(
            f"this server has no such command; it has {', '.join(sorted(commands))}"
        )
    try:
        if not isinstance(command, CommandWithArguments):
            return lines.result_line(command())
        with trio.move_on_after(COMMAND_SECONDS):
            return lines.result_line(await command.run(arguments))
        return lines.error_line(
            f"the command took more than {COMMAND_SECONDS:g} seconds; it may have been carried out"
        )
    except lines.BadLine as error:
        return lines.error_line(str(error))
    except Exception as error:  # noqa: BLE001  # must not take the server along
        _log.error("the control command %s failed", name, exc_info=error)
        return lines.error_line("the command failed: the log of the server says why")
