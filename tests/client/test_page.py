"""The example on the client's page runs, prints what the page shows, and type-checks."""

import re
import subprocess
import sys
from pathlib import Path

from tests.e2e.people import Person
from tests.project.source import ROOT

PAGE = (ROOT / "packages/client/README.md").read_text()
[(CODE, PRINTED)] = re.findall(
    r"^```py\n(.*?)^```\n\n```text\n(.*?)^```\n", PAGE, re.MULTILINE | re.DOTALL
)


def test_example_prints_what_the_page_shows(served: tuple[str, Person], tmp_path: Path) -> None:
    url, person = served
    program = tmp_path / "example.py"
    program.write_text(CODE)
    run = subprocess.run(
        [sys.executable, "-W", "error", str(program), url, person.key],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=ROOT,
    )
    assert (run.returncode, run.stdout) == (0, PRINTED), run.stderr


def test_example_passes_the_type_checker(tmp_path: Path) -> None:
    program = tmp_path / "example.py"
    program.write_text(CODE)
    # Within this process it would end the exemption of what is loaded from garbage collection.
    command = [sys.executable, "-m", "mypy", "--strict", str(program)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.stderr, ended.returncode) == ("", 0), ended.stdout
