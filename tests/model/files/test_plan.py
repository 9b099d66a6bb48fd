"""The transitions of files, state by state, and which changesets are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.model.files.changeset import ChangeOperation
from octavo.model.files.path import folders_of, path_key
from octavo.model.files.tree import Tree
from octavo.model.refusal import (
    DomainError,
    FileExists,
    FileLive,
    FileMissing,
    FilePurged,
    HeadMoved,
    InvalidGraph,
    InvalidPath,
    PathConflict,
)
from tests.fakes.planned_workspace import Vault


@pytest.fixture
def vault() -> Vault:
    """One file in each state: live at ``live.md``, deleted, purged."""
    vault = Vault()
    vault.push(
        vault.create("live", "live.md", "text"),
        vault.create("deleted", "deleted.md", "old"),
        vault.create("purged", "purged.md"),
    )
    vault.push(vault.delete("deleted"), vault.delete("purged"))
    vault.push(vault.purge("purged"))
    return vault


STATES = ["live", "deleted", "purged", "unknown"]
TABLE = {
    "create": [FileExists, FileExists, FilePurged, "created"],
    "update": ["updated", FileMissing, FilePurged, FileMissing],
    "delete": ["deleted", FileMissing, FilePurged, FileMissing],
    "restore": [FileLive, "restored", FilePurged, FileMissing],
    "purge": [FileLive, "purged", FilePurged, FileMissing],
}


def operation(vault: Vault, name: str, file: str) -> ChangeOperation:
    match name:
        case "create":
            return vault.create(file, "new.md")
        case "update":
            return vault.update(file, text="new")
        case "delete":
            return vault.delete(file)
        case "restore":
            return vault.restore(file)
        case _:
            return vault.purge(file)


@pytest.mark.parametrize(
    ("name", "state", "expected"),
    [
        (name, state, expected)
        for name, row in TABLE.items()
        for state, expected in zip(STATES, row, strict=True)
    ],
)
def test_operation_on_a_file_in_each_state(
    vault: Vault, name: str, state: str, expected: str | type[DomainError]
) -> None:
    before = dict(vault.tree.heads)
    if isinstance(expected, str):
        assert vault.push(operation(vault, name, state)) == [expected]
    else:
        with pytest.raises(expected):
            vault.push(operation(vault, name, state))
        assert vault.tree.heads == before


def test_every_accepted_change_takes_the_next_position(vault: Vault) -> None:
    assert vault.position == 3
    vault.push(vault.update("live", text="new"), vault.restore("deleted"))
    assert vault.position == vault.head("live").position == vault.head("deleted").position == 4


@pytest.mark.parametrize("how", [{}, {"text": "text"}, {"path": "live.md"}])
def test_change_without_effect_takes_no_position(vault: Vault, how: dict[str, str]) -> None:
    head = vault.head("live")
    planned = vault.plan(vault.update("live", **how))
    assert (planned.position, planned.changed) == (3, ())
    assert [(each.outcome, each.head) for each in planned.changes] == [("unchanged", head)]


def test_update_keeps_what_it_does_not_name(vault: Vault) -> None:
    vault.push(vault.update("live", path="moved.md"))
    moved = vault.head("live")
    assert (moved.path, moved.size) == ("moved.md", 4)
    vault.push(vault.update("live", text="longer"))
    longer = vault.head("live")
    assert (longer.path, longer.size, str(longer.content_id)) == (
        "moved.md",
        6,
        str(longer.revision_id),
    )


def test_moved_file_has_the_content_of_the_revision_that_introduced_it(vault: Vault) -> None:
    brought = vault.head("live")
    vault.push(vault.update("live", path="moved.md"))
    vault.push(vault.delete("live"))
    vault.push(vault.restore("live"))
    assert vault.head("live").content_id == brought.content_id
    assert vault.head("live").digest == brought.digest


def test_moved_heads_are_all_reported(vault: Vault) -> None:
    vault.push(vault.create("other", "other.md"))
    with pytest.raises(HeadMoved) as refusal:
        vault.push(vault.update("live", text="a", tag="stale"), vault.update("other", text="b"))
    assert refusal.value.file_ids == ("live",)
    with pytest.raises(HeadMoved) as refusal:
        vault.push(
            vault.update("other", text="b", tag="stale"), vault.update("live", text="a", tag="s")
        )
    assert refusal.value.file_ids == ("other", "live")


def test_any_of_several_tags_may_name_the_head(vault: Vault) -> None:
    update = vault.update("live", text="new")
    more = type(update)(update.file_id, update.if_match | {"stale"}, update.content)
    assert vault.push(more) == ["updated"]


def test_changeset_may_swap_two_paths(vault: Vault) -> None:
    vault.push(vault.create("other", "other.md"))
    vault.push(vault.update("live", path="other.md"), vault.update("other", path="live.md"))
    assert vault.live() == {"live": "other.md", "other": "live.md"}
    # Each place still has its one file.
    with pytest.raises(PathConflict):
        vault.push(vault.create("third", "live.md"))
    with pytest.raises(PathConflict):
        vault.push(vault.create("third", "other.md"))


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
def test_conflicting_path_is_refused(vault: Vault, path: str, refusal: type[DomainError]) -> None:
    with pytest.raises(refusal):
        vault.push(vault.create("new", path))
    with pytest.raises(refusal):
        vault.push(vault.restore("deleted", path))
    assert vault.live() == {"live": "live.md"}


def test_file_at_the_path_of_a_folder_is_refused(vault: Vault) -> None:
    vault.push(vault.create("inner", "folder.md/inner.md"))
    with pytest.raises(InvalidGraph):
        vault.push(vault.create("outer", "Folder.md"))
    assert vault.push(vault.create("outer", "Folder.md"), vault.delete("inner")) == [
        "created",
        "deleted",
    ]


def test_restored_file_whose_path_is_taken_is_refused_without_a_new_path(
    vault: Vault,
) -> None:
    vault.push(vault.create("new", "deleted.md"))
    with pytest.raises(PathConflict):
        vault.push(vault.restore("deleted"))
    assert vault.push(vault.restore("deleted", "elsewhere.md")) == ["restored"]


def test_purged_file_keeps_only_its_id(vault: Vault) -> None:
    purged = vault.head("purged")
    assert (purged.path, purged.size, purged.digest, purged.content_id) == ("", 0, "", "")


FILES = st.sampled_from(["a", "b", "c", "d"])
PLACES = st.sampled_from(["x.md", "X.md", "y.md", "x.md/z.md", "f/y.md", "F/x.md", "f/x.md/q.md"])
STEPS = st.tuples(
    st.sampled_from(["create", "move", "write", "delete", "restore", "purge"]), FILES, PLACES
)


def step(vault: Vault, name: str, file: str, path: str) -> ChangeOperation:
    match name:
        case "create":
            return vault.create(file, path)
        case "move":
            return vault.update(file, path=path)
        case "write":
            return vault.update(file, text=path)
        case "restore":
            return vault.restore(file, path)
        case _:
            return operation(vault, name, file)


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
    vault = Vault()
    for steps in changesets:
        before = vault.live()
        after = dict(before)
        for name, file, path in steps:
            if name in ("create", "move", "restore"):
                after[file] = path
            elif name in ("delete", "purge"):
                after.pop(file, None)
        try:
            vault.push(*(step(vault, *each) for each in steps))
        except (PathConflict, InvalidGraph):
            assert not is_sound(list(after.values()))
            assert vault.live() == before
        except DomainError:
            assert vault.live() == before
        else:
            assert vault.live() == after
            assert is_sound(list(after.values()))
        # The derived state is what would be computed from the heads.
        anew = Tree(vault.tree.heads.values())
        assert (anew._by_path, anew._below) == (vault.tree._by_path, vault.tree._below)
