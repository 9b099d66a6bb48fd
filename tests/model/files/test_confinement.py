"""What a credential of a folder knows: files below it, and how they leave it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.identity import (
    AccountId,
    ContentId,
    Digest,
    FileId,
    MutationId,
    Position,
    RevisionId,
)

from octavo.model.files.confinement import Confinement, both_in
from octavo.model.files.path import path_key
from octavo.model.files.revision import Revision

NAMES = st.sampled_from(["tea", "Tea", "TEA", "teapot", "Größe", "GRÖSSE", "a.md", "x"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
TEA = Confinement("tea")


def history(*paths: str) -> list[Revision]:
    """The revisions of a file that was at these paths."""
    return [
        Revision(
            FileId("a"),
            "live",
            "note",
            path,
            RevisionId(f"r{number}"),
            Position(number),
            ContentId(f"r{number}"),
            Digest(f"d{number}"),
            number,
            "text/markdown",
            AccountId(f"author{number}"),
            MutationId(f"m{number}"),
            number,
        )
        for number, path in enumerate(paths, start=1)
    ]


@given(PATHS, PATHS)
def test_folder_covers_the_files_whose_folders_are_equal_to_it(folder: str, path: str) -> None:
    above = path.split("/")[: folder.count("/") + 1]
    inside = path.count("/") > folder.count("/") and path_key("/".join(above)) == path_key(folder)
    assert Confinement(folder).covers(path) is inside


@given(PATHS, PATHS)
def test_spelling_is_the_folder_in_the_letters_of_the_path(folder: str, path: str) -> None:
    within = Confinement(folder)
    if within.covers(path):
        spelling = within.spelling(path)
        assert path.startswith(f"{spelling}/")
        assert path_key(spelling) == path_key(folder)


def test_purged_file_is_not_covered() -> None:
    assert not TEA.covers("")


@pytest.mark.parametrize(
    ("paths", "last", "left"),
    [
        (["tea/a.md", "b.md"], 1, 2),
        (["b.md", "tea/a.md", "tea/b.md", "c.md", "d.md"], 3, 4),
        (["tea/a.md", "b.md", "TEA/c.md", "d.md", "e.md"], 3, 4),
    ],
)
def test_file_leaves_when_it_was_last_inside(paths: list[str], last: int, left: int) -> None:
    departure = TEA.departure(history(*paths))
    assert departure is not None
    assert (departure.state, departure.path) == ("deleted", paths[last - 1])
    assert departure.digest == f"d{last}"
    changed = (departure.position, departure.revision_id, departure.author, departure.created_at)
    assert changed == (left, f"r{left}", f"author{left}", left)


@pytest.mark.parametrize("paths", [["a.md"], ["a.md", "teapot/b.md"], ["a.md", "tea/b.md"], []])
def test_file_that_was_never_inside_or_still_is_has_not_left(paths: list[str]) -> None:
    assert TEA.departure(history(*paths)) is None


@given(st.lists(PATHS, min_size=1, max_size=8))
def test_departure_does_not_depend_on_what_happens_outside_afterwards(paths: list[str]) -> None:
    trail = [*history(*paths)]
    departure = TEA.departure(trail)
    if departure is not None:
        until = [each for each in trail if each.position <= departure.position]
        assert TEA.departure(until) == departure
        assert TEA.covers(departure.path)


@pytest.mark.parametrize(
    ("path", "folder", "expected"),
    [
        ("", "tea", "tea"),
        ("tea", "tea", "tea"),
        ("tea/green", "tea", "tea/green"),
        ("tea", "tea/green", "tea/green"),
        ("teapot", "tea", None),
        ("", "", ""),
    ],
)
def test_two_folders_have_the_lower_one_in_common(
    path: str, folder: str, expected: str | None
) -> None:
    assert both_in(path, folder) == expected
