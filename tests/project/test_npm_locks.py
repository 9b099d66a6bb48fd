"""The lock files of npm packages: every package by version and hash, independent of an index.

`tests/project/test_lock.py` does the same for Python's.
"""

import json
import re
from pathlib import Path

import pytest

from tests.project.source import ROOT

FOLDERS = {
    "axe": {"axe-core"},
    "better_auth": {"better-auth"},
    "html_validate": {"html-validate"},
    "mcp_conformance": {"@modelcontextprotocol/conformance", "conformance-stable"},
    "oauth_clients": {
        "@modelcontextprotocol/client",
        "@modelcontextprotocol/inspector",
        "@modelcontextprotocol/sdk",
        "oauth4webapi",
        "openid-client",
    },
    "oldest_sqlite": {"better-sqlite3"},
    "yjs": {"yjs"},
}
"""The folders below tests with npm packages, and what each needs."""


def read(folder: str, name: str) -> dict[str, dict[str, dict[str, str]]]:
    content: dict[str, dict[str, dict[str, str]]] = json.loads(
        (ROOT / "tests" / folder / name).read_text()
    )
    return content


def test_every_folder_with_packages_is_in_the_table() -> None:
    found = {path.parent.name for path in (ROOT / "tests").glob("*/package.json")}
    assert found == set(FOLDERS)


@pytest.mark.parametrize("folder", FOLDERS)
def test_lock_names_every_package_by_version_and_hash_and_no_location(folder: str) -> None:
    locked = read(folder, "package-lock.json")["packages"]
    packages = {name: each for name, each in locked.items() if name}
    assert {f"node_modules/{each}" for each in FOLDERS[folder]} <= set(packages)
    for name, each in packages.items():
        assert re.fullmatch(r"\d+\.\d+\.\d+(-[a-z]+\.\d+)?", each["version"]), name
        assert each["integrity"].startswith("sha512-"), name
        assert "resolved" not in each, name


@pytest.mark.parametrize("folder", FOLDERS)
def test_package_requires_the_locked_versions(folder: str) -> None:
    locked = read(folder, "package-lock.json")["packages"]
    asked = json.loads((ROOT / "tests" / folder / "package.json").read_text())["dependencies"]
    # A second version of a package has a name of its own: npm:package@version.
    versions = {name: version.rpartition("@")[2] for name, version in asked.items()}
    expected = {name: locked[f"node_modules/{name}"]["version"] for name in FOLDERS[folder]}
    assert versions == expected


@pytest.mark.parametrize("folder", FOLDERS)
def test_packages_are_installed_for_the_tests(folder: str) -> None:
    makefile = Path(ROOT / "Makefile").read_text()
    [target] = re.findall(rf"^([a-z-]+):\n\t@tools/npm.sh {folder} ", makefile, re.MULTILINE)
    [needed] = re.findall(r"^test: (.*) ##", makefile, re.MULTILINE)
    assert target in needed.split()
