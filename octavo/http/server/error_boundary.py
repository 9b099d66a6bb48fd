"""The border that no exception of one connection passes."""

import trio

# Not the end of a process either, when a handler asks for it: that is for signals to say.
_NOT_OURS = (trio.Cancelled, KeyboardInterrupt)


def contained(error: BaseException) -> BaseException:
    """Return ``error`` as a failure to log, when it is one.

    Raises it again when it is a cancellation, or the interrupt of a person, alone or beside
    failures. What isn't an `Exception` is contained too: extensions in Rust panic with a
    BaseException of their own, and a handler may call `sys.exit`.
    """
    if not isinstance(error, BaseExceptionGroup):
        if isinstance(error, _NOT_OURS):
            raise error
        return error
    passing, failure = error.split(_NOT_OURS)
    if failure is None or (passing is not None and passing.split(KeyboardInterrupt)[0]):
        raise error
    # A failure beside a cancellation: the scope that was cancelled sees to its own end.
    return failure


def only(error: BaseException, kind: type[BaseException]) -> bool:
    """Return whether ``error`` is of ``kind``, or a group of nothing else."""
    if isinstance(error, BaseExceptionGroup):
        return error.split(kind)[1] is None
    return isinstance(error, kind)
