"""The progress of a long command, and sizes for people."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a step has come.

    Attributes:
        step: what is done now: ``writing``, ``checking``, ``images``.
        done: bytes so far.
        total: estimated size in bytes; None when the step can't be measured.
    """

    step: str
    done: int
    total: int | None


Report = Callable[[Progress], None]


def size_text(size: int) -> str:
    """Return a number of bytes for people."""
    if size < 1_000:
        return counted(size, "byte")
    if size < 999_500:
        return f"{size / 1e3:.0f} KB"
    return f"{size / 1e6:.1f} MB" if size < 9_950_000 else f"{size / 1e6:,.0f} MB"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, which takes an s in the plural."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
