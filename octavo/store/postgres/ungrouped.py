"""A single exception as it was raised, out of the groups that nurseries put round it."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ungrouped() -> Iterator[None]:
    """Let what the block raises out of its groups when it is one; several stay together."""
    try:
        yield
    except BaseExceptionGroup as group:
        single: BaseException = group
        while isinstance(single, BaseExceptionGroup) and len(single.exceptions) == 1:
            single = single.exceptions[0]
        if single is group:
            raise
        raise single from single.__cause__
