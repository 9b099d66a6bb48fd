"""The border that no exception of one connection passes."""

import trio

_NOT_OURS = (trio.Cancelled, KeyboardInterrupt, SystemExit, GeneratorExit)


def contained(error: BaseException) -> BaseException | None:
    """Answer what of ``error`` is a failure to log; None when nothing is.

    Raises the rest again: cancellation and the end of the process are no failures. What isn't
    an `Exception` is contained too: extensions in Rust panic with a BaseException of their own.
    """
    if not isinstance(error, BaseExceptionGroup):
        if isinstance(error, _NOT_OURS):
            raise error
        return error
    passing, failure = error.split(_NOT_OURS)
    if passing is not None and failure is None:
        raise passing
    # A failure beside a cancellation: the scope that was cancelled sees to its own end.
    return failure


def only(error: BaseException, kind: type[BaseException]) -> bool:
    """Answer whether ``error`` is of ``kind``, or a group of nothing else."""
    if isinstance(error, BaseExceptionGroup):
        return error.split(kind)[1] is None
    return isinstance(error, kind)
