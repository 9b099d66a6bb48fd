"""The documentation is correct: commands and settings exist, links have targets."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.diagrams.draw import DRAWINGS
from octavo.cli import main
from octavo.service.registry import explained_problems
from octavo.service.settings import Settings
from octavo.settings import read_settings
from octavo.settings.names import CONFIG_VARIABLE, KEY_VARIABLE
from octavo.settings.reading import describe, shown
from tests.project.source import ROOT, shipped

PAGES = [
    path.relative_to(ROOT)
    for path in [
        *sorted(ROOT.glob("*.md")),
        *sorted((ROOT / "docs").rglob("*.md")),
        *sorted(ROOT.glob("packages/**/*.md")),
    ]
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


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_page_local_links_have_targets(page: Path) -> None:
    # Code is not a link.
    text = re.sub(r"`[^`\n]+`", "", read(page))
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    local = [target.partition("#") for target in targets if "://" not in target]
    missing = []
    for name, _, anchor in local:
        there = ROOT / page.parent / name if name else ROOT / page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            missing.append(f"{name}#{anchor}")
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_page_make_targets_exist(page: Path) -> None:
    written = "\n".join([*commands(page), *re.findall(r"`([^`\n]+)`", read(page))])
    named = set(re.findall(r"\bmake ([a-z]+)", written))
    assert named <= set(re.findall(r"^([a-z]+):", read("Makefile"), re.MULTILINE))


def test_readme_is_short() -> None:
    assert len(read("README.md").splitlines()) <= 120


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent.name == "docs"], ids=str)
def test_page_begins_with_its_audience(page: Path) -> None:
    title, _, rest = read(page).partition("\n\n")
    assert title.startswith("# ")
    assert rest.startswith("For ")


def test_readmes_link_every_page() -> None:
    readmes = [page for page in PAGES if page.name == "README.md"]
    linked = {
        (ROOT / page.parent / target.partition("#")[0]).resolve()
        for page in readmes
        for target in re.findall(r"\]\(([^)\s]+)\)", read(page))
    }
    assert [page for page in PAGES if page not in readmes and ROOT / page not in linked] == []


def test_configuration_has_every_setting_once() -> None:
    page = read("docs/configuration.md")
    rows = re.findall(r"^\| `OCTAVO_.*$", page, re.MULTILINE)
    expected = []
    for each in describe(Settings):
        default = f"`{shown(each.default)}`" if each.default is not None else "none"
        option = "none" if each.option is None else f"`{each.option}`"
        expected.append(f"| `{each.variable}` | {option} | {default} | {each.meaning} |")
    assert sorted(rows) == sorted(expected)


def test_pages_name_no_unknown_setting() -> None:
    named = {name for page in PAGES for name in re.findall(r"`(OCTAVO_[A-Z0-9_]+)", read(page))}
    tests = {"OCTAVO_TEST_OBJECT_STORE", "OCTAVO_TEST_POSTGRES"}
    assert (
        named
        <= {each.variable for each in describe(Settings)} | {CONFIG_VARIABLE, KEY_VARIABLE} | tests
    )


def test_configuration_example_of_a_file_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = read("docs/configuration.md")
    [example] = re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("octavo.toml").write_text(example)
    assert read_settings(Settings, {}).settings.public_url == "https://notes.example.org"


def test_operation_has_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], {}) == 0
    commands = re.findall(r"^  ([a-z]+)  +", capsys.readouterr().out, re.MULTILINE)
    page = read("docs/operation.md")
    assert set(re.findall(r"^\| `octavo ([a-z]+)` ", page, re.MULTILINE)) == {*commands}


def test_architecture_names_files_that_exist() -> None:
    page = read("docs/architecture.md")
    named = re.findall(r"`((?:octavo|packages)/[a-z0-9_/]+(?:\.py)?)`", page)
    assert len(named) > 20
    assert [path for path in named if not (ROOT / path).exists()] == []
    # By the end of the path, where the page says before which folder it is about.
    ends = re.findall(r"`([a-z0-9_/]+\.py)`", page)
    files = [
        file for folder in ("octavo", "packages", "tests") for file in (ROOT / folder).rglob("*.py")
    ]
    there = {"/".join(file.parts[-length:]) for file in files for length in range(1, 9)}
    assert [end for end in ends if end not in there] == []


def test_architecture_explains_a_save_in_few_files() -> None:
    page = read("docs/architecture.md")
    table = page[page.index("The files to read") : page.index("## A notice")]
    assert len(set(re.findall(r"`(octavo/[a-z0-9_/]+\.py)`", table))) <= 20


def test_drawing_of_the_packages_has_each_of_them() -> None:
    packages = {each.parent.name for each in (ROOT / "octavo").glob("*/__init__.py")}
    packages |= {each.parent.name for each in (ROOT / "octavo/features").glob("*/__init__.py")}
    drawn = set(re.findall(r">([a-z_]+)</text>", DRAWINGS["packages.svg"]))
    assert packages - drawn == set()


def test_drawings_are_what_the_script_draws() -> None:
    for name, svg in DRAWINGS.items():
        assert read(f"docs/diagrams/{name}") == svg


def strings(tree: ast.AST) -> Iterator[str]:
    """Yield the strings of a module as the compiler sees them, "…" for the fields of f-strings."""
    nodes = [*ast.walk(tree)]
    # Docstrings, and strings that stand alone behind what they document.
    unused = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if id(node) in unused:
            continue
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.sub(r"%[a-z]", "…", node.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, bytes):
            yield node.value.decode("latin-1")


def first_cells(page: str) -> list[str]:
    """The first cell of every row of the tables of ``page``, without those of the heads."""
    return re.findall(r"^\| (?!\w+ \| what to do)(.*?) \| ", read(page), re.MULTILINE)


def is_quoted(fragment: str, texts: list[str]) -> bool:
    """Whether one of ``texts`` has all parts of ``fragment`` in their order."""
    parts = [re.escape(part.strip()) for part in fragment.split("…")]
    pattern = re.compile(".*".join(parts), re.DOTALL)
    return any(pattern.search(text) for text in texts)


def test_troubleshooting_quotes_messages_of_the_source() -> None:
    source = [text for path in shipped() for text in strings(ast.parse((ROOT / path).read_text()))]
    # What has no space is a code, a header, a path or a name.
    quoted = [
        fragment
        for cell in first_cells("docs/troubleshooting.md")
        for fragment in re.findall(r"`([^`]* [^`]*)`", cell)
    ]
    assert len(quoted) > 30
    assert [fragment for fragment in quoted if not is_quoted(fragment, source)] == []
    for stale in "the database … can't be opened: …", "… is a folder of … the database":
        assert not is_quoted(stale, source)


def test_troubleshooting_names_codes_that_the_server_sends() -> None:
    cells = "\n".join(first_cells("docs/troubleshooting.md"))
    named = set(re.findall(r"(\d{3}) `([a-z_]+)`", cells))
    assert len(named) > 10
    assert named <= {(str(each.status), each.code) for each in explained_problems()}
