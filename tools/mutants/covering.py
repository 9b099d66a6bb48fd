"""Which tests run which lines, and how long each takes: a plugin of pytest, and what it recorded.

``pytest -p tools.mutants.covering`` records into the folder that ``OCTAVO_COVERING`` names.
"""

import ast
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

from tools.mutants.selection import ROOT, modules

VARIABLE = "OCTAVO_COVERING"
IN_PROCESS = (
    *("tests/access", "tests/actors", "tests/cli", "tests/control", "tests/features"),
    *("tests/http", "tests/model", "tests/render", "tests/service", "tests/store", "tests/ws"),
    *("tests/client", "tests/workers", "tests/histories"),
    *("packages/greenroom/tests", "packages/client/tests"),
)
"""The tests that run the service in their own process; simulations and real servers are not."""

_recording: "_Recording | None" = None


class _Recording:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._name = f"{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"
        self._coverage = coverage.Coverage(
            data_file=str(folder / f"lines.{self._name}"),
            include=[str(ROOT / module) for _, module in modules()],
            config_file=False,
        )
        self._seconds: dict[str, float] = {}

    def start(self) -> None:
        self._coverage.start()

    def watch(self, test: str) -> Iterator[None]:
        self._coverage.switch_context(test)
        began = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[test] = time.perf_counter() - began
            self._coverage.switch_context("")

    def finish(self) -> None:
        self._coverage.stop()
        self._coverage.save()
        path = self._folder / f"seconds.{self._name}.json"
        path.write_text(json.dumps(self._seconds))


def pytest_configure(config: pytest.Config) -> None:
    """Record in this process, if it is to be recorded."""
    global _recording  # noqa: PLW0603 - a plugin has no other place
    folder = os.environ.get(VARIABLE)
    # The process that only distributes the tests runs none.
    distributes = config.getoption("numprocesses", None) and not hasattr(config, "workerinput")
    if folder is not None and not distributes:
        _recording = _Recording(Path(folder))
        _recording.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Attribute the lines that run meanwhile to the test."""
    if _recording is None:
        return (yield)
    watching = _recording.watch(item.nodeid)
    next(watching)
    try:
        return (yield)
    finally:
        next(watching, None)


def pytest_unconfigure() -> None:
    """Write what was recorded."""
    if _recording is not None:
        _recording.finish()


def record(folder: Path, processes: int) -> None:
    """Run the tests once, and record into ``folder``; raise if one fails."""
    folder.mkdir(parents=True)
    simulations = [path.relative_to(ROOT) for path in ROOT.glob("tests/features/*/simulation")]
    subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-n", str(processes), "--dist", "worksteal"),
            *("-p", "tools.mutants.covering", "-p", "no:cacheprovider"),
            *IN_PROCESS,
            *(f"--ignore={path}" for path in simulations),
        ],
        cwd=ROOT,
        env={**os.environ, VARIABLE: str(folder), "COVERAGE_CORE": "ctrace"},
        check=True,
    )


class Covering:
    """What was recorded: the tests that run each line of a module."""

    def __init__(self, folder: Path) -> None:
        self._data = [
            coverage.CoverageData(basename=str(path)) for path in sorted(folder.glob("lines.*"))
        ]
        for data in self._data:
            data.read()
        self.seconds: dict[str, float] = {}
        for path in folder.glob("seconds.*.json"):
            self.seconds.update(json.loads(path.read_text()))

    def lines_of(self, module: str) -> "dict[int, set[str]]":
        """Return the tests that run each line of a module."""
        lines: defaultdict[int, set[str]] = defaultdict(set)
        for data in self._data:
            for line, tests in data.contexts_by_lineno(str(ROOT / module)).items():
                lines[line].update(test for test in tests if test)
        return lines


def tests_of_lines(source: str, covered: dict[int, set[str]]) -> dict[int, set[str]]:
    """Return the tests that a change of each line of a module may concern.

    A line of a function concerns the tests that run it or, where none does, those of the whole
    function. What runs when the module is imported concerns the tests of what uses its name.
    """
    tree = ast.parse(source)
    concerned: dict[int, set[str]] = {}
    used: defaultdict[str, set[str]] = defaultdict(set)
    named: dict[str, set[str]] = {}

    def whole(node: ast.stmt) -> set[str]:
        lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        return {test for line in lines for test in covered.get(line, ())}

    for node in tree.body:
        names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        tests = whole(node)
        for name in names:
            used[name] |= tests
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for one in ast.walk(target):
                    if isinstance(one, ast.Name):
                        named[one.id] = names
    # A constant that is made of others hands on the tests that it concerns.
    for _ in named:
        for name, others in named.items():
            for other in others:
                used[other] |= used[name]
    for node in tree.body:
        constants = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} & named.keys()
        first = node.lineno
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min([first, *(each.lineno for each in node.decorator_list)])
            tests = whole(node) | used[node.name]
        else:
            tests = set().union(*(used[name] for name in constants)) if constants else whole(node)
        for line in range(first, (node.end_lineno or node.lineno) + 1):
            concerned[line] = tests
        for inner in ast.walk(node):
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                of_function = whole(inner)
                for line in range(inner.lineno, (inner.end_lineno or inner.lineno) + 1):
                    concerned[line] = covered.get(line) or of_function
                for statement in ast.walk(inner):
                    # A statement of several lines is run as a whole.
                    if isinstance(statement, ast.stmt) and not hasattr(statement, "body"):
                        last = statement.end_lineno or statement.lineno
                        for line in range(statement.lineno, last + 1):
                            concerned[line] = whole(statement) or concerned[line]
    return concerned


def lines_of_functions(source: str) -> set[int]:
    """Return the lines of the functions of a module."""
    return {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
