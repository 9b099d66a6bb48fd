"""Settings of every test."""

import gc
from collections.abc import Iterator

import hypothesis
import pytest

from tests.fakes import readable_ids

readable_ids.install()

# A busy machine makes an example slow, not wrong.
hypothesis.settings.register_profile("octavo", deadline=None)
hypothesis.settings.load_profile("octavo")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Exempt what is there after the collection from garbage collection.

    The tests and the modules live until the end: thousands of times, a full collection would look
    at their million objects. What tests make is collected as ever.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()
