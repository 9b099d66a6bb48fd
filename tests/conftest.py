"""Settings of every test."""

import gc
import os
import shutil
from collections.abc import Iterator
from itertools import islice
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

TESTS = Path(__file__).parent

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
    """Let each process begin with some of the longest tests, so that short ones remain at the end.

    pytest-xdist gives each process a part of the list, of the same number of tests; a process that
    has run all of its own takes tests from the end of the longest remainder. The first process
    begins with simulations, which compute, the others with tests of servers, which often wait.
    """
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    simulations = [item for item in items if "simulation" in item.path.parts]
    of_servers = [item for item in items if item.path.is_relative_to(TESTS / "e2e")]
    long = {*simulations, *of_servers}
    others = iter([item for item in items if item not in long])
    files = list(dict.fromkeys(item.path for item in of_servers))
    files_each = -(-len(files) // max(1, processes - 1))
    beginnings = [simulations]
    for first in range(0, len(files), files_each or 1):
        some = files[first : first + files_each]
        beginnings.append([item for item in of_servers if item.path in some])
    length = len(items) // processes
    items[:] = [
        item
        for beginning in beginnings
        for item in (*beginning, *islice(others, max(0, length - len(beginning))))
    ] + list(others)


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
