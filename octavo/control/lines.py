"""The messages of a control socket: a request and a response of one JSON line each, then it closes.

``{"command": "actors"}`` gets ``{"result": "…"}`` or ``{"error": "…"}``, both for people. A command
with arguments has them in ``"arguments"``, an object; it checks them itself.
"""

import json
from collections.abc import Mapping
from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

LONGEST_REQUEST = 8192
"""Bytes of a request, with its line feed."""
LONGEST_RESPONSE = 64 * 1024 * 1024
"""Bytes of a response that a client reads, with its line feed."""


class BadLine(ValueError):
    """The other side sent something unexpected; the text says what is expected."""


Arguments = Mapping[str, str | int | bool | None]
"""The arguments of a command by name."""
MAX_ARGUMENTS = 16


class ControlRequest(NamedTuple):
    """A command and its arguments."""

    command: str
    arguments: Arguments


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


def read_request(line: bytes) -> ControlRequest:
    """Return the command that a client asks for. Raises `BadLine`."""
    try:
        request = _Request.model_validate_json(line)
        return ControlRequest(request.command, request.arguments)
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
