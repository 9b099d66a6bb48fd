"""The transitions of files, state by state, and which changesets are refused."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.identity import Digest, FileId
from octavo_rules.problems import Problem

from octavo.model.files.changeset import AttachImage, ChangeOperation
from octavo.model.files.confinement import Confinement
from octavo.model.files.image import ObjectId, UploadedImage
from octavo.model.files.path import folders_of, path_key
from octavo.model.files.tree import Tree
from octavo.model.refusal import (
    FileExists,
    FileLive,
    FileMissing,
    FilePurged,
    HeadMoved,
    InvalidGraph,
    InvalidPath,
    OutsideFolder,
    PathConflict,
)
from tests.fakes.planned_workspace import PlannedWorkspace


@pytest.fixture
def workspace() -> PlannedWorkspace:
    """One file in each state: live at ``live.md``, deleted, purged."""
    workspace = PlannedWorkspace()
    workspace.push(
        workspace.create("live", "live.md", "text"),
        workspace.create("deleted", "deleted.md", "old"),
        workspace.create("purged", "purged.md"),
    )
    workspace.push(workspace.delete("deleted"), workspace.delete("purged"))
    workspace.push(workspace.purge("purged"))
    return workspace


STATES = ["live", "deleted", "purged", "unknown"]
TABLE = {
    "create": [FileExists, FileExists, FilePurged, "created"],
    "update": ["updated", FileMissing, FilePurged, FileMissing],
    "delete": ["deleted", FileMissing, FilePurged, FileMissing],
    "restore": [FileLive, "restored", FilePurged, FileMissing],
    "purge": [FileLive, "purged", FilePurged, FileMissing],
}


def operation(workspace: PlannedWorkspace, name: str, file: str) -> ChangeOperation:
    match name:
        case "create":
            return workspace.create(file, "new.md")
        case "update":
            return workspace.update(file, text="new")
        case "delete":
            return workspace.delete(file)
        case "restore":
            return workspace.restore(file)
        case _:
            return workspace.purge(file)


@pytest.mark.parametrize(
    ("name", "state", "expected"),
    [
        (name, state, expected)
        for name, row in TABLE.items()
        for state, expected in zip(STATES, row, strict=True)
    ],
)
def test_operation_on_a_file_in_each_state(
    workspace: PlannedWorkspace, name: str, state: str, expected: str | type[Problem]
) -> None:
    before = dict(workspace.tree.heads)
    if isinstance(expected, str):
        assert workspace.push(operation(workspace, name, state)) == [expected]
    else:
        with pytest.raises(expected):
            workspace.push(operation(workspace, name, state))
        assert workspace.tree.heads == before


def test_every_accepted_change_takes_the_next_position(workspace: PlannedWorkspace) -> None:
    assert workspace.cursor.position == 3
    workspace.push(workspace.update("live", text="new"), workspace.restore("deleted"))
    assert (
        workspace.cursor.position
        == workspace.head("live").position
        == workspace.head("deleted").position
        == 4
    )


@pytest.mark.parametrize("how", [{}, {"text": "text"}, {"path": "live.md"}])
def test_change_without_effect_takes_no_position(
    workspace: PlannedWorkspace, how: dict[str, str]
) -> None:
    head = workspace.head("live")
    planned = workspace.plan(workspace.update("live", **how))
    assert (planned.position, planned.changed) == (3, ())
    assert [(each.outcome, each.head) for each in planned.changes] == [("unchanged", head)]


def test_update_keeps_what_it_does_not_name(workspace: PlannedWorkspace) -> None:
    workspace.push(workspace.update("live", path="moved.md"))
    moved = workspace.head("live")
    assert (moved.path, moved.size) == ("moved.md", 4)
    workspace.push(workspace.update("live", text="longer"))
    longer = workspace.head("live")
    assert (longer.path, longer.size, str(longer.content_id)) == (
        "moved.md",
        6,
        str(longer.revision_id),
    )


def test_moved_file_has_the_content_of_the_revision_that_introduced_it(
    workspace: PlannedWorkspace,
) -> None:
    brought = workspace.head("live")
    workspace.push(workspace.update("live", path="moved.md"))
    workspace.push(workspace.delete("live"))
    workspace.push(workspace.restore("live"))
    assert workspace.head("live").content_id == brought.content_id
    assert workspace.head("live").digest == brought.digest


def test_moved_heads_are_all_reported(workspace: PlannedWorkspace) -> None:
    workspace.push(workspace.create("other", "other.md"))
    with pytest.raises(HeadMoved) as refusal:
        workspace.push(
            workspace.update("live", text="a", tag="stale"), workspace.update("other", text="b")
        )
    assert tuple(refusal.value.heads) == ("live",)
    with pytest.raises(HeadMoved) as refusal:
        workspace.push(
            workspace.update("other", text="b", tag="stale"),
            workspace.update("live", text="a", tag="s"),
        )
    assert tuple(refusal.value.heads) == ("other", "live")


def test_any_of_several_tags_may_name_the_head(workspace: PlannedWorkspace) -> None:
    update = workspace.update("live", text="new")
    more = type(update)(update.file_id, update.if_match | {"stale"}, update.content)
    assert workspace.push(more) == ["updated"]


def test_changeset_may_swap_two_paths(workspace: PlannedWorkspace) -> None:
    workspace.push(workspace.create("other", "other.md"))
    workspace.push(
        workspace.update("live", path="other.md"), workspace.update("other", path="live.md")
    )
    assert workspace.live() == {"live": "other.md", "other": "live.md"}
    # Each place still has its one file.
    with pytest.raises(PathConflict):
        workspace.push(workspace.create("third", "live.md"))
    with pytest.raises(PathConflict):
        workspace.push(workspace.create("third", "other.md"))


@pytest.mark.parametrize(
    ("path", "refusal"),
    [
        ("live.md", PathConflict),
        ("LIVE.md", PathConflict),
        ("live.md/below.md", InvalidGraph),
        ("Live.MD/below.md", InvalidGraph),
        ("bad/../a.md", InvalidPath),
        ("picture.png", InvalidPath),
        ("note.txt", InvalidPath),
    ],
)
def test_conflicting_path_is_refused(
    workspace: PlannedWorkspace, path: str, refusal: type[Problem]
) -> None:
    with pytest.raises(refusal):
        workspace.push(workspace.create("new", path))
    with pytest.raises(refusal):
        workspace.push(workspace.restore("deleted", path))
    assert workspace.live() == {"live": "live.md"}


HIDDEN = "old\u200b/x\u3164.md"


@pytest.fixture
def hidden(workspace: PlannedWorkspace) -> PlannedWorkspace:
    """A workspace in which an earlier version accepted a path with hidden characters."""
    workspace.tree.put(replace(workspace.head("live"), path=HIDDEN))
    return workspace


@pytest.mark.parametrize("path", [None, HIDDEN, "new/x\u3164.md", "old\u200b/y.md", "y.md"])
def test_file_with_hidden_characters_is_saved_moved_and_renamed(
    hidden: PlannedWorkspace, path: str | None
) -> None:
    assert hidden.push(hidden.update("live", text="new", path=path)) == ["updated"]
    assert hidden.live() == {"live": path or HIDDEN}


@pytest.mark.parametrize("path", ["new\u200b/x\u3164.md", "old\u200b/x\u2060.md", "\u202ex.md"])
def test_file_gets_no_other_name_with_hidden_characters(
    hidden: PlannedWorkspace, path: str
) -> None:
    with pytest.raises(InvalidPath):
        hidden.push(hidden.update("live", path=path))
    with pytest.raises(InvalidPath):
        hidden.push(hidden.create("new", path))
    with pytest.raises(InvalidPath):
        hidden.push(hidden.restore("deleted", path))


def test_file_returns_to_a_path_with_hidden_characters(hidden: PlannedWorkspace) -> None:
    hidden.push(hidden.delete("live"))
    assert hidden.push(hidden.restore("live")) == ["restored"]
    hidden.push(hidden.update("live", path="y.md"))
    assert hidden.push(hidden.update("live", path=HIDDEN), origin="restore") == ["updated"]
    assert hidden.live() == {"live": HIDDEN}


def test_image_with_hidden_characters_is_replaced(workspace: PlannedWorkspace) -> None:
    path = "attachments/p\u200b.png"
    image = UploadedImage(ObjectId("o"), Digest("d"), 1, "image/png", 1, 1, 1)
    workspace.push(AttachImage(FileId("p"), "attachments/p.png", image))
    workspace.tree.put(replace(workspace.head("p"), path=path))
    other = image._replace(digest=Digest("e"))
    replaced = AttachImage(FileId("p"), path, other, workspace.tag("p"))
    assert workspace.push(replaced) == ["updated"]
    with pytest.raises(InvalidPath):
        workspace.push(AttachImage(FileId("q"), "attachments/q\u200b.png", image))


def test_file_at_the_path_of_a_folder_is_refused(workspace: PlannedWorkspace) -> None:
    workspace.push(workspace.create("inner", "folder.md/inner.md"))
    with pytest.raises(InvalidGraph):
        workspace.push(workspace.create("outer", "Folder.md"))
    assert workspace.push(workspace.create("outer", "Folder.md"), workspace.delete("inner")) == [
        "created",
        "deleted",
    ]


def test_restored_file_whose_path_is_taken_is_refused_without_a_new_path(
    workspace: PlannedWorkspace,
) -> None:
    workspace.push(workspace.create("new", "deleted.md"))
    with pytest.raises(PathConflict):
        workspace.push(workspace.restore("deleted"))
    assert workspace.push(workspace.restore("deleted", "elsewhere.md")) == ["restored"]


def test_purged_file_keeps_only_its_id(workspace: PlannedWorkspace) -> None:
    purged = workspace.head("purged")
    assert (purged.path, purged.size, purged.digest, purged.content_id) == ("", 0, "", "")


FILES = st.sampled_from(["a", "b", "c", "d"])
PLACES = st.sampled_from(["x.md", "X.md", "y.md", "x.md/z.md", "f/y.md", "F/x.md", "f/x.md/q.md"])
STEPS = st.tuples(
    st.sampled_from(["create", "move", "write", "delete", "restore", "purge"]), FILES, PLACES
)


def step(workspace: PlannedWorkspace, name: str, file: str, path: str) -> ChangeOperation:
    match name:
        case "create":
            return workspace.create(file, path)
        case "move":
            return workspace.update(file, path=path)
        case "write":
            return workspace.update(file, text=path)
        case "restore":
            return workspace.restore(file, path)
        case _:
            return operation(workspace, name, file)


def is_sound(paths: list[str]) -> bool:
    """Whether the paths make one tree, by comparing each with each."""
    keys = [path_key(path) for path in paths]
    return len(set(keys)) == len(keys) and not any(
        folder in keys for key in keys for folder in folders_of(key)
    )


@given(st.lists(st.lists(STEPS, min_size=1, max_size=4, unique_by=lambda s: s[1]), max_size=12))
def test_accepted_trees_are_valid_and_refused_ones_were_not(
    changesets: list[list[tuple[str, str, str]]],
) -> None:
    workspace = PlannedWorkspace()
    for steps in changesets:
        before = workspace.live()
        after = dict(before)
        for name, file, path in steps:
            if name in ("create", "move", "restore"):
                after[file] = path
            elif name in ("delete", "purge"):
                after.pop(file, None)
        try:
            workspace.push(*(step(workspace, *each) for each in steps))
        except (PathConflict, InvalidGraph):
            assert not is_sound(list(after.values()))
            assert workspace.live() == before
        except Problem:
            assert workspace.live() == before
        else:
            assert workspace.live() == after
            assert is_sound(list(after.values()))
        # The derived state is what would be computed from the heads.
        anew = Tree(workspace.tree.heads.values())
        assert (anew._by_path, anew._below) == (workspace.tree._by_path, workspace.tree._below)


# Within a folder

TEA = Confinement("tea")


@pytest.fixture
def confined() -> PlannedWorkspace:
    """The files of ``workspace``, each inside and outside the folder ``tea``."""
    workspace = PlannedWorkspace()
    for folder, prefix in (("tea/", "in-"), ("", "out-")):
        for state in ("live", "deleted", "purged"):
            workspace.push(workspace.create(f"{prefix}{state}", f"{folder}{state}.md", "text"))
        workspace.push(workspace.delete(f"{prefix}deleted"), workspace.delete(f"{prefix}purged"))
        workspace.push(workspace.purge(f"{prefix}purged"))
    return workspace


@pytest.mark.parametrize("name", ["update", "delete", "restore"])
@pytest.mark.parametrize("state", ["out-live", "out-deleted", "out-purged", "in-purged"])
def test_file_outside_the_folder_is_missing(
    confined: PlannedWorkspace, name: str, state: str
) -> None:
    with pytest.raises(FileMissing) as hidden:
        confined.push(operation(confined, name, state), within=TEA)
    with pytest.raises(FileMissing) as unknown:
        confined.push(operation(confined, name, "unknown"), within=TEA)
    assert hidden.value.detail.replace(state, "unknown") == unknown.value.detail


@pytest.mark.parametrize("state", ["out-live", "out-deleted", "out-purged", "in-purged"])
def test_id_of_a_file_outside_the_folder_is_taken(confined: PlannedWorkspace, state: str) -> None:
    with pytest.raises(FileExists) as refusal:
        confined.push(confined.create(state, "tea/new.md"), within=TEA)
    assert refusal.value.detail == f"The id {state} belongs to a file: use another id."


def test_nothing_is_moved_out_of_the_folder_or_purged(confined: PlannedWorkspace) -> None:
    for refused in (
        confined.create("new", "new.md"),
        confined.update("in-live", path="teapot/live.md"),
        confined.restore("in-deleted", "deleted-2.md"),
        confined.purge("in-deleted"),
    ):
        with pytest.raises(OutsideFolder):
            confined.push(refused, within=TEA)
    assert confined.push(confined.update("in-live", path="Tea/new.md"), within=TEA) == ["updated"]


FILES = st.sampled_from("abc")
PLACES = st.sampled_from(["tea/a.md", "TEA/b.md", "tea/x/c.md", "a.md", "teapot/b.md", "tea.md"])
CHANGES = st.tuples(
    st.sampled_from(["create", "update", "move", "delete", "restore", "purge"]), FILES, PLACES
)


@given(st.lists(st.tuples(CHANGES, st.booleans()), max_size=20))
def test_changes_within_a_folder_leave_the_rest_as_it_was(
    changes: list[tuple[tuple[str, str, str], bool]],
) -> None:
    workspace = PlannedWorkspace()
    for (kind, file, path), limited in changes:
        made: ChangeOperation
        match kind:
            case "create":
                made = workspace.create(file, path)
            case "move":
                made = workspace.update(file, path=path)
            case _:
                made = operation(workspace, kind, file)
        before = dict(workspace.tree.heads)
        try:
            workspace.push(made, within=TEA if limited else None)
        except Problem:
            assert workspace.tree.heads == before
            continue
        if limited:
            changed = {n: h for n, h in workspace.tree.heads.items() if before.get(n) != h}
            assert all(TEA.covers(head.path) for head in changed.values())
            assert all(TEA.covers(before[name].path) for name in changed if name in before)
