"""Settings of every test."""

import gc
import os
import shutil
from collections.abc import Iterator
from itertools import groupby, islice
from operator import attrgetter

import hypothesis
import pytest

from tests.fakes import compiled_once, readable_ids
from tests.fakes.memory_folder import use_memory_folder
from tests.fixtures import (
    ann,
    api,
    bob,
    either_url,
    emptied_postgres,
    house,
    identity,
    new_postgres_url,
    postgres_server,
    postgres_url,
    reader,
    users,
)

__all__ = [
    "ann",
    "api",
    "bob",
    "either_url",
    "emptied_postgres",
    "house",
    "identity",
    "new_postgres_url",
    "postgres_server",
    "postgres_url",
    "reader",
    "users",
]

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
    begins with simulations, which compute, the others with tests of servers and of the project,
    which often wait.
    """
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    simulations = [item for item in items if "simulation" in item.nodeid.split("::")[0].split("/")]
    of_servers = [
        item for item in items if item.nodeid.startswith(("tests/e2e/", "tests/project/"))
    ]
    long = {*simulations, *of_servers}
    others = iter([item for item in items if item not in long])
    beginnings = [simulations, []]
    # A process runs all tests of a file: they share servers, or wheels.
    for _, of_file in groupby(of_servers, key=attrgetter("path")):
        if len(beginnings[-1]) >= len(of_servers) / max(1, processes - 1):
            beginnings.append([])
        beginnings[-1] += of_file
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
        gc.freeze()
        gc.enable()
