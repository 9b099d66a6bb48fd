"""Work that is done in the test's process instead of a worker's."""

import json
from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import trio

from octavo.workers import WorkRefused

P = ParamSpec("P")
T = TypeVar("T")


async def run_inline(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Call ``function`` as `octavo.workers.WorkerPool.run` does."""
    await trio.lowlevel.checkpoint()
    given = json.loads(json.dumps(arguments))
    try:
        return cast(T, json.loads(json.dumps(function(*given, **named))))
    except ValueError as error:
        raise WorkRefused(type(error).__name__, str(error)) from None
