"""What is loaded is exempt from the garbage collector; in a server, pauses are few and short."""

import gc
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from octavo.cli.pauses import loading, pause_rarely


@pytest.fixture(autouse=True)
def _enabled() -> Iterator[None]:
    assert gc.isenabled()
    yield
    # What is frozen stays so: other tests must not look at what was loaded for all of them.
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

    def waits() -> float:
        """The shortest time until a thread goes on that another one has woken, which computes.

        On a busy machine both wait for a processor, too.
        """
        taken = []
        for _ in range(21):
            woken, ended, at = threading.Lock(), threading.Event(), [0.0]
            woken.acquire()

            def wake_and_compute(
                woken: threading.Lock = woken,
                ended: threading.Event = ended,
                at: list[float] = at,
            ) -> None:
                time.sleep(0.002)
                at[0] = time.perf_counter()
                woken.release()
                while not ended.is_set():
                    sum(range(100))

            thread = threading.Thread(target=wake_and_compute)
            thread.start()
            # It has the lock of the interpreter, and does not give it away by itself.
            with woken:
                taken.append(time.perf_counter() - at[0])
            ended.set()
            thread.join()
        return min(taken)

    try:
        # Python's own; a test before may have run the command that serves.
        sys.setswitchinterval(0.005)
        usual = waits()
        assert usual > 0.004
        pause_rarely()
        assert waits() < usual / 3
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*thresholds)
