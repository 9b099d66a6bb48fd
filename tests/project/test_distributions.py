"""The wheels of the four distributions install without an index, each with what it needs alone."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen
from zipfile import ZipFile

import pytest

from tests.project.source import ROOT

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "--quiet"]
PACKAGES = sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml"))


def run(*command: str | Path) -> str:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, check=False, env=environment, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the four wheels, and those of all that they need."""
    folder = tmp_path_factory.mktemp("wheels")
    sources = tmp_path_factory.mktemp("sources")
    for package in [ROOT, *PACKAGES]:
        # Building in place would leave files in the checkout.
        ignored = shutil.ignore_patterns(".*", "node_modules", "__pycache__", "tests", "build")
        shutil.copytree(package, sources / package.name, ignore=ignored)
    run(*PIP, "wheel", "--no-deps", "--no-build-isolation", "-w", folder, *sources.iterdir())
    assert sorted(path.name.split("-")[0] for path in folder.iterdir()) == [
        "antechamber",
        "greenroom",
        "octavo",
        "octavo_client",
    ]
    lock = ROOT / "requirements.lock"
    run(*PIP, "download", "--only-binary", ":all:", "--no-deps", "--dest", folder, "-r", lock)
    return folder


def environment(folder: Path, wheels: Path, *names: str) -> Path:
    """Install distributions into a new environment; return its folder of programs."""
    run(sys.executable, "-m", "uv", "venv", "--quiet", "--python", sys.executable, folder)
    python = folder / "bin" / "python"
    install: list[str | Path] = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "install",
        "--quiet",
        "--python",
        python,
    ]
    run(*install, "--no-index", "--find-links", wheels, *names)
    return folder / "bin"


def installed(programs: Path) -> set[str]:
    listed = run(
        sys.executable,
        "-m",
        "uv",
        "pip",
        "list",
        "--format",
        "json",
        "--python",
        programs / "python",
    )
    return {package["name"] for package in json.loads(listed)}


def test_each_import_package_says_that_it_is_typed(wheels: Path) -> None:
    for distribution in ("antechamber", "greenroom", "octavo_client", "octavo"):
        [wheel] = wheels.glob(f"{distribution}-*.whl")
        names = zipfile.ZipFile(wheel).namelist()
        packages = {name.partition("/")[0] for name in names if name.endswith(".py")}
        assert packages
        assert {f"{package}/py.typed" for package in packages} <= {*names}, distribution


TRIO = {"attrs", "idna", "outcome", "sniffio", "sortedcontainers", "trio"}


def test_actors_bring_trio_alone_and_their_first_example_runs(wheels: Path, tmp_path: Path) -> None:
    programs = environment(tmp_path / "venv", wheels, "greenroom")
    assert installed(programs) == {"greenroom", *TRIO}
    readme = (ROOT / "packages/greenroom/README.md").read_text()
    example = re.search(
        r"^```python\n(.*?)^```\n\n```text\n(.*?)^```", readme, re.MULTILINE | re.DOTALL
    )
    assert example is not None
    program = tmp_path / "example.py"
    program.write_text(example[1])
    assert run(programs / "python", program) == example[2]


def test_client_installs_without_the_service(wheels: Path, tmp_path: Path) -> None:
    programs = environment(tmp_path / "venv", wheels, "octavo-client")
    assert installed(programs).isdisjoint(
        {"octavo", "greenroom", "antechamber", "hypercorn", "quart"}
    )
    run(programs / "python", "-W", "error", "-c", "import octavo_client, octavo_rules.merge")


@pytest.fixture
def served(wheels: Path, tmp_path: Path) -> Iterator[str]:
    """The address of a service that was installed from the wheels."""
    programs = environment(tmp_path / "venv", wheels, "octavo")
    process = subprocess.Popen(
        [programs / "octavo", "serve", "--bind", "127.0.0.1:0", "--data-dir", tmp_path / "data"],
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if found := re.search(r"listens on (http://\S+):", line):
                yield found[1]
                break
    finally:
        process.terminate()
        process.communicate(timeout=60)
    assert process.returncode == 0


def test_service_serves(served: str) -> None:
    with urlopen(f"{served}/api/health") as response:
        assert json.load(response)["status"] == "alive"
    with urlopen(f"{served}/sign-in") as response:
        assert b"<h1>Sign in" in response.read()


def test_wheel_has_all_files_of_the_package(wheels: Path) -> None:
    [wheel] = wheels.glob("octavo-*.whl")
    files = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "octavo").rglob("*.*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert "octavo/features/accounts/templates/keys.html" in files
    with ZipFile(wheel) as archive:
        assert files <= {*archive.namelist()}
