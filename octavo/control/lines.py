"""What goes over a control socket: one line of JSON asks, one line answers, then it closes.

``{"command": "actors"}`` is answered ``{"result": "…"}`` or ``{"error": "…"}``, both for people.
"""

import json
from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

LONGEST_REQUEST = 1024
"""Bytes of a request, with its line feed."""
LONGEST_ANSWER = 64 * 1024 * 1024
"""Bytes of an answer that a client reads, with its line feed."""


class BadLine(ValueError):
    """The other side said something else than was agreed; the text says what is expected."""


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    command: Annotated[str, StringConstraints(min_length=1)]


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    result: str | None = None
    error: str | None = None


def request_line(command: str) -> bytes:
    """Answer the line that asks for ``command``."""
    return _line({"command": command})


def result_line(result: str) -> bytes:
    """Answer the line of a success."""
    return _line({"result": result})


def error_line(error: str) -> bytes:
    """Answer the line of a failure."""
    return _line({"error": error})


def read_request(line: bytes) -> str:
    """Answer the command that a client asks for. Raises `BadLine`."""
    try:
        return _Request.model_validate_json(line).command
    except ValidationError:
        raise BadLine('this is no request: send one line such as {"command": "actors"}') from None


def read_answer(line: bytes) -> tuple[str | None, str | None]:
    """Answer result and error, of which one is None. Raises `BadLine`."""
    try:
        answer = _Answer.model_validate_json(line)
    except ValidationError:
        raise BadLine("the answer is not understood: is the server of the same version?") from None
    if (answer.result is None) is (answer.error is None):
        raise BadLine("the answer is neither a result nor an error")
    return answer.result, answer.error


def _line(members: dict[str, str]) -> bytes:
    return json.dumps(members, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
