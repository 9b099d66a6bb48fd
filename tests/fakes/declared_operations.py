"""Declare an operation on a handler that a test supplies."""

from collections.abc import Callable
from types import FunctionType

from octavo.http.contract.assembly import operations_of
from octavo.http.contract.operation import Operation, Security, operation


def group(handler: Callable[..., object], **declared: object) -> type:
    """A class whose one method is a copy of ``handler``."""
    assert isinstance(handler, FunctionType)
    name, closure = handler.__name__, handler.__closure__
    method = FunctionType(handler.__code__, handler.__globals__, name, None, closure)
    method.__annotations__ = handler.__annotations__
    given = {
        "id": "do",
        "method": "GET",
        "path": "/api/do",
        "tag": "t",
        "summary": "s",
        "security": Security.NONE,
        **declared,
    }
    return type("Group", (), {"do": operation(**given)(method)})  # type: ignore[arg-type]


def only(handler: Callable[..., object], **declared: object) -> Operation:
    [found] = operations_of(group(handler, **declared))
    return found
