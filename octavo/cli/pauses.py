"""Make the pauses of the interpreter rare and short: garbage collections and thread switches.

The objects of loaded modules live as long as the process. The collector would traverse them again
and again while they are created, and later in each full collection. A server has tens of thousands
of other long-lived objects, such as the heads of the files of a workspace.

A thread that computes, such as one that reads the links of a large note, keeps the lock of the
interpreter for an interval, while the event loop and the writing thread wait: these need it again
after each call of the system or the database.
"""

import gc
import sys
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


SWITCH_SECONDS: Final = 0.0005
"""The interval after which a thread that computes lets another one run; Python has 0.005.

While 16 connections read a note of 24,000 links, 99 percent of the saves of others took 51 to 84 ms
with it, and 228 to 290 ms with Python's. The rate of saves is the same.
"""


def pause_rarely() -> None:
    """Make full garbage collections rare, and thread switches frequent, in a server."""
    gc.set_threshold(YOUNG, MIDDLE, ALL)
    sys.setswitchinterval(SWITCH_SECONDS)


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
