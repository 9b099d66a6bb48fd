"""Ask the server that runs with a data folder."""

import socket
from pathlib import Path

from octavo.control import lines

PATIENCE = 5.0
"""Seconds that each step of the exchange may take."""

_CHUNK = 64 * 1024


class ControlFailed(Exception):
    """The server was not asked, or gave no result; the text says why, in one line."""


class NoServer(ControlFailed):
    """No server runs with the data folder."""


def ask(
    folder: Path,
    command: str,
    arguments: lines.Arguments | None = None,
    *,
    patience: float = PATIENCE,
) -> str:
    """Run ``command`` in the server of the data folder ``folder``; return its result.

    Blocks, at most ``patience`` seconds a step. Raises `NoServer` when no server runs there, and
    `ControlFailed` when this user may not ask it, or it does not do what was asked.
    """
    where = folder.absolute()
    try:
        with (
            lines.socket_address(folder) as address,
            socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stream,
        ):
            stream.settimeout(patience)
            stream.connect(address)
            stream.sendall(lines.request_line(command, arguments))
            result, error = lines.read_response(_read_line(stream))
    except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
        raise NoServer(
            f"no server runs with the data folder {where}: "
            "start one there, or name its folder with --data-dir"
        ) from None
    except TimeoutError:
        raise ControlFailed(
            f"the server of the data folder {where} did not respond within {patience:g} seconds"
        ) from None
    except lines.AddressTooLong as failure:
        raise ControlFailed(str(failure)) from None
    except OSError as failure:
        raise ControlFailed(
            f"the server of the data folder {where} can't be asked: {failure.strerror}"
        ) from None
    except lines.BadLine as failure:
        raise ControlFailed(f"the server of the data folder {where}: {failure}") from None
    if result is None:
        raise ControlFailed(f"the server of the data folder {where} refused: {error}")
    return result


def _read_line(stream: socket.socket) -> bytes:
    received = bytearray()
    while chunk := stream.recv(_CHUNK):
        received += chunk
        if received.endswith(b"\n"):
            return bytes(received)
        if len(received) > lines.LONGEST_RESPONSE:
            raise lines.BadLine("the response is too long")
    raise lines.BadLine("the connection ended within the response")
