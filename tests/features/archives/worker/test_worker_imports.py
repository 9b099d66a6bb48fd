"""Worker processes of imports start fast: they load no server and no parser."""

import subprocess
import sys

import pytest

from tests.project.source import ROOT

HEAVY = ["asyncpg", "markdown_it", "pycrdt", "pydantic", "quart", "sqlite3", "trio"]
LOADED = "import sys, {}; print([name for name in sys.argv[1:] if name in sys.modules])"


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("octavo.features.archives.worker.survey", [*HEAVY, "PIL", "zstandard"]),
        ("octavo.features.archives.worker.note_check", [*HEAVY, "PIL"]),
        ("octavo.features.archives.worker.image_check", [*HEAVY, "zstandard"]),
    ],
)
def test_step_of_an_import_loads_only_what_it_needs(module: str, heavy: list[str]) -> None:
    run = [sys.executable, "-c", LOADED.format(module), *heavy]
    assert subprocess.check_output(run, text=True, cwd=ROOT) == "[]\n"
