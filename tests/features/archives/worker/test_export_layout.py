"""The layout of an export, and its comment."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.identity import Position

from octavo.features.archives.worker.selection import ExportLayout


@pytest.mark.parametrize(
    ("paths", "history"),
    [
        ([], ".history"),
        (["a.md", "x/.history/a.md", ".historyx/a.md"], ".history"),
        ([".history/a.md"], ".history-2"),
        ([".HISTORY/a.md", ".history-2/b.md"], ".history-3"),
        ([".history-2/b.md"], ".history"),
    ],
)
def test_folder_of_revisions_is_one_that_no_file_is_in(paths: list[str], history: str) -> None:
    assert ExportLayout.with_history(paths).history == history


@given(st.sets(st.integers(1, 30)))
def test_comment_describes_the_layout(numbers: set[int]) -> None:
    paths = [f".history{f'-{number}' if number > 1 else ''}/a.md" for number in numbers]
    for layout in (ExportLayout.with_history(paths), ExportLayout()):
        assert ExportLayout.of_comment(layout.comment()) == layout


@pytest.mark.parametrize(
    "comment", [b"", b"Octavo", b"Octavo export\n", b"Octavo export with history in x", b"\xff"]
)
def test_other_comments_describe_no_export(comment: bytes) -> None:
    assert ExportLayout.of_comment(comment) is None


def test_revisions_are_below_their_positions() -> None:
    layout = ExportLayout(".history")
    assert layout.revision_path(Position(17), "x/a.md") == ".history/17/x/a.md"
    with pytest.raises(ValueError, match="no folder"):
        ExportLayout().revision_path(Position(1), "a.md")
