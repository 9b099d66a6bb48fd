"""Run mutants, and write down what became of them.

Usage: python -m tools.mutants [--seed N] [--only TEXT] [--survivors] [--list]

Without options every mutant of the modules that decide rights is run, and a draw of the others;
what has a stored result is not run again. A run that was stopped goes on where it was. ``--only``
selects modules by a part of their names, ``--survivors`` runs only what survived before, with the
tests that there are now, unless it is known as equivalent. ``--list`` runs nothing, and prints the
survivors that are not known as equivalent.

Results are in ``tools/mutants/results.json``, by the digests of a module and of the files of tests
that found its mutants; what survived holds as long as all its tests are the same. Mutants
that change nothing that anybody could observe are in ``tools/mutants/equivalent.toml``, with the
reason. At the end the scores of the modules are written into ``docs/security.md``.
"""

import argparse
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from multiprocessing import get_context
from threading import Event, Semaphore
from typing import NamedTuple

from tests.fakes.postgres_server import VARIABLE, running_server
from tools.mutants.cosmic import cosmic_mutants
from tools.mutants.covering import Covering, lines_of_functions, record, tests_of_lines
from tools.mutants.operators import Mutant, mutants_of
from tools.mutants.results import (
    Result,
    digest_of,
    read_equivalent,
    read_results,
    write_results,
    write_table,
)
from tools.mutants.running import SURVIVED, Run, Stage, preload, run
from tools.mutants.selection import ROOT, Area, drawn, modules, simulations_of, tests_of

WORK = ROOT / "build" / "mutants"
PROCESSES = 2
NEAR_SECONDS, ALL_SECONDS = 3.0, 15.0
"""Tests of a mutant, by their time without it: those nearest first, then the others."""
TIMEOUT = 120.0
_DOCUMENTED = Stage("tables of docs", ["tests/project/test_security.py"])
"""Compares limits and rates with what is documented."""
_FAILED = re.compile(r"^(?:FAILED|ERROR) ([^:\s]+\.py)", re.MULTILINE)


def recorded() -> Covering:
    """Return which tests run which lines; record it first, unless nothing has changed since."""
    sources = [ROOT / name for name in ("octavo", "packages", "tests")]
    folder = WORK / f"covering-{digest_of(sources)}"
    if not (folder / "complete").exists():
        print("recording which tests run which lines (six minutes)", flush=True)
        started = folder.with_suffix(f".{os.getpid()}")
        record(started, PROCESSES)
        (started / "complete").touch()
        started.replace(folder)
    return Covering(folder)


def stages_of(
    module: str,
    mutant: Mutant,
    concerned: dict[int, set[str]],
    functions: set[int],
    seconds: dict[str, float],
) -> list[Stage]:
    """Return the tests of a mutant: those nearest of those that run its lines, then the others.

    ``functions`` are the lines of functions.
    """
    count = mutant.before.count("\n") + 1
    tests = {
        test for line in range(mutant.line, mutant.line + count) for test in concerned.get(line, ())
    }
    near = tests_of(module)
    if not tests:
        return [_DOCUMENTED, Stage("tests", near), *_simulated(module)]

    def distance(test: str) -> tuple[int, float]:
        place = next((at for at, one in enumerate(near) if test.startswith(one)), len(near))
        return place, seconds.get(test, 1.0)

    stages: list[Stage] = []
    own = [one for one in near if one.endswith(".py")]
    if own and mutant.line not in functions:
        # What runs at import is often looked at, and not run, by the tests of the module.
        stages.append(Stage("own tests", own))
    chosen: list[str] = []
    spent = 0.0
    for test in sorted(tests, key=distance):
        spent += seconds.get(test, 1.0)
        if spent > ALL_SECONDS:
            break
        chosen.append(test)
        if spent > NEAR_SECONDS and all(stage.name != "near tests" for stage in stages):
            stages.append(Stage("near tests", chosen))
            chosen = []
    if chosen:
        stages.append(Stage("tests", chosen))
    return [*stages[:1], _DOCUMENTED, *stages[1:], *_simulated(module)]


def _simulated(module: str) -> list[Stage]:
    simulations = simulations_of(module)
    return [Stage("simulation", simulations)] if simulations else []


class Task(NamedTuple):
    """A mutant to run."""

    module: str
    name: str
    mutant: Mutant
    stages: list[Stage]


def _run(task: Task) -> tuple[Task, Run]:
    return task, run(task.module, task.mutant.source, task.stages, TIMEOUT)


