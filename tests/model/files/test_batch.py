"""Batches of changesets on one tree: each sees the previous ones, and all can be undone."""

from contextlib import suppress
from dataclasses import replace
from itertools import count, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.changes import SaveNote
from octavo_rules.content import note_text
from octavo_rules.identity import START, Digest, Epoch, FileId, MutationId
from octavo_rules.problems import Problem

from octavo.model.files.changeset import (
    AttachImage,
    ChangeOperation,
    Changeset,
    DeleteFile,
    RestoreFile,
    fingerprint,
    first_repeated,
)
from octavo.model.files.image import ObjectId, UploadedImage
from octavo.model.files.path import path_key
from octavo.model.files.plan import Batch, portions
from octavo.model.files.tree import Tree
from octavo.model.refusal import PathConflict
from octavo.model.usage import StorageLimitReached
from tests.fakes.planned_workspace import AUTHOR, PlannedWorkspace

FILES = ["a", "b", "c"]
PATHS = ["a.md", "A.md", "b.md", "b.md/c.md", "d/e.md"]
KINDS = ["create", "update", "move", "save", "spoilt", "delete", "restore", "give back", "purge"]
STEP = st.tuples(
    st.sampled_from(KINDS),
    st.sampled_from(FILES),
    st.sampled_from(PATHS),
)


def changeset(*operations: ChangeOperation) -> Changeset:
    return Changeset(MutationId("m"), fingerprint(operations), AUTHOR, operations)


def operation(workspace: PlannedWorkspace, step: tuple[str, str, str]) -> ChangeOperation:
    name, file, path = step
    match name:
        case "create":
            return workspace.create(file, path, path)
        case "update":
            return workspace.update(file, text=path)
        case "move":
            return workspace.update(file, path=path)
        case "save":
            return SaveNote(FileId(file), Epoch("e"), path.encode())
        case "spoilt":
            return SaveNote(FileId(file), Epoch("e"), b"!" + path.encode())
        case "give back":
            return RestoreFile(
                FileId(file), workspace.tag(file), content=note_text(f"{path} as it was")
            )
        case "delete":
            return workspace.delete(file)
        case "restore":
            return workspace.restore(file, path)
        case _:
            return workspace.purge(file)


def places(tree: Tree) -> dict[str, str]:
    """Where the tree refuses a new file, found by probing."""
    taken = {}
    for path in PATHS:
        probe = PlannedWorkspace()
        probe.tree = tree
        try:
            probe.plan(probe.create("probe", path))
        except Problem as refusal:
            taken[path] = refusal.code
    return taken


@given(st.lists(STEP, max_size=8), st.lists(STEP, max_size=8))
def test_batch_that_is_undone_leaves_the_tree_unchanged(
    before: list[tuple[str, str, str]], steps: list[tuple[str, str, str]]
) -> None:
    workspace = PlannedWorkspace()
    for step in before:
        try:
            workspace.push(operation(workspace, step))
        except Problem:
            continue
    heads, taken = dict(workspace.tree.heads), places(workspace.tree)
    ids = count()
    batch = Batch(workspace.tree, workspace.cursor, 0, lambda: f"n{next(ids)}", workspace.documents)
    for step in steps:
        try:
            batch.add(changeset(operation(workspace, step)))
        except Problem:
            continue
    live = [path_key(h.path) for h in workspace.tree.heads.values() if h.state == "live"]
    assert len(live) == len(set(live))
    positions = [plan.position for plan in batch.plans if plan.changed]
    assert positions == list(range(workspace.cursor.position + 1, batch.cursor.position + 1))
    batch.roll_back()
    assert workspace.tree.heads == heads
    assert places(workspace.tree) == taken


@given(st.lists(st.lists(STEP, min_size=1, max_size=3), max_size=8))
def test_documents_have_the_texts_of_the_heads_whatever_is_refused(
    changesets: list[list[tuple[str, str, str]]],
) -> None:
    workspace = PlannedWorkspace()
    for steps in changesets:
        operations = [operation(workspace, step) for step in steps]
        if first_repeated(operations) is None:
            with suppress(Problem):
                workspace.push(*operations)
        for head in workspace.tree.heads.values():
            if head.state == "purged":
                assert head.file_id not in workspace.documents.texts
            else:
                assert note_text(workspace.documents.texts[head.file_id]).digest == head.digest


def test_later_changeset_sees_the_earlier_one() -> None:
    workspace = PlannedWorkspace()
    batch = Batch(workspace.tree, START, 0, lambda: "n", workspace.documents)
    batch.add(changeset(workspace.create("a", "a.md")))
    with pytest.raises(PathConflict):
        batch.add(changeset(workspace.create("b", "a.md")))
    assert (len(batch.plans), batch.cursor) == (1, (1, "n"))


def test_texts_share_the_room_that_attached_uploads_do_not_need() -> None:
    workspace = PlannedWorkspace()
    batch = Batch(workspace.tree, START, 0, lambda: "n", workspace.documents, 3)
    image = UploadedImage(ObjectId("o"), Digest("d"), 100, "image/png", 1, 1, 1)
    batch.add(changeset(AttachImage(FileId("i"), "attachments/i.png", image)))
    batch.add(changeset(workspace.create("a", "a.md", "aa")))
    with pytest.raises(StorageLimitReached):
        batch.add(changeset(workspace.create("b", "b.md", "bb")))
    batch.add(changeset(workspace.create("b", "b.md", "b")))
    assert [plan.needed for plan in batch.plans] == [0, 2, 1]


def test_fingerprint_depends_on_content_and_not_on_the_order_of_tags() -> None:
    workspace = PlannedWorkspace()
    one = DeleteFile(FileId("a"), frozenset({"x", "y"}))
    assert fingerprint([one]) == fingerprint([DeleteFile(FileId("a"), frozenset({"y", "x"}))])
    others: list[ChangeOperation] = [
        workspace.create("a", "a.md"),
        workspace.create("a", "a.md", "text"),
        workspace.create("a", "b.md"),
        workspace.update("a", text="text"),
        workspace.update("a", path="b.md"),
        workspace.restore("a"),
        workspace.restore("a", "b.md"),
        workspace.purge("a"),
        replace(workspace.update("a", path="b.md"), rewrite_links=True),
        replace(workspace.restore("a", "b.md"), rewrite_links=True),
        SaveNote(FileId("a"), Epoch("e"), b"update"),
        SaveNote(FileId("a"), Epoch("f"), b"update"),
        SaveNote(FileId("a"), Epoch("e"), b"other"),
        one,
    ]
    fingerprints = {fingerprint([each]) for each in others}
    assert len(fingerprints) == len(others)
    assert fingerprint(others[:2]) not in fingerprints


def test_second_operation_on_a_file_is_found() -> None:
    workspace = PlannedWorkspace()
    a, b = workspace.create("a", "a.md"), workspace.create("b", "b.md")
    assert first_repeated([a, b]) is None
    assert first_repeated([a, b, workspace.purge("b"), workspace.purge("a")]) == 2


@given(st.lists(st.integers(1, 9)), st.integers(1, 12))
def test_portions_are_complete_in_order_and_as_small_as_possible(
    sizes: list[int], maximum: int
) -> None:
    found = list(portions(sizes, lambda size: size, maximum))
    assert [each for portion in found for each in portion] == sizes
    assert all(sum(portion) <= maximum or len(portion) == 1 for portion in found)
    # Nothing would have fitted into the previous portion.
    for portion, following in pairwise(found):
        assert sum(portion) + following[0] > maximum
