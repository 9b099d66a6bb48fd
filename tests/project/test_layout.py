"""The tests mirror the package, and its rooms have few modules at their top."""

import ast
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

from tests.project.source import ROOT, imports, modules, package_of

TABLE = Path("tests/project/tested_through.toml")
TESTED_THROUGH: dict[str, str] = tomllib.loads((ROOT / TABLE).read_text())
MODULES = {path: ast.parse((ROOT / path).read_text()) for path in modules("octavo")}
FOLDERS_OF_THEIR_OWN = {
    "axe",
    "html_validate",
    "better_auth",
    "mcp_conformance",
    "e2e",
    "fakes",
    "histories",
    "oauth_clients",
    "oldest_sqlite",
    "project",
    "simulation",
    "yjs",
}
MAX_AT_TOP = {"octavo/http": 3, "octavo/model": 12, "octavo/actors": 4}


def decides(tree: ast.Module) -> bool:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return any(isinstance(node, kinds) for node in tree.body)


def own_test_of(module: Path) -> Path:
    folder = Path("tests", *module.parent.parts[1:])
    return folder / f"test_{module.name}"


def exports() -> dict[str, str]:
    """The exports of packages, by the name that importers use; where each is defined."""
    return {
        f"{package_of(path)}.{local}": origin
        for path, tree in MODULES.items()
        if path.name == "__init__.py"
        for local, origin, _ in imports(tree, package_of(path))
    }


EXPORTS = exports()


def imported(path: Path) -> set[str]:
    """The imports of a module, by where they are defined, with modules that it loads by name."""
    tree = ast.parse((ROOT / path).read_text())
    found = {origin for _, origin, _ in imports(tree, package_of(path))}
    named = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.startswith("octavo.cli.")
    }
    return {EXPORTS.get(origin, origin) for origin in found} | found | named


DECIDING = [
    path
    for path, tree in MODULES.items()
    if decides(tree) and path.name not in ("__init__.py", "__main__.py")
]


@pytest.mark.parametrize("module", DECIDING, ids=str)
def test_module_has_its_test_or_is_named_in_the_table(module: Path) -> None:
    named = str(module) in TESTED_THROUGH
    assert (ROOT / own_test_of(module)).exists() is not named, f"see {TABLE}"


@pytest.mark.parametrize(("module", "other"), TESTED_THROUGH.items())
def test_table_names_a_test_or_a_tested_module_that_imports_it(module: str, other: str) -> None:
    assert Path(module) in DECIDING
    path = Path(other)
    name = ".".join(Path(module).with_suffix("").parts)
    assert any(f"{origin}.".startswith(f"{name}.") for origin in imported(path)), "not imported"
    if path.parts[0] == "octavo":
        assert (ROOT / own_test_of(path)).exists() or other in TESTED_THROUGH


def test_table_has_no_cycle() -> None:
    for module in TESTED_THROUGH:
        seen, at = {module}, TESTED_THROUGH[module]
        while at in TESTED_THROUGH:
            assert at not in seen, f"{module} is tested through itself"
            seen.add(at)
            at = TESTED_THROUGH[at]


def test_folders_of_the_tests_are_those_of_the_package() -> None:
    folders = {path.parent.relative_to("tests") for path in modules("tests")}
    expected = {path.parent.relative_to("octavo") for path in MODULES}
    extra = {f for f in folders - expected if f.parts[0] not in FOLDERS_OF_THEIR_OWN}
    assert extra == set()


@pytest.mark.parametrize(("room", "maximum"), MAX_AT_TOP.items())
def test_room_has_few_modules_at_its_top(room: str, maximum: int) -> None:
    top = [path for path in MODULES if path.parent == Path(room) and path.name != "__init__.py"]
    assert len(top) <= maximum


def test_class_names_are_unique_in_the_package() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path, tree in MODULES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_docstrings_are_imperative() -> None:
    found = [
        f"{path}: {node.name}"
        for path, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and (ast.get_docstring(node) or "").startswith("Answer ")
    ]
    assert found == []
