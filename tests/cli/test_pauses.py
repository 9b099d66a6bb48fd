"""What is loaded is exempt from the garbage collector; in a server, pauses are few and short."""

import gc
import sys
from collections.abc import Iterator

import pytest

from octavo.cli.pauses import SWITCH_SECONDS, YOUNG, loading, pause_rarely


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


def test_threads_of_a_server_give_way_soon_and_its_collector_searches_rarely() -> None:
    """What that does for those who wait, the rows on 24,000 links in `tests/e2e/overload` show."""
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    try:
        # Python's own; a test before may have run the command that serves.
        sys.setswitchinterval(0.005)
        gc.set_threshold(700, 10, 10)
        pause_rarely()
        assert sys.getswitchinterval() == pytest.approx(SWITCH_SECONDS)
        assert gc.get_threshold()[0] == YOUNG
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*thresholds)
