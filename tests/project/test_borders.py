"""The borders of the concurrency core and its testing kit: import-linter finds each violation."""

import pytest
from grimp import ImportGraph
from importlinter import ContractCheck

from tests.project.source import ROOT
from tools.allowed_imports import AllowedImportsContract

CORE = "greenroom"
KIT = "greenroom.testing"
SERVER = "antechamber"
CONTRACT = "octavo.http.contract"
IMAGES = "octavo.features.images.worker"
ARCHIVES = "octavo.features.archives.worker"


def check(imported: str, package: str = CORE) -> ContractCheck:
    graph = ImportGraph()
    for module in ("octavo", CORE, f"{CORE}.mailbox", f"{CORE}.cell", KIT, f"{KIT}.mailbox"):
        graph.add_module(module)
    if imported not in graph.modules:
        graph.add_module(imported, is_squashed=not imported.startswith(("octavo.", "greenroom.")))
    graph.add_import(importer=f"{package}.mailbox", imported=imported)
    allowed = ["outcome", "trio"] if package == CORE else [CORE, "pytest", "trio"]
    apart = [KIT] if package == CORE else []
    options = {"package": package, "allowed": allowed, "apart": apart}
    return AllowedImportsContract("alone", {}, options).check(graph, verbose=False)


@pytest.mark.parametrize(
    "imported",
    ["hypercorn", "octavo", "octavo.settings", "greenroom_extras", KIT],
)
def test_a_violation_is_refused_and_named(imported: str) -> None:
    result = check(imported)
    assert not result.kept
    assert result.metadata["trespasses"] == [f"{CORE}.mailbox imports {imported}"]


@pytest.mark.parametrize("imported", ["trio", "outcome", "logging", f"{CORE}.cell", CORE])
def test_an_allowed_import_passes(imported: str) -> None:
    assert check(imported).kept


@pytest.mark.parametrize("imported", ["octavo.model", "octavo", "greenroom_extras"])
def test_a_package_below_the_root_allows_no_other_one(imported: str) -> None:
    result = check(imported, KIT)
    assert result.metadata["trespasses"] == [f"{KIT}.mailbox imports {imported}"]


@pytest.mark.parametrize("imported", ["pytest", "random", CORE, f"{CORE}.cell"])
def test_a_package_below_the_root_can_be_allowed(imported: str) -> None:
    assert check(imported, KIT).kept


@pytest.mark.parametrize("package", [CORE, KIT, SERVER, CONTRACT, IMAGES, ARCHIVES])
def test_the_contract_is_in_force(package: str) -> None:
    settings = (ROOT / "pyproject.toml").read_text()
    assert f'type = "allowed_imports"\npackage = "{package}"' in settings
