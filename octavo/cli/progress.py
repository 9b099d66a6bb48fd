"""The progress of a long command on standard error: a bar on a terminal, plain lines elsewhere."""

import sys

from octavo.cli.output import draw, tell
from octavo.service.progress import Progress, megabytes

_WIDTH = 30


class ProgressDisplay:
    """Shows reports of progress; use it as a context manager, which clears the bar.

    Args:
        lines: announce each step in a line where there is no terminal.
    """

    def __init__(self, *, lines: bool = True) -> None:
        self._lines = lines
        self._terminal = sys.stderr is not None and sys.stderr.isatty()
        self._step = ""
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
        elif self._lines and progress.step != self._step:
            tell(line(progress))
        self._step = progress.step

    def _draw(self, text: str) -> None:
        padded = text.ljust(self._drawn)
        self._drawn = len(text)
        draw(f"\r{padded}" if text else f"\r{padded}\r")


def bar(progress: Progress) -> str:
    """Return the bar of ``progress``; the estimated size may be exceeded."""
    if not progress.total:
        return (
            f"{progress.step} {megabytes(progress.done)} …"
            if progress.done
            else f"{progress.step} …"
        )
    share = min(progress.done / progress.total, 1.0)
    filled = round(share * _WIDTH)
    sizes = f"{megabytes(progress.done)} of {megabytes(progress.total)}"
    return f"{progress.step:<8} [{'#' * filled:<{_WIDTH}}] {share:4.0%}  {sizes}"


def line(progress: Progress) -> str:
    """Return the line that announces the step of ``progress``."""
    return f"{progress.step} {megabytes(progress.total)}" if progress.total else progress.step
