"""The search index and the statements work with the oldest SQLite that is accepted, too.

Its source comes with a package of npm, and is compiled here: no registry has the library itself.
"""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from octavo.store.sqlite.connection import OLDEST
from tests.project.source import ROOT

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "node_modules/better-sqlite3/deps/sqlite3.tar.gz"
LIBRARY = HERE / "node_modules/.octavo-library/libsqlite3.so.0"
SECONDS = 300
TESTED = [f"tests/store/sqlite/test_{name}.py" for name in ("search_index", "plans")]


def missing() -> str | None:
    """What must be installed first, for a person; None if nothing."""
    what = "NOTHING IS TESTED WITH THE OLDEST SQLITE: "
    if not SOURCE.is_file():
        return f"{what}its source is missing. Run make test, which installs it."
    if shutil.which("cc") is None:
        return f"{what}there is no C compiler (on Debian: apt-get install gcc libc6-dev)."
    return None


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a Python with this SQLite."""
    if reason := missing():
        pytest.skip(reason)
    if not LIBRARY.is_file():
        source = tmp_path_factory.mktemp("sqlite") / "sqlite3.c"
        with tarfile.open(SOURCE) as archive:
            packed = archive.extractfile(source.name)
            assert packed is not None
            source.write_bytes(packed.read())
        LIBRARY.parent.mkdir(exist_ok=True)
        made = LIBRARY.with_name("partial")
        options = ["-O0", "-shared", "-fPIC", "-DSQLITE_ENABLE_FTS5", "-DSQLITE_THREADSAFE=1"]
        named = f"-Wl,-soname,{LIBRARY.name}"
        command = ["cc", *options, named, "-o", str(made), str(source), "-lm"]
        subprocess.run(command, check=True, timeout=SECONDS)
        made.replace(LIBRARY)
    inherited = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    found = {**inherited, "LD_LIBRARY_PATH": str(LIBRARY.parent)}
    code = "import sqlite3; print(sqlite3.sqlite_version)"
    version = subprocess.run(
        [sys.executable, "-c", code], env=found, capture_output=True, text=True, check=True
    )
    if version.stdout.strip() != ".".join(map(str, OLDEST)):
        pytest.skip(
            "NOTHING IS TESTED WITH THE OLDEST SQLITE: this Python does not load libsqlite3."
        )
    return found


def test_search_index_works_with_the_oldest_sqlite(environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "pytest", "-v", "-n", "0", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *TESTED],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "::test_words_are_found_after_many_erasures PASSED" in done.stdout
