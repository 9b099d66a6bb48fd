"""The pages keep what they promise: commands exist, links lead somewhere, settings are told."""

import re
from pathlib import Path

import pytest

from octavo.cli import main
from octavo.settings import read_settings
from octavo.settings.description import describe, shown
from octavo.settings.names import CONFIG_VARIABLE
from tests.project.source import ROOT

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
    # What stands in code is no link.
    text = re.sub(r"`[^`\n]+`", "", read(page))
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    local = [target.partition("#")[0] for target in targets if "://" not in target]
    missing = [t for t in local if t and not (ROOT / page.parent / t).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_page_make_targets_exist(page: Path) -> None:
    written = "\n".join([*commands(page), *re.findall(r"`([^`\n]+)`", read(page))])
    named = set(re.findall(r"\bmake ([a-z]+)", written))
    assert named <= set(re.findall(r"^([a-z]+):", read("Makefile"), re.MULTILINE))


def test_readme_tells_every_setting() -> None:
    for each in describe():
        told = f"`{shown(each.default)}`" if each.default is not None else "none"
        row = f"| `{each.variable}` | `{each.option}` | {told} | {each.meaning} |"
        assert row in read("README.md")


def test_readme_names_no_setting_that_there_is_not() -> None:
    named = set(re.findall(r"`(OCTAVO_[A-Z0-9_]+)`", read("README.md")))
    assert named == {each.variable for each in describe()} | {CONFIG_VARIABLE}


def test_readme_example_of_a_file_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [example] = re.findall(r"^```toml\n(.*?)^```", read("README.md"), re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("octavo.toml").write_text(example)
    assert read_settings({}).settings.public_url == "https://notes.example.org"


def test_readme_tells_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], {}) == 0
    commands = re.findall(r"^  ([a-z]+)  +", capsys.readouterr().out, re.MULTILINE)
    assert set(re.findall(r"^\| `octavo ([a-z]+)` ", read("README.md"), re.MULTILINE)) == {
        *commands
    }
