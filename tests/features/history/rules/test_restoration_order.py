"""The order in which files return, and the changesets that they are cut into."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.identity import FileId

from octavo.features.history.rules.restoration import (
    STEP_BYTES,
    BatchSizes,
    RestorationPace,
    batches,
)
from octavo.features.history.rules.reversion import Reversion
from tests.fakes.restored_workspace import SMALL, Workspace, needed, revision, run, workspaces

SIZES = (SMALL, BatchSizes(1, 1), BatchSizes(4, 1), BatchSizes(5, 3))


def reversions(count: int, text: str = "") -> list[Reversion]:
    return [
        Reversion(revision(str(at), f"{at}.md", "present"), revision(str(at), f"{at}.md", text))
        for at in range(count)
    ]


@pytest.mark.parametrize(
    ("count", "size", "expected"),
    [(500, 1, [500]), (501, 1, [250, 250, 1]), (8, 1024 * 1024, [8]), (9, 1024 * 1024, [1] * 9)],
)
def test_changesets_have_as_many_files_as_fit(count: int, size: int, expected: list[int]) -> None:
    assert STEP_BYTES == 1024 * 1024
    assert [len(each) for each in batches(reversions(count, "x" * size))] == expected


def rotated(*circles: Sequence[str], text: str = "") -> list[Reversion]:
    """Files that need each other in circles: each gets the path of the next one."""
    return [
        Reversion(revision(name, f"{name}.md"), revision(name, f"{circle[at - 1]}.md", text))
        for circle in circles
        for at, name in enumerate(circle)
    ]


def names(found: Sequence[Sequence[Reversion]]) -> list[str]:
    return ["".join(each.head.file_id for each in batch) for batch in found]


@given(workspaces(), st.data())
def test_no_file_is_away_between_changesets_unless_a_circle_is_too_large(
    workspace: Workspace, data: st.DataObject
) -> None:
    position = data.draw(st.integers(0, workspace.position))
    sizes = data.draw(st.sampled_from(SIZES))
    reversions = workspace.restoration(position).reversions
    needs = needed(reversions)
    circles = [{each, *(o for o in needs[each] if each in needs[o])} for each in needs]
    found = batches(reversions, sizes)
    if all(len(circle) <= sizes.only for circle in circles):
        assert sorted(map(id, (each for batch in found for each in batch))) == sorted(
            map(id, reversions)
        )
    for batch in found:
        members = {each.head.file_id for each in batch}
        if len(found) > 1 and len(batch) > sizes.step:
            assert len(batch) <= sizes.only
            assert members in circles
    count = run(workspace, position, "", sizes)
    assert workspace.live() == workspace.live(position)
    assert count <= 2 * len(reversions)


def test_chain_returns_from_its_end() -> None:
    # Each file has to get the path of the one before, which has to leave first.
    chain = [
        Reversion(revision(str(at), f"{at + 1}.md"), revision(str(at), f"{at}.md"))
        for at in range(6)
    ]
    assert names(batches(chain[::-1], SMALL)) == ["01", "23", "45"]
    assert names(batches(chain, BatchSizes(5, 5))) == ["01234", "5"]


def test_file_that_is_tried_last_returns_before_those_that_need_it() -> None:
    chain = [
        Reversion(revision(str(at), f"{at + 1}.md"), revision(str(at), f"{at}.md"))
        for at in range(4)
    ]
    pace = RestorationPace(1, (FileId("1"),))
    assert names(batches([*chain[::-1], *reversions(6)[5:]], SMALL, pace)) == [*"05123"]


def test_chain_as_long_as_a_workspace_is_ordered() -> None:
    chain = [
        Reversion(revision(str(at), f"{at + 1}.md"), revision(str(at), f"{at}.md"))
        for at in range(10_000)
    ]
    found = batches(chain[::-1])
    assert [each.head.file_id for batch in found for each in batch] == [*map(str, range(10_000))]
    assert {len(batch) for batch in found} == {250}


def test_circle_returns_in_one_changeset() -> None:
    found = batches(rotated("ab", "cde", "f"), SMALL)
    assert [set(each) for each in names(found)] == [{*"ab"}, {*"cde"}, {"f"}]
    assert all(each.target is not None for batch in found for each in batch)


def test_folder_and_file_in_its_place_return_in_one_changeset() -> None:
    inside = Reversion(revision("1", "a.md/x.md"), revision("1", "b.md"))
    file = Reversion(revision("2", "b.md"), revision("2", "a.md"))
    other = Reversion(revision("3", "c.md", "y"), revision("3", "c.md", "x"))
    assert {*map(frozenset, names(batches([inside, other, file], BatchSizes(2, 1))))} == {
        frozenset("12"),
        frozenset("3"),
    }


def test_folder_empties_before_a_file_gets_its_place() -> None:
    file = Reversion(revision("0", "x.md"), revision("0", "a.md"))
    inside = [Reversion(revision(str(at), f"a.md/{at}.md"), None) for at in (1, 2)]
    out = Reversion(revision("3", "a.md/3.md"), revision("3", "y.md"))
    assert names(batches([file, *inside, out], BatchSizes(1, 1))) == ["1", "2", "3", "0"]


def test_files_that_go_are_first() -> None:
    changed = Reversion(revision("1", "a.md", "y"), revision("1", "a.md", "x"))
    going = [Reversion(revision(each, f"{each}.md"), None) for each in "234"]
    assert names(batches([changed, *going], SMALL)) == ["23", "41"]


def test_one_file_of_a_circle_that_is_too_large_is_deleted_first() -> None:
    found = batches(rotated("abcde"), SMALL)
    [removed] = [each for batch in found for each in batch if each.target is None]
    assert found[0][0] == removed
    assert len(names(found)) == 3
    assert {*"".join(names(found))} == {*"abcde"}


def test_what_follows_a_circle_that_is_too_large_waits_for_what_was_deleted() -> None:
    changed = Reversion(revision("z", "z.md", "y"), revision("z", "z.md", "x"))
    assert "z" not in "".join(names(batches([*rotated("abcde"), changed], SMALL)))


@pytest.mark.parametrize("files", [8, 9])
def test_circle_may_have_as_much_text_as_one_changeset(files: int) -> None:
    circle = rotated("abcdefghi"[:files], text="x" * 1024 * 1024)
    found = batches([*circle, *reversions(500)])
    removed = [each for batch in found for each in batch if each.target is None]
    assert len(removed) == files - 8


def test_file_that_most_others_need_is_deleted_first() -> None:
    # A folder is exchanged for a file, by files that are also exchanged for each other.
    exchanged = [
        Reversion(revision(str(at), f"a.md/{at}.md"), revision(str(at), f"b.md/{at}.md"))
        for at in range(6)
    ]
    one = Reversion(revision("x", "b.md"), revision("x", "a.md"))
    found = batches([*exchanged, one], SMALL)
    removed = [each.head.file_id for batch in found for each in batch if each.target is None]
    assert removed == ["x"]
