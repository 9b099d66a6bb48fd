"""The messages of a control socket: a request and a response of one JSON line each, then it closes.

``{"command": "actors"}`` gets ``{"result": "…"}`` or ``{"error": "…"}``, both for people.
"""

import json
from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

LONGEST_REQUEST = 1024
"""Bytes of a request, with its line feed."""
LONGEST_RESPONSE = 64 * 1024 * 1024
"""Bytes of a response that a client reads, with its line feed."""


class BadLine(ValueError):
    """The other side sent something unexpected; the text says what is expected."""


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    command: Annotated[str, StringConstraints(min_length=1)]


class _Response(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    result: str | None = None
    error: str | None = None


def request_line(command: str) -> bytes:
    """Return the line that asks for ``command``."""
    return _line({"command": command})


def result_line(result: str) -> bytes:
    """Return the line of a success."""
    return _line({"result": result})


def error_line(error: str) -> bytes:
    """Return the line of a failure."""
    return _line({"error": error})


def read_request(line: bytes) -> str:
    """Return the command that a client asks for. Raises `BadLine`."""
    try:
        return _Request.model_validate_json(line).command
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


def _line(members: dict[str, str]) -> bytes:
    return json.dumps(members, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
