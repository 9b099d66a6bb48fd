"""What is loaded is exempt from the garbage collector, and the collector works afterwards."""

import gc
from collections.abc import Iterator

import pytest

from octavo.cli.loading import loading


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
