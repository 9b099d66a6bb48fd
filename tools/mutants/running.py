"""Run the tests of mutants, each in a process forked from one that has the libraries loaded."""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import CodeType, ModuleType
from typing import NamedTuple

from tools.mutants.selection import ROOT

PRELOADED = (
    *("pytest", "_pytest.assertion.rewrite", "trio", "trio.testing", "pytest_trio", "hypothesis"),
    *("pydantic", "quart_trio", "jinja2", "markdown_it", "asyncpg", "trio_asyncio", "httpx"),
    *("pycrdt", "nh3", "wsproto", "h11", "hypercorn", "argon2", "PIL.Image", "attrs"),
)
"""Libraries: importing them takes most of the time of a run."""
MEMORY = 8 * 1024**3
SURVIVED, KILLED = "survived", "killed"
BUDGET = {"OCTAVO_SIMULATION_SCHEDULES": "30", "OCTAVO_SIMULATION_SEEDS": "10"}


_PASSED = (0, 5)
"""Exit codes of pytest: no test failed, or there was none."""
_FAILED_TO_RUN = 70
"""The exit code of a process in which pytest itself failed, which says nothing of the mutant."""


class Stage(NamedTuple):
    """Some of the tests, as arguments of pytest."""

    name: str
    arguments: Sequence[str]


class Run(NamedTuple):
    """What became of a mutant.

    Attributes:
        outcome: whether a test found it.
        by: the stage that found it, or "time"; empty if none did.
        seconds: how long it took.
        output: what pytest printed.
    """

    outcome: str
    by: str
    seconds: float
    output: str


def preload() -> None:
    """Import what every run needs, before processes are forked."""
    for name in PRELOADED:
        import_module(name)


class _Mutated(importlib.abc.MetaPathFinder):
    """Finds one module, and lets it be loaded from another text."""

    def __init__(self, name: str, path: Path, source: str) -> None:
        self._name, self._path, self._source = name, path, source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the specification of the module, and none of others."""
        if fullname != self._name:
            return None
        loader = _Text(fullname, str(self._path), self._source)
        return importlib.util.spec_from_file_location(fullname, self._path, loader=loader)


class _Text(importlib.machinery.SourceFileLoader):
    def __init__(self, fullname: str, path: str, source: str) -> None:
        super().__init__(fullname, path)
        self._source = source

    def get_code(self, fullname: str) -> CodeType:
        # Not from a compiled file: that is of the module as it is.
        return compile(self._source, self.path, "exec", dont_inherit=True)


def name_of(module: str) -> str:
    """Return the name by which a module is imported."""
    parts = Path(module).with_suffix("").parts
    return ".".join(parts[parts.index("src") + 1 :] if "src" in parts else parts)


def run(module: str, source: str, stages: Sequence[Stage], timeout: float) -> Run:
    """Run tests with another text of a module, stage by stage until one fails.

    ``timeout`` is in seconds, for each stage; a mutant that takes longer is found. Raises
    RuntimeError if pytest fails in another way than its tests.
    """
    began = time.monotonic()
    output = ""
    for stage in stages:
        with tempfile.TemporaryFile() as printed:
            code = _forked(module, source, stage.arguments, printed.fileno(), timeout)
            printed.seek(0)
            output = printed.read().decode(errors="replace")
        seconds = time.monotonic() - began
        if code is None:
            return Run(KILLED, "time", seconds, output)
        if code == _FAILED_TO_RUN:
            raise RuntimeError(f"the tests of {module} did not run:\n{output[-2000:]}")
        if code not in _PASSED:
            # Also when tests can't be collected, as the module can't be imported.
            return Run(KILLED, stage.name, seconds, output)
    return Run(SURVIVED, "", time.monotonic() - began, output)


def _forked(
    module: str, source: str, arguments: Sequence[str], printed: int, timeout: float
) -> int | None:
    """Return the exit code of pytest in a process of its own, or None if it takes too long."""
    process = os.fork()
    if process == 0:
        code = _FAILED_TO_RUN
        try:
            os.setsid()
            os.dup2(printed, 1)
            os.dup2(printed, 2)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            code = _tested(module, source, arguments)
        except BaseException:  # noqa: BLE001 - the code of the process tells
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    try:
        descriptor = os.pidfd_open(process)
        ended, _, _ = select.select([descriptor], [], [], timeout)
        os.close(descriptor)
    finally:
        # What the tests started goes with them.
        with suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
    return (os.waitstatus_to_exitcode(status) % 256) if ended else None


def _tested(module: str, source: str, arguments: Sequence[str]) -> int:
    import pytest  # noqa: PLC0415 - loaded before, by `preload`

    os.environ.update(BUDGET)
    os.chdir(ROOT)
    sys.dont_write_bytecode = True
    sys.meta_path.insert(0, _Mutated(name_of(module), ROOT / module, source))
    options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--tb=line", "--no-header"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    try:
        return int(pytest.main([*options, *arguments]))
    except pytest.PytestUnraisableExceptionWarning:
        # Something was left open, which is noticed after the last test only.
        traceback.print_exc()
        return int(pytest.ExitCode.TESTS_FAILED)
