"""Returning files to their state at a position, in one changeset or in several."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.identity import FileId, Position

from octavo.features.history.rules.restoration import (
    BatchSizes,
    Begun,
    DivergedFile,
    Restoration,
    RestorationSpan,
    batches,
    moved_away,
    restoration,
    undoes,
)
from octavo.model.files.confinement import Confinement
from octavo.model.files.path import folders_of, path_key
from octavo.model.files.revision import Revision
from tests.fakes.restored_workspace import (
    OURS,
    SMALL,
    Workspace,
    changesets,
    revision,
    run,
    workspaces,
)


@given(workspaces(), st.data())
def test_workspace_returns_exactly_by_valid_changesets(
    workspace: Workspace, data: st.DataObject
) -> None:
    position = data.draw(st.integers(0, workspace.position))
    sizes = data.draw(st.sampled_from((BatchSizes(), SMALL, BatchSizes(1, 1))))
    assert workspace.restoration(position).left == ()
    run(workspace, position, "", sizes)
    assert workspace.live() == workspace.live(position)


@given(workspaces(), st.data())
def test_restoration_to_the_position_before_it_undoes_it(
    workspace: Workspace, data: st.DataObject
) -> None:
    before = workspace.position
    folder = data.draw(st.sampled_from(("", "f", "g")))
    position = data.draw(st.integers(0, before))
    if workspace.restoration(position, folder).left:
        return
    run(workspace, position, folder, SMALL)
    run(workspace, before, folder, SMALL)
    assert workspace.live() == workspace.live(before)


@given(workspaces(), st.data())
def test_folder_returns_but_for_files_that_are_named(
    workspace: Workspace, data: st.DataObject
) -> None:
    position = data.draw(st.integers(0, workspace.position))
    inside = Confinement("f")
    before, then = workspace.live(), workspace.live(position)
    left = {each.head.file_id for each in workspace.restoration(position, "f").left}
    run(workspace, position, "f", SMALL)
    for file_id in {*before, *then}:
        was, target = before.get(file_id), then.get(file_id)
        belongs = any(each and inside.covers(each[0]) for each in (was, target))
        expected = target if belongs and file_id not in left else was
        assert workspace.live().get(file_id) == expected


def conflict(one: str, other: str) -> bool:
    """Whether two files can't have these paths at once."""
    a, b = path_key(one), path_key(other)
    return a == b or a in folders_of(b) or b in folders_of(a)


@given(workspaces(), changesets, st.data())
def test_no_file_stays_deleted_unless_its_former_path_is_taken(
    workspace: Workspace, meanwhile: list[Revision], data: st.DataObject
) -> None:
    position = data.draw(st.integers(0, workspace.position))
    folder = data.draw(st.sampled_from(("", "f")))
    begun = Begun(Position(workspace.position), frozenset({OURS}))
    before = workspace.live()
    sizes = data.draw(st.sampled_from((SMALL, BatchSizes(1, 1))))
    plans = 0
    interrupted = data.draw(st.integers(0, 8))
    theirs: set[str] = set()
    done = 0
    while todo := batches(workspace.restoration(position, folder, begun).pending, sizes):
        plans += 1
        assert plans < 100
        for batch in todo:
            workspace.apply(batch)
            done += 1
            if done == interrupted:
                if workspace.push(*meanwhile):
                    theirs = {each.file_id for each in meanwhile}
                break
    left = {
        each.head.file_id: each.reason
        for each in workspace.restoration(position, folder, begun).left
    }
    now, then = workspace.live(), workspace.live(position)
    for file_id in before.keys() - theirs:
        if file_id in now or file_id not in then:
            assert left.get(file_id) != "still_deleted"
            continue
        assert left[file_id] == "still_deleted"
        assert any(conflict(before[file_id][0], path) for path, _ in now.values())


@given(workspaces(), changesets, st.data())
def test_what_others_change_meanwhile_is_left_and_named(
    workspace: Workspace, meanwhile: list[Revision], data: st.DataObject
) -> None:
    position = data.draw(st.integers(0, workspace.position))
    begun = Begun(Position(workspace.position), frozenset({OURS}))
    first = batches(workspace.restoration(position, "", begun).pending, SMALL)
    if first:
        workspace.apply(first[0])
    theirs = {}
    if workspace.push(*meanwhile):
        theirs = {each.file_id: workspace.tree.heads[each.file_id] for each in meanwhile}
    while todo := batches(workspace.restoration(position, "", begun).pending, SMALL):
        for batch in todo:
            workspace.apply(batch)
    then = workspace.live(position)
    named = {each.head.file_id for each in workspace.restoration(position, "", begun).left}
    for file_id, head in theirs.items():
        assert workspace.tree.heads[file_id] == head
    for file_id in {*workspace.live(), *then} - named:
        assert workspace.live().get(file_id) == then.get(file_id)
    for file_id in theirs.keys() - named:
        assert workspace.live().get(file_id) == then.get(file_id)


def test_purged_file_is_named_for_the_workspace_and_unknown_for_a_folder() -> None:
    head = revision("1", "", position=2, state="purged")
    changed = [DivergedFile(head, revision("1", "", position=1))]
    [left] = restoration(changed, ()).left
    assert (left.head, left.reason) == (head, "purged")
    assert restoration(changed, (), "f") == Restoration((), (), 0)


