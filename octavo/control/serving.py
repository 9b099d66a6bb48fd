"""Serve a control socket: few connections at a time, each in bounded time and memory."""

import logging
import socket
from collections.abc import Callable, Mapping
from functools import partial

import trio

from octavo.control.lines import LONGEST_REQUEST, BadLine, error_line, read_request, result_line

CONNECTIONS = 8
"""Connections served at once; the next wait for one of these to end."""
DEADLINE = 5.0
"""Seconds for a connection, from its first byte to its last."""

Commands = Mapping[str, Callable[[], str]]
"""The commands by name; each returns its result without blocking."""

_log = logging.getLogger(__name__)


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
        with trio.move_on_after(DEADLINE):
            await stream.send_all(_respond(commands, await _read_line(stream)))
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        # The client has left.
        pass
    finally:
        await trio.aclose_forcefully(stream)
        places.release()


async def _read_line(stream: trio.SocketStream) -> bytes:
    received = b""
    while len(received) < LONGEST_REQUEST:
        chunk = await stream.receive_some(LONGEST_REQUEST - len(received))
        received += chunk
        line, ended, rest = received.partition(b"\n")
        if ended or not chunk:
            return line + rest
    return received


def _respond(commands: Commands, line: bytes) -> bytes:
    try:
        command = read_request(line)
    except BadLine as error:
        return error_line(str(error))
    if command not in commands:
        return error_line(f"this server has no such command; it has {', '.join(sorted(commands))}")
    try:
        return result_line(commands[command]())
    except Exception as error:  # noqa: BLE001  # must not take the server along
        _log.error("the control command %s failed", command, exc_info=error)
        return error_line("the command failed: the log of the server says why")
