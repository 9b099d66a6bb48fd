"""The border round the concurrency core holds: import-linter refuses each trespass."""

import pytest
from grimp import ImportGraph
from importlinter import ContractCheck

from tests.project.source import ROOT
from tools.allowed_imports import AllowedImportsContract

CORE = "octavo.actors.core"


def check(imported: str) -> ContractCheck:
    graph = ImportGraph()
    graph.add_module("octavo")
    for module in (CORE, f"{CORE}.mailbox", f"{CORE}.cell"):
        graph.add_module(module)
    if imported not in graph.modules:
        graph.add_module(imported, is_squashed=not imported.startswith("octavo"))
    graph.add_import(importer=f"{CORE}.mailbox", imported=imported)
    options = {"package": CORE, "allowed": ["outcome", "trio"]}
    return AllowedImportsContract("core", {}, options).check(graph, verbose=False)


@pytest.mark.parametrize(
    "imported",
    ["hypercorn", "octavo", "octavo.settings", "octavo.actors", "octavo.actors.core_extras"],
)
def test_a_trespass_is_refused_and_named(imported: str) -> None:
    result = check(imported)
    assert not result.kept
    assert result.metadata["trespasses"] == [f"{CORE}.mailbox imports {imported}"]


@pytest.mark.parametrize("imported", ["trio", "outcome", "logging", f"{CORE}.cell", CORE])
def test_what_is_allowed_passes(imported: str) -> None:
    assert check(imported).kept


def test_the_contract_is_in_force() -> None:
    settings = (ROOT / "pyproject.toml").read_text()
    assert f'type = "allowed_imports"\npackage = "{CORE}"' in settings
