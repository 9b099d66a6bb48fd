"""Tell a crash from a cancellation, and take one error out of its group.

trio wraps even a single error of a nursery in an exception group. At the
boundary of an actor a group that holds one error becomes that error; a group
that holds several stays whole, so that none is lost.
"""

from __future__ import annotations

import trio

# What must always travel on: it stops tasks and programs, it reports no bug.
_TRAVELS_ON = (trio.Cancelled, KeyboardInterrupt, SystemExit, GeneratorExit)


def is_crash(error: BaseException) -> bool:
    """Whether ``error`` is a failure, with no cancellation or interrupt in it.

    A ``BaseException`` that is neither (some extension modules raise such) is
    a crash: it concerns one actor and must not tear down its siblings.
    """
    if isinstance(error, BaseExceptionGroup):
        return all(is_crash(inner) for inner in error.exceptions)
    return not isinstance(error, _TRAVELS_ON)


def unwrap(error: BaseException) -> BaseException:
    """The one error inside nested groups of one; a group of several as it is."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
