"""Which files of an archive are notes and images, and which belong to a program."""

import pytest

from octavo.features.archives.worker.directory import ZipEntry
from octavo.features.archives.worker.selection import ExportLayout, Selection, is_special


def entry(*, size: int = 1, system: int = 3, mode: int = 0o100644) -> ZipEntry:
    return ZipEntry(b"name", None, system, mode << 16, 0, 0, 0, 0, size, 0)


@pytest.mark.parametrize(
    ("kind", "paths"),
    [
        ("note", ["a.md", "x/y.md", ".a.md", "attachments/a.md", "logseq/a.md", "obsidian/a.md",
                  ".github/a.md", "x/logseq.md"]),
        ("image", ["a.png", "x/a.JPEG", "attachments/a.gif", "a.webp", "a.jpg"]),
        ("folder", ["x/", ".obsidian/", "a.md/"]),
        ("settings", [".obsidian/app.json", "Vault/.obsidian/themes/a.md", ".trash/a.md",
                      ".git/config", "__MACOSX/a/._b.md", "x/._a.png", ".DS_Store", "x/Thumbs.db",
                      "desktop.ini", "logseq/config.edn", "My graph/logseq/custom.css",
                      "logseq/bak/pages/a.md", "logseq/.recycle/a.md", ".stversions/a.md",
                      ".OBSIDIAN/a.md", ".gitignore"]),
        ("history", [".history/1/a.md", ".history/x/b.png"]),
        ("other", ["a.txt", "a.markdown", "a.MD", "a.svg", "a.pdf", ".md", "x/.md", "a", "a.html",
                   "a.canvas", "x/.history/a.txt", "a.md.zip", ".png.txt"]),
    ],
)  # fmt: skip
def test_kind_of_files_of_other_programs(kind: str, paths: list[str]) -> None:
    select = Selection(b"any comment").kind
    assert {path: select(entry(size=0 if path[-1] == "/" else 1), path) for path in paths} == (
        dict.fromkeys(paths, kind)
    )


def test_exports_have_no_settings() -> None:
    select = Selection(ExportLayout().comment()).kind
    paths = [".obsidian/a.md", ".trash/a.md", "__MACOSX/._a.md", ".history/1/a.md"]
    assert {select(entry(), path) for path in paths} == {"note"}


def test_history_of_an_export_is_in_the_folder_that_it_names() -> None:
    select = Selection(ExportLayout(".history-2").comment()).kind
    assert select(entry(), ".history-2/1/a.md") == "history"
    assert select(entry(), ".history/1/a.md") == "note"


@pytest.mark.parametrize(
    ("system", "mode", "special"),
    [
        (3, 0o100644, False),
        (3, 0o000644, False),
        (3, 0, False),
        (3, 0o120777, True),
        (3, 0o040755, True),
        (3, 0o060644, True),
        (3, 0o140644, True),
        (19, 0o120777, True),
        (0, 0o120777, False),
        (10, 0o120777, False),
    ],
)
def test_files_that_are_not_regular(system: int, mode: int, special: bool) -> None:
    assert is_special(entry(system=system, mode=mode)) is special
