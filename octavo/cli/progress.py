"""The progress of a long command on standard error, if that is a terminal."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

from octavo.cli.output import draw, tell


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a step.

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


_WIDTH = 30


class ProgressDisplay:
    """Shows reports of progress; use it as a context manager, which clears the bar."""

    def __init__(self) -> None:
        self._terminal = sys.stderr is not None and sys.stderr.isatty()
        self._drawn = 0

    def __enter__(self) -> "ProgressDisplay":
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawn:
            self._draw("")

    def __call__(self, progress: Progress) -> None:
        """Show ``progress``. Never raises."""
        if self._terminal:
            self._draw(bar(progress))

    def waiting(self, reason: str) -> None:
        """Show why the command waits, in a line of its own on a terminal. Never raises."""
        if self._terminal:
            if self._drawn:
                self._draw("")
            tell(reason)

    def _draw(self, text: str) -> None:
        padded = text.ljust(self._drawn)
        self._drawn = len(text)
        draw(f"\r{padded}" if text else f"\r{padded}\r")


def bar(progress: Progress) -> str:
    """Return the bar of ``progress``, which is full when the estimated size is exceeded."""
    if not progress.total:
        return (
            f"{progress.step} {size_text(progress.done)} …"
            if progress.done
            else f"{progress.step} …"
        )
    done = min(progress.done, progress.total)
    share = done / progress.total
    filled = round(share * _WIDTH)
    sizes = f"{size_text(done)} of {size_text(progress.total)}"
    return f"{progress.step:<8} [{'#' * filled:<{_WIDTH}}] {share:4.0%}  {sizes}"
