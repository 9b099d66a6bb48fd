"""The progress of a long command, and sizes for people."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a step has come.

    Attributes:
        step: what is done now: ``writing``, ``checking``, ``blobs``.
        done: bytes so far.
        total: estimated size in bytes; None when the step can't be measured.
    """

    step: str
    done: int
    total: int | None


Report = Callable[[Progress], None]


def megabytes(size: int) -> str:
    """Return a number of bytes for people."""
    return f"{size / 1e6:.1f} MB" if size < 1e7 else f"{size / 1e6:,.0f} MB"
