"""Which modules are mutated, and which tests each mutant runs."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SHARE = 8
"""Of the modules that do not decide rights, one mutant in so many is drawn."""
SIMULATIONS = (
    "tests/simulation/test_simulation.py",
    "tests/simulation/test_access_simulation.py",
    "tests/simulation/test_housekeeping_simulation.py",
)


class Area(NamedTuple):
    """Modules that are judged alike.

    Attributes:
        name: what they decide.
        whole: whether all their mutants are run, or a draw of one in `SHARE`.
        patterns: the modules.
    """

    name: str
    whole: bool
    patterns: Sequence[str]


AREAS = (
    Area(
        "rights and ownership",
        True,
        (
            "octavo/access/*.py",
            "octavo/model/access/*.py",
            "octavo/model/workspace.py",
            "octavo/features/accounts/*.py",
            "octavo/features/accounts/rules/*.py",
            "octavo/features/accounts/sql/*.py",
            "octavo/features/members/*.py",
            "octavo/features/members/sql/*.py",
            "octavo/features/oauth/*.py",
            "octavo/features/oauth/rules/*.py",
            "octavo/features/oauth/sql/*.py",
            "octavo/features/publishing/links.py",
            "octavo/features/publishing/link_access.py",
            "octavo/features/publishing/rules.py",
            "octavo/features/publishing/signing.py",
            "octavo/features/publishing/sql/publications.py",
            "octavo/features/publishing/sql/folder_links.py",
            "octavo/features/administration/administration.py",
            "octavo/store/queries/accounts.py",
            "octavo/store/queries/workspaces.py",
        ),
    ),
    Area(
        "order and durability",
        False,
        (
            "octavo/actors/workspace/*.py",
            "octavo/actors/group_commit.py",
            "octavo/actors/notice_hub.py",
            "octavo/actors/jobs/*.py",
            "octavo/store/transaction.py",
            "octavo/store/queries/*.py",
            "octavo/model/files/*.py",
            "packages/client/src/octavo_client/retrying.py",
            "packages/client/src/octavo_client/mirror.py",
            "packages/greenroom/src/greenroom/mailbox.py",
            "packages/greenroom/src/greenroom/supervisor.py",
            "packages/greenroom/src/greenroom/child.py",
            "packages/greenroom/src/greenroom/directory.py",
        ),
    ),
    Area(
        "features",
        False,
        (
            "octavo/features/*/rules.py",
            "octavo/features/*/rules/*.py",
            "octavo/features/*/sql.py",
            "octavo/features/*/sql/*.py",
            "octavo/features/usage/*.py",
            "octavo/features/publishing/*.py",
            "octavo/features/history/*.py",
            "octavo/features/archives/*.py",
            "octavo/features/mail/*.py",
            "octavo/features/sync/*.py",
        ),
    ),
)
_NOT_JUDGED = {"__init__.py", "feature.py", "settings.py", "api.py", "pages.py"}
_ROOMS = {
    # Tests of these rooms stand with those who use them.
    "octavo/access": ("tests/access", "tests/http/contract", "tests/access_matrix"),
    "octavo/model/access": (
        *("tests/model", "tests/access", "tests/features/accounts", "tests/features/members"),
    ),
    "octavo/model/workspace.py": ("tests/model", "tests/features/members", "tests/access"),
    "octavo/model": ("tests/model", "tests/actors", "tests/features/files"),
    "octavo/store/queries": ("tests/store/queries", "tests/actors", "tests/service"),
    "octavo/store": ("tests/store",),
    "octavo/actors": ("tests/actors", "tests/features/files", "tests/features/sync"),
    "packages/greenroom": ("packages/greenroom/tests",),
    "packages/client": ("packages/client/tests", "tests/client"),
}


def modules() -> Iterator[tuple[Area, str]]:
    """Return the modules with their areas, each in the first that names it."""
    seen: set[str] = set()
    for area in AREAS:
        for pattern in area.patterns:
            for path in sorted(ROOT.glob(pattern)):
                module = path.relative_to(ROOT).as_posix()
                if path.name not in _NOT_JUDGED and module not in seen:
                    seen.add(module)
                    yield area, module


def drawn(names: Sequence[str], area: Area, seed: int) -> list[str]:
    """Return those of the mutants of a module that are run, in their order."""
    if area.whole:
        return [*names]
    # A string seeds alike in every process.
    return [name for name in names if random.Random(f"{seed} {name}").randrange(SHARE) == 0]


def tests_of(module: str) -> list[str]:
    """Return the tests of a module, those of itself first, then those of its feature or room."""
    path = Path(module)
    if module.startswith("octavo/features/"):
        feature = Path("tests", *path.parts[1:3])
        mirrored = Path("tests", *path.parts[1:-1])
        folders = [feature.as_posix()]
    else:
        room = max((room for room in _ROOMS if module.startswith(room)), key=len)
        mirrored = Path("tests", *path.parts[1:-1])
        if path.parts[0] == "packages":
            mirrored = Path(*path.parts[:2], "tests")
        folders = [*_ROOMS[room]]
    return [*_own(path.stem, mirrored), *folders]


def _own(stem: str, folder: Path) -> list[str]:
    near = [folder / f"test_{stem}.py", folder / f"test_{folder.name}_{stem}.py"]
    return [one.as_posix() for one in near if (ROOT / one).is_file()]


def simulations_of(module: str) -> list[str]:
    """Return the simulations that a mutant runs last."""
    if module.startswith("octavo/features/"):
        folder = Path("tests", *Path(module).parts[1:3], "simulation").as_posix()
        if (ROOT / folder).is_dir():
            return [folder, *SIMULATIONS]
    return [*SIMULATIONS] if module.startswith("octavo/") else []
