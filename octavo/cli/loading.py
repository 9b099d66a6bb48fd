"""Keep the pauses of the garbage collector few, in which nothing else runs.

The objects of loaded modules live as long as the process. The collector would walk them again and
again while they are made, and later at each full collection. A server has tens of thousands of
others that live long, such as the heads of the files of a workspace.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

YOUNG: Final = 2_000
"""New objects, beyond those that are gone, after which the youngest are searched for cycles."""
MIDDLE: Final = 10
"""Such searches, after which those of the middle generation are searched as well."""
ALL: Final = 50
"""Searches of the middle generation, after which all objects may be searched.

Python has 700, 10 and 10. A search of all takes tens of milliseconds with a workspace of 10,000
notes, and came every few seconds with 50 pages a second.
"""


def collect_rarely() -> None:
    """Let the collector search all objects rarely, for a process that serves."""
    gc.set_threshold(YOUNG, MIDDLE, ALL)


@contextmanager
def loading() -> Iterator[None]:
    """Pause the cyclic garbage collector, and exempt what exists at the end from it for ever.

    For imports: cycles that become garbage later, among objects that were made here, are not freed.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()
