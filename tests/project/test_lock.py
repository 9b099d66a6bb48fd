"""The lock files: every package by version and hash, independent of an index."""

import re
import tomllib
from itertools import chain

import pytest

from tests.project.source import ROOT

RUNTIME = "requirements.lock"
DEV = "requirements-dev.lock"
MUTANTS = "requirements-mutants.lock"
# A requirement at the start of a line, its environment marker, then what follows it, indented.
ENTRY = re.compile(
    r"^(?P<name>\S+?)==(?P<version>\S+)(?: ; (?P<marker>[^\\\n]+?))? ?"
    r"(?P<hashes>(?:\\\n +\S+ ?)*)$",
    re.MULTILINE,
)


def entries(lock: str) -> dict[str, tuple[str, str]]:
    """The version and marker of every package in ``lock``."""
    return {m["name"]: (m["version"], m["marker"] or "") for m in ENTRY.finditer(text(lock))}


def text(lock: str) -> str:
    return (ROOT / lock).read_text()


def direct(*groups: str) -> set[str]:
    """The names of what every distribution asks for: to build, to run, and in ``groups``."""
    files = [ROOT / "pyproject.toml", *ROOT.glob("packages/*/pyproject.toml")]
    tables = [tomllib.loads(file.read_text()) for file in files]
    asked = chain.from_iterable(
        chain(
            each["build-system"]["requires"],
            each["project"]["dependencies"],
            *(each["project"].get("optional-dependencies", {}).get(group, ()) for group in groups),
        )
        for each in tables
    )
    names = {re.split(r"[^A-Za-z0-9._-]", name)[0].lower().replace("_", "-") for name in asked}
    return names - {each["project"]["name"] for each in tables}


@pytest.mark.parametrize("lock", [RUNTIME, DEV, MUTANTS])
def test_lock_every_requirement_has_hashes(lock: str) -> None:
    requirements = [line for line in text(lock).splitlines() if re.match(r"[^\s#]", line)]
    found = list(ENTRY.finditer(text(lock)))
    assert len(found) == len(requirements) > 0
    for entry in found:
        hashes = entry["hashes"].replace("\\", " ").split()
        assert hashes, entry["name"]
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", h) for h in hashes), entry["name"]


@pytest.mark.parametrize("lock", [RUNTIME, DEV, MUTANTS])
def test_lock_names_no_location(lock: str) -> None:
    assert re.search(r"://|--\S*(index|links|host)| @ |^-[ief]", text(lock), re.MULTILINE) is None


def test_lock_dev_holds_the_runtime_lock() -> None:
    # The lock file's condition may be wider: the tools need some packages on more systems.
    held = {name: version for name, (version, _) in entries(DEV).items()}
    assert {
        name: version for name, (version, _) in entries(RUNTIME).items()
    }.items() <= held.items()


@pytest.mark.parametrize(("lock", "groups"), [(RUNTIME, ("client",)), (DEV, ("testing", "dev"))])
def test_lock_holds_every_direct_dependency(lock: str, groups: tuple[str, ...]) -> None:
    assert direct(*groups) <= entries(lock).keys()


def test_lock_of_mutants_holds_what_they_need_alone() -> None:
    assert entries(MUTANTS).keys() == direct("mutants") - direct()


def test_every_direct_dependency_is_accounted_for() -> None:
    page = (ROOT / "docs/dependencies.md").read_text()
    rows = set(re.findall(r"^\| \[?`?([a-z0-9-]+)", page, re.MULTILINE)) - {"package"}
    assert rows == direct("testing", "dev", "mutants")