def tasks_of(
    options: argparse.Namespace, results: dict[str, Result], covering: Covering
) -> Iterator[Task]:
    """Return the mutants that have no stored result, module by module."""
    for area, module in modules():
        if options.only in module:
            yield from _tasks_of_module(options, area, module, results, covering)


def _tasks_of_module(
    options: argparse.Namespace,
    area: Area,
    module: str,
    results: dict[str, Result],
    covering: Covering,
) -> Iterator[Task]:
    source = (ROOT / module).read_text()
    text = digest_of([ROOT / module])
    tests = digest_of([ROOT / one for one in tests_of(module)])
    stored = results.get(module, Result("", "", {}, {}, []))
    valid = results[module] = stored.valid(text, tests)
    mutants = mutants_of(source, cosmic_mutants(source))
    names = drawn([*mutants], area, options.seed)
    # The operators may have changed.
    valid.survived[:] = [name for name in valid.survived if name in mutants]
    for name in valid.killed.keys() - mutants.keys():
        del valid.killed[name]
    if options.survivors:
        names = [name for name in names if name in stored.survived]
        valid.survived.clear()
    # What is known as equivalent survives whatever the tests are.
    known = read_equivalent().get(module, {})
    have = {*valid.killed, *valid.survived}
    valid.survived.extend(name for name in names if name in known and name not in have)
    have.update(known)
    left = [name for name in names if name not in have]
    if left:
        # The module as it is: its tests have to pass.
        unchanged = Mutant("", 1, "", "", source)
        yield Task(module, "", unchanged, [Stage("tests", tests_of(module)[:1])])
        concerned = tests_of_lines(source, covering.lines_of(module))
        functions = lines_of_functions(source)
        for name in left:
            stages = stages_of(module, mutants[name], concerned, functions, covering.seconds)
            yield Task(module, name, mutants[name], stages)


def survivors(results: dict[str, Result]) -> Iterator[tuple[str, str, Mutant]]:
    """Return the mutants that survived and are not known as equivalent."""
    equivalent = read_equivalent()
    for _, module in modules():
        result = results.get(module)
        if result is not None and result.survived:
            source = (ROOT / module).read_text()
            mutants = mutants_of(source, cosmic_mutants(source))
            for name in result.survived:
                if name in mutants and name not in equivalent.get(module, {}):
                    yield module, name, mutants[name]


def main() -> int:
    """Run what has no result yet; return 1 if a mutant survived that is not known as equivalent."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--survivors", action="store_true")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    results = read_results()
    if not options.list:
        _run_all(options, results)
    write_table(results)
    found = [each for each in survivors(results) if options.only in each[0]]
    for module, name, mutant in found:
        print(f"{module}:{mutant.line} {name} {mutant.operator}")
        print(f"    - {mutant.before.strip()}\n    + {mutant.after.strip()}")
    return 1 if found else 0


def _run_all(options: argparse.Namespace, results: dict[str, Result]) -> None:
    covering = recorded()
    preload()
    done = 0
    written = time.monotonic()
    # Forked: the processes have the libraries, and what each imports beyond them goes with it.
    # Tasks are made as they are needed: each has the text of a module.
    room = Semaphore(4 * PROCESSES)

    ended = Event()

    def admitted() -> Iterator[Task]:
        for task in tasks_of(options, results, covering):
            room.acquire()
            if ended.is_set():
                return
            yield task

    with ExitStack() as stack:
        os.environ[VARIABLE] = stack.enter_context(running_server()).url()
        pool = stack.enter_context(get_context("fork").Pool(PROCESSES))
        try:
            for task, finished in pool.imap_unordered(_run, admitted()):
                room.release()
                if not task.name:
                    if finished.outcome != SURVIVED:
                        print(finished.output[-2000:], file=sys.stderr)
                        raise SystemExit(f"the tests of {task.module} fail as it is")
                    continue
                _add(results[task.module], task.name, finished)
                done += 1
                line = f"{done} {finished.seconds:.1f} s {finished.outcome} {finished.by}"
                print(f"{line} {task.module}:{task.mutant.line} {task.name}", flush=True)
                if time.monotonic() - written > 20:
                    write_results(results)
                    written = time.monotonic()
        finally:
            write_results(results)
            # The pool ends only when its thread, which may wait for room, asks for another task.
            ended.set()
            room.release(4 * PROCESSES)


def _add(result: Result, name: str, finished: Run) -> None:
    if finished.outcome == SURVIVED:
        result.survived.append(name)
        return
    found = _FAILED.search(finished.output)
    file = "" if found is None else found[1]
    result.killed[name] = file
    if file:
        result.files[file] = digest_of([ROOT / file])


if __name__ == "__main__":
    sys.exit(main())
