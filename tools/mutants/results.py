"""What became of the mutants: the stored results, and the table in the page on security."""

import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from tools.mutants.selection import ROOT, Area, modules

HERE = Path(__file__).parent
RESULTS, EQUIVALENT = HERE / "results.json", HERE / "equivalent.toml"
PAGE = ROOT / "docs/security.md"
BEGIN = "<!-- Written by `make mutants`; do not edit. -->"
END = "<!-- End of what `make mutants` writes. -->"


class Result(NamedTuple):
    """What became of the mutants of a module.

    Attributes:
        module: the digest of its text.
        tests: the digest of all its tests.
        killed: the file of the test that found a mutant; empty if it took too long, or if nothing
            could be imported.
        files: the digests of these files.
        survived: the mutants that no test found.
    """

    module: str
    tests: str
    killed: dict[str, str]
    files: dict[str, str]
    survived: list[str]

    def valid(self, module: str, tests: str) -> "Result":
        """Return what still holds: of a killed mutant, while the file that found it is the same."""
        if self.module != module:
            return Result(module, tests, {}, {}, [])
        same = {"", *(file for file, digest in self.files.items() if _digest_if(file) == digest)}
        killed = {name: file for name, file in self.killed.items() if file in same}
        files = {file: digest for file, digest in self.files.items() if file in same}
        survived = self.survived if self.tests == tests else []
        return Result(module, tests, killed, files, [*survived])


def digest_of(paths: Sequence[Path]) -> str:
    """Return the digest of files, and of all Python files in folders."""
    found = sha256()
    for path in paths:
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            found.update(file.read_bytes())
    return found.hexdigest()[:16]


def _digest_if(file: str) -> str | None:
    path = ROOT / file
    return digest_of([path]) if path.is_file() else None


def read_results() -> dict[str, Result]:
    """Return the stored results by module."""
    if not RESULTS.exists():
        return {}
    return {name: Result(**stored) for name, stored in json.loads(RESULTS.read_text()).items()}


def write_results(results: dict[str, Result]) -> None:
    """Store the results."""
    lines = [
        f"{json.dumps(name)}: {json.dumps(results[name]._asdict())}" for name in sorted(results)
    ]
    new = RESULTS.with_suffix(".new")
    new.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    new.replace(RESULTS)


def read_equivalent() -> dict[str, dict[str, str]]:
    """Return the reasons of equivalent mutants, by module and digest."""
    if not EQUIVALENT.exists():
        return {}
    return tomllib.loads(EQUIVALENT.read_text())


class Score(NamedTuple):
    """What became of the mutants of a module, or of several.

    Attributes:
        killed: those that a test found.
        equivalent: those that change nothing that anybody could observe.
        survived: the others.
    """

    killed: int
    equivalent: int
    survived: int

    def row(self, name: str) -> str:
        """Return a row of the table."""
        judged = self.killed + self.survived
        numbers = (judged + self.equivalent, self.killed, self.equivalent, self.survived)
        share = f"{100 * self.killed / judged:.1f} %" if judged else "-"
        return f"| {name} |" + "".join(f" `{each}` |" for each in (*numbers, share))


def score(killed: int, survived: Iterable[str], equivalent: Mapping[str, str]) -> Score:
    """Return the score of a module of whose mutants so many were killed."""
    alive = [name in equivalent for name in survived]
    return Score(killed, sum(alive), len(alive) - sum(alive))


def _all(scores: Sequence[Score]) -> Score:
    return Score(*(sum(numbers) for numbers in zip(*scores, strict=True)))


def rows(modules: Iterable[tuple[Area, str]], score_of: Callable[[str], Score]) -> Iterator[str]:
    """Return the rows of the modules that have mutants, below a row for each area."""
    of_areas: dict[str, dict[str, Score]] = {}
    for area, module in modules:
        found = score_of(module)
        if any(found):
            of_areas.setdefault(area.name, {})[module] = found
    yield "| module | mutants | killed | equivalent | survived | killed of those not equivalent |"
    yield "|---|---|---|---|---|---|"
    for name, scores in of_areas.items():
        yield _all([*scores.values()]).row(f"**{name}**")
        yield from (scores[module].row(f"`{module}`") for module in scores)


def replaced(page: str, lines: Iterable[str]) -> str:
    """Return the page with these rows."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError("the page has no place for the table of mutants")
    return "\n".join([f"{before}{BEGIN}", "", *lines, "", f"{END}{after}"])


def scores(results: dict[str, Result]) -> list[str]:
    """Return the table of the modules."""
    equivalent = read_equivalent()

    def score_of(module: str) -> Score:
        found = results.get(module, Result("", "", {}, {}, []))
        return score(len(found.killed), found.survived, equivalent.get(module, {}))

    return [*rows(modules(), score_of)]


def write_table(results: dict[str, Result]) -> None:
    """Write the table of the modules into the page on security."""
    page = PAGE.read_text()
    PAGE.write_text(replaced(page, scores(results)))
