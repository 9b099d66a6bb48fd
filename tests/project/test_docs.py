"""The examples of the documentation run, print what they say, and pass the type checker."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from octavo.render.formulas import LONGEST_FORMULA
from octavo.render.highlighting import LONGEST_CODE, LONGEST_LINE
from octavo.render.limits import LIMITS, MEANINGS
from octavo.render.renderer import MAX_FORMULAS, MAX_HIGHLIGHTED, MAX_TRANSLATED
from tests.project.source import ROOT
from tests.simulation.test_simulation import CI_SCHEDULES, CI_SEEDS
from tests.simulation.variants import MOST_ANEW, VARIANTS

PAGES = [*sorted((ROOT / "docs").glob("*.md")), *sorted(ROOT.glob("packages/**/*.md"))]
EXAMPLE = re.compile(
    r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE
)
EXAMPLES = [
    pytest.param(code, printed, id=f"{page.relative_to(ROOT)}-{number}")
    for page in PAGES
    for number, (code, printed) in enumerate(EXAMPLE.findall(page.read_text()), 1)
]


def test_pages_have_examples() -> None:
    assert len(EXAMPLES) >= 8


def test_the_page_on_markdown_lists_every_limit() -> None:
    page = (ROOT / "docs/markdown.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| ([0-9,]+) \| (.+) \|$", page, re.MULTILINE)
    assert rows == [(name, f"{LIMITS[name]:,}", MEANINGS[name]) for name in LIMITS]


def test_the_page_on_markdown_has_the_bounds_of_code_and_formulas() -> None:
    page = " ".join((ROOT / "docs/markdown.md").read_text().split())
    for each in (
        f"at most {LONGEST_CODE:,} characters, with lines of at most {LONGEST_LINE:,},",
        f"up to {MAX_HIGHLIGHTED:,} characters in a note",
        f"at most {LONGEST_FORMULA:,} characters is translated",
        f"up to {MAX_FORMULAS:,} formulas and {MAX_TRANSLATED:,} characters",
    ):
        assert each in page


def test_the_pages_say_how_many_schedules_a_check_and_a_search_run() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text()
    assert f"50,000 schedules instead of {CI_SCHEDULES:,}" in page
    assert f"under 5,000 instead of {CI_SEEDS}" in page
    searched = " ".join((ROOT / "docs/architecture.md").read_text().split())
    assert f"each of the {len(VARIANTS)} is found within {MOST_ANEW:,} schedules" in searched


@pytest.mark.parametrize(("code", "printed"), EXAMPLES)
def test_an_example_prints_what_the_page_shows(code: str, printed: str, tmp_path: Path) -> None:
    program = tmp_path / "example.py"
    program.write_text(code)
    run = subprocess.run(
        [sys.executable, "-W", "error", str(program)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=ROOT,
    )
    assert (run.returncode, run.stdout) == (0, printed), run.stderr


def test_the_examples_pass_the_type_checker(tmp_path: Path) -> None:
    paths = []
    for number, example in enumerate(EXAMPLES):
        paths.append(tmp_path / f"example{number}.py")
        paths[-1].write_text(str(example.values[0]))
    # Within this process it would end the exemption of what is loaded from garbage collection.
    command = [sys.executable, "-m", "mypy", "--strict", *map(str, paths)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.stderr, ended.returncode) == ("", 0), ended.stdout
