"""The rule by which the link of a folder follows it."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.features.publishing.rules import holds_only_moved, is_below, moved_folder

NAMES = st.sampled_from(["a", "b", "ab"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(lambda names: "/".join([*names, "n.md"]))


def after(folder: str, moves: dict[str, str], others: tuple[str, ...] = ()) -> str | None:
    """Return where ``folder`` is after ``moves``; ``others`` are the other files."""
    remaining = [path for path in others if is_below(path, folder)]
    target = moved_folder(folder, moves.items(), remaining)
    if target is None:
        return None
    arrived = [path for path in (*moves.values(), *others) if is_below(path, target)]
    return target if holds_only_moved(arrived, folder, moves.items()) else None


@pytest.mark.parametrize(
    ("moves", "others", "target"),
    [
        ({"tea/a.md": "drinks/a.md", "tea/x/b.md": "drinks/x/b.md"}, (), "drinks"),
        ({"tea/a.md": "drinks/tea/a.md"}, ("c.md",), "drinks/tea"),
        ({"tea/a.md": "tea/green/a.md"}, (), "tea/green"),
        ({"food/b.md": "c.md", "tea/a.md": "drinks/a.md"}, (), "drinks"),
        # A file stays, is renamed, or goes elsewhere.
        ({"tea/a.md": "drinks/a.md"}, ("tea/b.md",), None),
        ({"tea/a.md": "drinks/b.md"}, (), None),
        ({"tea/a.md": "drinks/a.md", "tea/b.md": "food/b.md"}, (), None),
        ({"tea/a.md": "drinks/a.md", "tea/b.md": "b.md"}, (), None),
        # The other folder has files of its own, which the link must not open.
        ({"tea/a.md": "drinks/a.md"}, ("drinks/secret.md",), None),
        ({"tea/a.md": "drinks/a.md", "food/b.md": "drinks/b.md"}, (), None),
        ({"tea/a.md": "a.md"}, (), None),
        # Nothing below it moved.
        ({"food/a.md": "drinks/a.md"}, (), None),
        ({"tear/a.md": "drinks/a.md"}, (), None),
    ],
)
def test_folder_moves_as_a_whole_or_not_at_all(
    moves: dict[str, str], others: tuple[str, ...], target: str | None
) -> None:
    assert after("tea", moves, others) == target


def test_the_whole_workspace_stays() -> None:
    assert after("", {"a.md": "tea/a.md"}) is None


@given(st.dictionaries(PATHS, PATHS, max_size=5), st.sets(PATHS, max_size=5), NAMES)
def test_moved_folder_holds_the_same_files_and_no_others(
    moves: Mapping[str, str], others: set[str], folder: str
) -> None:
    others = others - set(moves) - set(moves.values())
    moved = {old: new for old, new in moves.items() if old != new}
    if len(set(moved.values())) < len(moved):
        return
    target = after(folder, moved, tuple(others))
    if target is None:
        return
    before = {p[len(folder) :] for p in {*moved, *others} if is_below(p, folder)}
    now = {p[len(target) :] for p in {*moved.values(), *others} if is_below(p, target)}
    assert before == now
