"""Settings of every test."""

import gc
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from tests.fakes import compiled_once, readable_ids
from tests.fakes.memory_folder import use_memory_folder
from tests.fixtures import (
    ann,
    api,
    bob,
    house,
    identity,
    postgres_server,
    postgres_url,
    reader,
    users,
)

__all__ = [
    "ann",
    "api",
    "bob",
    "house",
    "identity",
    "postgres_server",
    "postgres_url",
    "reader",
    "users",
]

LONGEST = Path(__file__).parent / "simulation"

readable_ids.install()
compiled_once.install()

EXAMPLES = os.environ.get("OCTAVO_PROPERTY_EXAMPLES")
"""The examples of a property, drawn at random; by default 100, the same in each run."""

# A busy machine makes an example slow, not wrong.
hypothesis.settings.register_profile(
    "octavo",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    derandomize=EXAMPLES is None,
    max_examples=int(EXAMPLES or 100),
)
hypothesis.settings.load_profile("octavo")


def pytest_configure(config: pytest.Config) -> None:
    """Keep temporary files in memory, of every process of the run, and remove them at its end."""
    folder = use_memory_folder()
    if folder is not None:
        config.add_cleanup(lambda: shutil.rmtree(folder))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest tests first: at the end, one process would wait for the other."""
    items.sort(key=lambda item: not item.path.is_relative_to(LONGEST))


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
