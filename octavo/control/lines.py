"""The control socket: where it is, and its messages: a request and a response of one JSON line.

``{"command": "actors"}`` gets ``{"result": "…"}`` or ``{"error": "…"}``, both for people. A command
with arguments has them in ``"arguments"``, an object; it checks them itself.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

SOCKET_NAME = "control.sock"

# The address of a Unix socket has room for so many bytes, and the zero at its end (unix(7)).
_LONGEST_ADDRESS = 107 if sys.platform == "linux" else 103
_OPEN_FILES = Path("/proc/self/fd")


class AddressTooLong(OSError):
    """The path of the socket is longer than this system takes; the text says what to do."""


@contextmanager
def socket_address(folder: Path) -> Iterator[str]:
    """Yield the address of the control socket in ``folder``.

    A path that is too long is replaced by a short one through the open folder, if the system has
    such paths (proc(5)). Otherwise raises `AddressTooLong`, and `OSError` when the folder can't be
    opened.
    """
    path = folder / SOCKET_NAME
    length = len(os.fsencode(path))
    if length <= _LONGEST_ADDRESS:
        yield str(path)
        return
    if not _OPEN_FILES.is_dir():
        raise AddressTooLong(
            f"the path {path} has {length} bytes, and a socket takes {_LONGEST_ADDRESS} at most: "
            "choose a data folder with a shorter path"
        )
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield str(_OPEN_FILES / str(opened) / SOCKET_NAME)
    finally:
        os.close(opened)


LONGEST_REQUEST = 8192
"""Bytes of a request, with its line feed."""
LONGEST_RESPONSE = 64 * 1024 * 1024
"""Bytes of a response that a client reads, with its line feed."""


class BadLine(ValueError):
    """The other side sent something unexpected; the text says what is expected."""


Arguments = Mapping[str, str | int | bool | None]
"""The arguments of a command by name."""
MAX_ARGUMENTS = 16


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, cache_strings="keys")

    command: Annotated[str, StringConstraints(min_length=1)]
    arguments: Annotated[dict[str, str | int | bool | None], Field(max_length=MAX_ARGUMENTS)] = (
        Field(default_factory=dict)
    )


class _Response(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, cache_strings="keys")

    result: str | None = None
    error: str | None = None


def request_line(command: str, arguments: Arguments | None = None) -> bytes:
    """Return the line that asks for ``command``."""
    return _line({"command": command, **({"arguments": {**arguments}} if arguments else {})})


def result_line(result: str) -> bytes:
    """Return the line of a success."""
    return _line({"result": result})


def error_line(error: str) -> bytes:
    """Return the line of a failure."""
    return _line({"error": error})


def read_request(line: bytes) -> tuple[str, Arguments]:
    """Return the command that a client asks for, and its arguments. Raises `BadLine`."""
    try:
        request = _Request.model_validate_json(line)
        return request.command, request.arguments
    except ValidationError:
        raise BadLine('this is not a request: send a line such as {"command": "actors"}') from None


def read_response(line: bytes) -> tuple[str | None, str | None]:
    """Return result and error, of which one is None. Raises `BadLine`."""
    try:
        response = _Response.model_validate_json(line)
    except ValidationError:
        raise BadLine("the response can't be read: is the server of the same version?") from None
    if (response.result is None) is (response.error is None):
        raise BadLine("the response is neither a result nor an error")
    return response.result, response.error


def _line(members: Mapping[str, object]) -> bytes:
    return json.dumps(members, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
