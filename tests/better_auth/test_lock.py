"""The lock file of the npm packages: every package by version and hash, independent of an index."""

import json
import re
from pathlib import Path

import pytest

from tests.better_auth.browser import missing

HERE = Path(__file__).resolve().parent


def test_lock_names_every_package_by_version_and_hash_and_no_location() -> None:
    lock = json.loads((HERE / "package-lock.json").read_text())
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert "node_modules/better-auth" in packages
    for name, package in packages.items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", package["version"]), name
        assert package["integrity"].startswith("sha512-"), name
        assert "resolved" not in package, name


def test_package_requires_the_locked_version() -> None:
    asked = json.loads((HERE / "package.json").read_text())["dependencies"]
    lock = json.loads((HERE / "package-lock.json").read_text())["packages"]
    assert asked == {"better-auth": lock["node_modules/better-auth"]["version"]}


def test_browser_without_node_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert "apt-get install nodejs npm" in (missing() or "")
