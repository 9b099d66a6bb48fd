"""The pages keep what they promise: commands exist, links lead somewhere, settings are told."""

import re
from pathlib import Path

import pytest

from octavo.settings import describe, option, variable
from tests.source import ROOT

PAGES = [
    path.relative_to(ROOT)
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
]


def read(page: Path | str) -> str:
    return (ROOT / page).read_text()


def commands(page: Path | str) -> list[str]:
    """The lines of every block of shell commands, without comments."""
    blocks = re.findall(r"^```sh\n(.*?)^```", read(page), re.MULTILINE | re.DOTALL)
    lines = (line.partition("#")[0].strip() for block in blocks for line in block.splitlines())
    return [line for line in lines if line]


def test_readme_starts_with_run_and_test() -> None:
    assert commands("README.md")[:2] == ["make run", "make test"]


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_page_local_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", read(page))
    local = [target.partition("#")[0] for target in targets if "://" not in target]
    missing = [t for t in local if t and not (ROOT / page.parent / t).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_page_make_targets_exist(page: Path) -> None:
    written = "\n".join([*commands(page), *re.findall(r"`([^`\n]+)`", read(page))])
    named = set(re.findall(r"\bmake ([a-z]+)", written))
    assert named <= set(re.findall(r"^([a-z]+):", read("Makefile"), re.MULTILINE))


def test_readme_tells_every_setting() -> None:
    for name, default, _ in describe():
        told = f"`{default}`" if default else "none"
        assert f"| `{variable(name)}` | `{option(name)}` | {told} |" in read("README.md")
