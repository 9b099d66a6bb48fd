"""How many functions a request calls: whoever adds work to the hot path sees it here.

`benchmarks/calls.py` counts them, in all threads of a real server. The count of one client depends
on whether its next request has arrived when the server looks for it: these are the budgets of a
machine that is busy, where it mostly has to wait. Where nothing else runs, the counts are 484 to
503, 280, 116, 106 and 72. That of 16 depends on how many requests come together.
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
    "304": 124,
    "read of 2 KB": 119,
    "health": 86,
}
"""The median of `RUNS` counts, by work, beside other tests: those of one client are lower alone."""
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
    more = MORE_OF_MANY if "16" in work else MORE_OF_ONE
    assert statistics.median(counted[work]) <= BUDGETS[work] * more, counted[work]
