"""What is loaded is exempt from the garbage collector; in a server, pauses are few and short."""

import gc
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from octavo.cli.pauses import loading, pause_rarely


@pytest.fixture(autouse=True)
def _thawed() -> Iterator[None]:
    assert gc.isenabled()
    yield
    gc.unfreeze()
    gc.enable()


def test_collector_is_paused_and_forgets_what_was_loaded() -> None:
    before = gc.get_freeze_count()
    with loading():
        assert not gc.isenabled()
        loaded = [[number] for number in range(1000)]
    assert gc.isenabled()
    assert gc.get_freeze_count() >= before + len(loaded)
    assert not any(found is loaded for found in gc.get_objects())


def test_failure_to_load_leaves_the_collector_on() -> None:
    with pytest.raises(ImportError), loading():
        raise ImportError
    assert gc.isenabled()


def test_inner_use_leaves_the_collector_paused() -> None:
    with loading():
        with loading():
            pass
        assert not gc.isenabled()


def test_thread_that_computes_lets_others_run_soon() -> None:
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    ended = threading.Event()

    def compute() -> None:
        while not ended.is_set():
            sum(range(100))

    def waits() -> float:
        """The median time to get the lock of the interpreter back, after calls of the system."""
        taken = []
        for _ in range(101):
            began = time.perf_counter()
            time.sleep(0)
            taken.append(time.perf_counter() - began)
        return sorted(taken)[50]

    thread = threading.Thread(target=compute)
    thread.start()
    try:
        # Python's own; a test before may have run the command that serves.
        sys.setswitchinterval(0.005)
        usual = waits()
        pause_rarely()
        assert waits() < usual / 3
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*thresholds)
        ended.set()
        thread.join()
