"""Load what a command needs, without the garbage collector walking through it.

The objects of loaded modules live as long as the process. The collector would walk them again and
again while they are made, and later at each full collection, in which nothing else runs.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
