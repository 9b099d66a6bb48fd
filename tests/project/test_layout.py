"""The tests mirror the package, and a class name has one meaning within a room or feature."""

import ast
import re
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest
from grimp import ImportGraph

from octavo.service.features import FEATURES
from tests.project.source import ROOT, modules, package_of, shipped
from tools.feature_order import FeatureOrderContract, features
from tools.size import room_of

MODULES = {path: ast.parse((ROOT / path).read_text()) for path in shipped()}
FOLDERS_OF_THEIR_OWN = {
    "access_matrix",
    "axe",
    "html_validate",
    "better_auth",
    "client",
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


def test_folders_of_the_tests_are_those_of_the_package() -> None:
    folders = {path.parent.relative_to("tests") for path in modules("tests")}
    expected = {path.parent.relative_to("octavo") for path in modules("octavo")}
    # A feature is simulated in its own folder.
    expected |= {Path("features", feature.name, "simulation") for feature in FEATURES}
    extra = {f for f in folders - expected if f.parts[0] not in FOLDERS_OF_THEIR_OWN}
    assert extra == set()


def test_class_names_are_unique_within_a_room_or_feature() -> None:
    places: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    for path, tree in MODULES.items():
        package, *folders = package_of(path).split(".")
        room = room_of(Path(*folders, path.name))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[package, room, node.name].append(str(path))
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


def test_only_the_service_imports_the_face_of_a_feature_at_run_time() -> None:
    found = []
    for path, tree in MODULES.items():
        for_annotations = {
            id(statement)
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            for statement in node.body
        }
        found += [
            f"{path}: {ast.unparse(node)}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            and not Path(path).is_relative_to("octavo/service")
            and id(node) not in for_annotations
            and re.match(r"octavo\.features\.\w+(\.feature$|$)", node.module or "")
            and (str(node.module).endswith(".feature") or "feature" in (n.name for n in node.names))
        ]
    assert found == []


def test_order_of_the_features_is_that_of_their_borders() -> None:
    assert features() == [each.name for each in FEATURES]


def test_the_order_of_the_features_is_in_force() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    assert [each["type"] for each in settings["contracts"]].count("feature_order") == 1
    contract = FeatureOrderContract("order", {"root_packages": ["octavo"]}, {})
    graph = ImportGraph()
    for name in ("", *(f".{each.name}" for each in FEATURES)):
        graph.add_module(f"octavo.features{name}")
    below, above = (f"octavo.features.{each.name}" for each in FEATURES[3:5])
    graph.add_import(importer=above, imported=below)
    assert contract.check(graph, verbose=False).kept
    graph.add_import(importer=below, imported=above)
    assert not contract.check(graph, verbose=False).kept


@pytest.mark.parametrize("package", ["antechamber", "client", "greenroom"])
def test_what_a_distribution_includes_exists(package: str) -> None:
    folder = ROOT / "packages" / package
    tool = tomllib.loads((folder / "pyproject.toml").read_text())["tool"]
    flit, pdm = tool.get("flit", {}), tool.get("pdm", {})
    included = flit["sdist"]["include"] if flit else pdm["build"]["source-includes"]
    assert "docs" in included
    assert [each for each in included if not (folder / each).exists()] == []
