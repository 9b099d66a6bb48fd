"""Contain the exceptions of one connection."""

import trio

# SystemExit is not listed: handlers cannot end the process, only signals can.
_NOT_CONTAINED = (trio.Cancelled, KeyboardInterrupt)


def contained(error: BaseException) -> BaseException:
    """Return ``error`` as a failure to log, or re-raise it.

    Cancellation and KeyboardInterrupt are re-raised, alone or together with failures. Every other
    BaseException is contained, since Rust extensions panic with one and a handler may call
    `sys.exit`.
    """
    try:
        if not isinstance(error, BaseExceptionGroup):
            if isinstance(error, _NOT_CONTAINED):
                raise error
            return error
        passing, failure = error.split(_NOT_CONTAINED)
        if failure is None or (passing is not None and passing.split(KeyboardInterrupt)[0]):
            raise error
        # The cancelled scope ends by itself; only the failure is reported.
        return failure
    finally:
        # Its traceback refers to this frame: a cycle would keep the request in memory.
        del error


def only(error: BaseException, kind: type[BaseException]) -> bool:
    """Return whether ``error`` is a ``kind``, or a group that contains nothing else."""
    if isinstance(error, BaseExceptionGroup):
        return error.split(kind)[1] is None
    return isinstance(error, kind)
