"""Returning files to their state at a position, in one changeset or in several."""

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.model.files.confinement import Confinement
from octavo.model.files.content import MARKDOWN, note_text
from octavo.model.files.restoration import (
    STEP_BYTES,
    BatchSizes,
    Begun,
    DivergedFile,
    Restoration,
    batches,
    restoration,
)
from octavo.model.files.reversion import Reversion
from octavo.model.files.revision import Revision, State
from octavo.model.files.tree import Tree
from octavo.model.identity import (
    AccountId,
    ContentId,
    FileId,
    MutationId,
    Position,
    RevisionId,
)
from octavo.model.refusal import InvalidGraph, PathConflict

OURS, THEIRS = MutationId("ours"), MutationId("theirs")
SMALL = BatchSizes(only=3, step=2)


def revision(
    file_id: str,
    path: str,
    text: str = "",
    *,
    position: int = 0,
    state: State = "live",
    by: MutationId = THEIRS,
) -> Revision:
    content = note_text(text)
    return Revision(
        file_id=FileId(file_id),
        state=state,
        kind="note",
        path=path,
        revision_id=RevisionId(f"{file_id}-{position}"),
        position=Position(position),
        content_id=ContentId(f"{file_id}-{position}"),
        digest=content.digest,
        size=content.size,
        media_type=MARKDOWN,
        author=AccountId("a"),
        mutation_id=by,
        created_at=position,
    )


@dataclass
class Workspace:
    """A workspace whose every tree is kept."""

    tree: Tree = field(default_factory=Tree)
    trees: list[dict[FileId, Revision]] = field(default_factory=lambda: [{}])

    @property
    def position(self) -> int:
        return len(self.trees) - 1

    def push(self, *heads: Revision) -> bool:
        """Accept a changeset, unless the tree would be invalid."""
        made = [
            replace(
                each,
                position=Position(self.position + 1),
                revision_id=RevisionId(f"{each.file_id}-{self.position + 1}"),
            )
            for each in heads
        ]
        try:
            self.tree.check({each.file_id: each for each in made})
        except (PathConflict, InvalidGraph):
            return False
        for each in made:
            self.tree.put(each)
        self.trees.append(dict(self.tree.heads))
        return True

    def restoration(
        self, position: int, folder: str = "", begun: Begun | None = None
    ) -> Restoration:
        then, now = self.trees[position], self.tree.heads
        changed = [
            DivergedFile(head, then.get(file_id))
            for file_id, head in now.items()
            if head.position > position
        ]
        others = [
            each.path for each in now.values() if each.position <= position and each.state == "live"
        ]
        return restoration(changed, others, folder, begun)

    def live(self, position: int | None = None) -> dict[FileId, tuple[str, str]]:
        heads = self.tree.heads if position is None else self.trees[position]
        return {
            each.file_id: (each.path, each.digest)
            for each in heads.values()
            if each.state == "live"
        }

    def apply(self, batch: tuple[Reversion, ...]) -> None:
        """Accept a changeset of a restoration, which must be valid."""
        for each in batch:
            assert each.head == self.tree.heads[each.head.file_id], "the head moved"
        assert self.push(*(replace(each.result, mutation_id=OURS) for each in batch))


PATHS = ("a.md", "A.md", "b.md", "c.md", "f/a.md", "f/b.md", "f/b.md/c.md", "a.md/x.md", "g/a.md")
FILES = tuple("12345678")

heads = st.builds(
    revision,
    st.sampled_from(FILES),
    st.sampled_from(PATHS),
    st.sampled_from(("x", "y")),
    state=st.sampled_from(("live", "live", "live", "deleted")),
)
changesets = st.lists(heads, min_size=1, max_size=6, unique_by=lambda each: each.file_id)


@st.composite
def workspaces(draw: st.DrawFn) -> Workspace:
    made = Workspace()
    for changeset in draw(st.lists(changesets, min_size=1, max_size=8)):
        made.push(*changeset)
    return made


def run(workspace: Workspace, position: int, folder: str, sizes: BatchSizes) -> int:
    """Restore, and return the number of changesets."""
    begun = Begun(Position(workspace.position), frozenset({OURS}))
    count = 0
    while todo := batches(workspace.restoration(position, folder, begun).reversions, sizes):
        for batch in todo:
            assert len(batch) <= (sizes.only if len(todo) == 1 else sizes.step)
            workspace.apply(batch)
            count += 1
        assert count < 100
    return count


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


@given(workspaces(), changesets, st.data())
def test_what_others_change_meanwhile_is_left_and_named(
    workspace: Workspace, meanwhile: list[Revision], data: st.DataObject
) -> None:
    position = data.draw(st.integers(0, workspace.position))
    begun = Begun(Position(workspace.position), frozenset({OURS}))
    first = batches(workspace.restoration(position, "", begun).reversions, SMALL)
    if first:
        workspace.apply(first[0])
    theirs = {}
    if workspace.push(*meanwhile):
        theirs = {each.file_id: workspace.tree.heads[each.file_id] for each in meanwhile}
    while todo := batches(workspace.restoration(position, "", begun).reversions, SMALL):
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


def test_files_in_the_way_are_deleted_first_when_one_changeset_is_not_enough() -> None:
    swapped = [
        Reversion(revision(str(at), f"{at}.md"), revision(str(at), f"{at ^ 1}.md"))
        for at in range(4)
    ]
    moved = Reversion(revision("m", "new.md"), revision("m", "old.md"))
    created = Reversion(revision("c", "created.md"), None)
    found = batches([*swapped, moved, created], SMALL)
    assert [[each.head.file_id for each in batch] for batch in found] == [
        ["0", "1"],
        ["2", "3"],
        ["c"],
    ]
    assert all(each.target is None for batch in found for each in batch)
    assert batches([*swapped, moved, created]) == [(*swapped, moved, created)]
