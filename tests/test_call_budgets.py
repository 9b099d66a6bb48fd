"""How many functions a request calls: whoever adds work to the hot path sees it here.

`benchmarks/calls.py` counts them, in all threads of a real server. The count of one client depends
on whether its next request has arrived when the server looks for it; beside other tests, it mostly
has to wait, which takes a turn of the loop. So the least of several counts tells what a request
takes; that of reads is seldom without a turn. The count of 16 depends on how many requests come
together.
"""

import json
import statistics
import subprocess
import sys
from collections import defaultdict

import pytest

from tests.project.source import ROOT

RUNS = 5
BUDGETS = {
    "save, 1 writer": 485,
    "save, 16 writers": 285,
    "304": 112,
    "read of 2 KB": 119,
    "health": 77,
}
"""The least of `RUNS` counts, by work; with 16 clients, their median."""
MORE_OF_ONE = 1.05
MORE_OF_MANY = 1.15


@pytest.fixture(scope="module")
def counted() -> dict[str, list[float]]:
    """The counts of each run, by work."""
    command = [sys.executable, "benchmarks/calls.py", "--repeat", str(RUNS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, list[float]] = defaultdict(list)
    for line in done.stdout.splitlines():
        figure = json.loads(line)
        found[figure["name"]].append(figure["value"])
    return found


def test_each_work_has_a_budget(counted: dict[str, list[float]]) -> None:
    assert counted.keys() == BUDGETS.keys()
    assert {len(runs) for runs in counted.values()} == {RUNS}


@pytest.mark.parametrize("work", BUDGETS)
def test_request_calls_no_more_functions_than_its_budget(
    work: str, counted: dict[str, list[float]]
) -> None:
    runs = counted[work]
    if "16" in work:
        assert statistics.median(runs) <= BUDGETS[work] * MORE_OF_MANY, runs
    else:
        assert min(runs) <= BUDGETS[work] * MORE_OF_ONE, runs