def test_refused_file_is_left() -> None:
    changed = [DivergedFile(revision("1", "a.md", "y", position=2), revision("1", "a.md", "x"))]
    begun = Begun(Position(2), unacceptable=frozenset({FileId("1")}))
    [left] = restoration(changed, (), "", begun).left
    assert left.reason == "unacceptable"


def test_files_that_were_returned_are_counted() -> None:
    ours = revision("1", "a.md", "x", position=3, by=OURS)
    same = revision("2", "b.md", "x", position=2)
    changed = [
        DivergedFile(ours, revision("1", "a.md", "x")),
        DivergedFile(same, revision("2", "b.md", "x")),
    ]
    assert restoration(changed, (), "", Begun(Position(2), {OURS})).returned == 1


def away(path: str, before: str) -> DivergedFile:
    """A file that was deleted for now, with its former path."""
    head = revision("1", before, "new", position=3, state="deleted", by=OURS)
    return DivergedFile(head, revision("1", path, "old"))


def test_file_that_was_deleted_for_now_returns_first() -> None:
    other = DivergedFile(revision("2", "a.md", "y", position=2), revision("2", "a.md", "x"))
    found = restoration([other, away("x.md", "b.md")], (), "", Begun(Position(2), {OURS}))
    assert [each.head.file_id for each in found.reversions] == ["1", "2"]
    assert found.reinstated == ()


def test_file_that_was_deleted_for_now_belongs_to_the_folder_that_it_was_in() -> None:
    found = restoration([away("x.md", "f/b.md")], (), "f", Begun(Position(2), {OURS}))
    assert [each.head.file_id for each in found.reversions] == ["1"]


@pytest.mark.parametrize("refused", [False, True])
def test_file_that_was_deleted_for_now_gets_its_former_path_back(refused: bool) -> None:
    unacceptable = frozenset({FileId("1")} if refused else ())
    begun = Begun(Position(2), {OURS}, unacceptable)
    others = () if refused else ("x.md",)
    found = restoration([away("x.md", "b.md")], others, "", begun)
    [back], [left] = found.reinstated, found.left
    assert back.target is not None
    assert (back.target.path, back.action, back.needs_text) == ("b.md", "restored", False)
    assert left.reason == ("unacceptable" if refused else "path_taken")
    assert found.pending == (back,)


def test_file_that_gets_its_former_path_back_keeps_others_from_it() -> None:
    comes = DivergedFile(
        revision("2", "c.md", "y", position=2), revision("2", "b.md/c.md", "y", position=1)
    )
    found = restoration([comes, away("x.md", "b.md")], ("x.md",), "", Begun(Position(2), {OURS}))
    assert [each.head.file_id for each in found.reinstated] == ["1"]
    assert [(each.head.file_id, each.reason) for each in found.left] == [
        ("1", "path_taken"),
        ("2", "path_taken"),
    ]


@pytest.mark.parametrize("taken", ["b.md", "B.md", "b.md/c.md"])
def test_file_whose_former_path_is_taken_too_is_named_as_deleted(taken: str) -> None:
    begun = Begun(Position(2), {OURS})
    found = restoration([away("x.md", "b.md")], ("x.md", taken), "", begun)
    assert [(each.head.path, each.reason) for each in found.left] == [("b.md", "still_deleted")]
    assert found.pending == ()


def test_file_whose_former_state_is_refused_too_is_named_as_deleted() -> None:
    some = frozenset({FileId("1")})
    found = restoration([away("x.md", "b.md")], (), "", Begun(Position(2), {OURS}, some, some))
    assert [each.reason for each in found.left] == ["still_deleted"]
    assert found.pending == ()


def test_files_that_are_deleted_for_now_are_found() -> None:
    gone = DivergedFile(revision("2", "c.md", position=3, state="deleted", by=OURS), None)
    theirs = DivergedFile(revision("3", "d.md", position=2, state="deleted"), revision("3", "d.md"))
    found = moved_away([away("x.md", "b.md"), gone, theirs], Begun(Position(2), {OURS}))
    assert [(each.head.file_id, each.reason) for each in found] == [("1", "still_deleted")]


def span(folder: str, target: int, before: int, after: int) -> RestorationSpan:
    return RestorationSpan(folder, Position(target), Position(before), Position(after))


FIRST = span("tea", 3, 10, 12)


@pytest.mark.parametrize(
    ("later", "undone"),
    [
        (span("tea", 10, 12, 13), True),
        (span("tea", 10, 20, 20), True),
        (span("", 10, 12, 13), False),
        (span("tea", 9, 12, 13), False),
        (span("tea", 12, 12, 12), False),
        # It began before the other one had ended.
        (span("tea", 10, 11, 13), False),
        (FIRST, False),
    ],
)
def test_restoration_to_the_position_before_another_one_undoes_it(
    later: RestorationSpan, undone: bool
) -> None:
    assert undoes(later, FIRST) == undone


def test_restoration_that_changed_nothing_has_nothing_to_undo() -> None:
    assert not undoes(span("", 10, 10, 10), span("", 10, 10, 10))
