"""The benchmarks: each starts as `docs/performance.md` says."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.http_server import LOADS, running

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(
    each.name
    for each in (ROOT / "benchmarks").glob("*.py")
    if '__name__ == "__main__"' in each.read_text()
)


def test_there_are_benchmarks() -> None:
    assert "publishing.py" in SCRIPTS


@pytest.mark.parametrize("name", SCRIPTS)
def test_benchmark_starts_from_the_root_of_the_project(name: str) -> None:
    # `make bench ARGS=--quick` gives each of them this option.
    command = [sys.executable, f"benchmarks/{name}", "--quick", "--help"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "usage:" in ended.stdout
    assert "--quick" in ended.stdout


@pytest.mark.parametrize("name", ["links.py", "start.py"])
def test_checkout_to_compare_with_has_the_package(name: str, tmp_path: Path) -> None:
    command = [sys.executable, f"benchmarks/{name}", "--against", str(tmp_path)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "name a checkout" in ended.stderr


@pytest.mark.parametrize("name", sorted({load.server for load in LOADS}))
def test_server_to_compare_with_starts(name: str) -> None:
    with running(name, 0):
        pass
