"""Batches of changesets on one tree: each sees the previous ones, and all can be undone."""

from contextlib import suppress
from itertools import count, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.model.files.batch import Batch, portions
from octavo.model.files.changeset import (
    ChangeOperation,
    Changeset,
    DeleteFile,
    RestoreFile,
    SaveNote,
    fingerprint,
    first_repeated,
)
from octavo.model.files.content import note_text
from octavo.model.files.path import path_key
from octavo.model.files.tree import Tree
from octavo.model.identity import Epoch, FileId, MutationId, Position
from octavo.model.refusal import DomainError, PathConflict
from tests.fakes.planned_workspace import AUTHOR, Vault

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


def operation(vault: Vault, step: tuple[str, str, str]) -> ChangeOperation:
    name, file, path = step
    match name:
        case "create":
            return vault.create(file, path, path)
        case "update":
            return vault.update(file, text=path)
        case "move":
            return vault.update(file, path=path)
        case "save":
            return SaveNote(FileId(file), Epoch("e"), path.encode())
        case "spoilt":
            return SaveNote(FileId(file), Epoch("e"), b"!" + path.encode())
        case "give back":
            return RestoreFile(
                FileId(file), vault.tag(file), content=note_text(f"{path} as it was")
            )
        case "delete":
            return vault.delete(file)
        case "restore":
            return vault.restore(file, path)
        case _:
            return vault.purge(file)


def places(tree: Tree) -> dict[str, str]:
    """Where the tree refuses a new file, found by probing."""
    taken = {}
    for path in PATHS:
        probe = Vault()
        probe.tree = tree
        try:
            probe.plan(probe.create("probe", path))
        except DomainError as refusal:
            taken[path] = refusal.code
    return taken


@given(st.lists(STEP, max_size=8), st.lists(STEP, max_size=8))
def test_batch_that_is_undone_leaves_the_tree_unchanged(
    before: list[tuple[str, str, str]], steps: list[tuple[str, str, str]]
) -> None:
    vault = Vault()
    for step in before:
        try:
            vault.push(operation(vault, step))
        except DomainError:
            continue
    heads, taken = dict(vault.tree.heads), places(vault.tree)
    ids = count()
    batch = Batch(vault.tree, vault.position, 0, lambda: f"n{next(ids)}", vault.documents)
    for step in steps:
        try:
            batch.add(changeset(operation(vault, step)))
        except DomainError:
            continue
    live = [path_key(h.path) for h in vault.tree.heads.values() if h.state == "live"]
    assert len(live) == len(set(live))
    positions = [plan.position for plan in batch.plans if plan.changed]
    assert positions == list(range(vault.position + 1, batch.position + 1))
    batch.roll_back()
    assert vault.tree.heads == heads
    assert places(vault.tree) == taken


@given(st.lists(st.lists(STEP, min_size=1, max_size=3), max_size=8))
def test_documents_have_the_texts_of_the_heads_whatever_is_refused(
    changesets: list[list[tuple[str, str, str]]],
) -> None:
    vault = Vault()
    for steps in changesets:
        operations = [operation(vault, step) for step in steps]
        if first_repeated(operations) is None:
            with suppress(DomainError):
                vault.push(*operations)
        for head in vault.tree.heads.values():
            if head.state == "purged":
                assert head.file_id not in vault.documents.texts
            else:
                assert note_text(vault.documents.texts[head.file_id]).digest == head.digest


def test_later_changeset_sees_the_earlier_one() -> None:
    vault = Vault()
    batch = Batch(vault.tree, Position(0), 0, lambda: "n", vault.documents)
    batch.add(changeset(vault.create("a", "a.md")))
    with pytest.raises(PathConflict):
        batch.add(changeset(vault.create("b", "a.md")))
    assert (len(batch.plans), batch.position) == (1, 1)


def test_fingerprint_depends_on_content_and_not_on_the_order_of_tags() -> None:
    vault = Vault()
    one = DeleteFile(FileId("a"), frozenset({"x", "y"}))
    assert fingerprint([one]) == fingerprint([DeleteFile(FileId("a"), frozenset({"y", "x"}))])
    others: list[ChangeOperation] = [
        vault.create("a", "a.md"),
        vault.create("a", "a.md", "text"),
        vault.create("a", "b.md"),
        vault.update("a", text="text"),
        vault.update("a", path="b.md"),
        vault.restore("a"),
        vault.restore("a", "b.md"),
        vault.purge("a"),
        one,
    ]
    told = {fingerprint([each]) for each in others}
    assert len(told) == len(others)
    assert fingerprint(others[:2]) not in told


def test_second_operation_on_a_file_is_found() -> None:
    vault = Vault()
    a, b = vault.create("a", "a.md"), vault.create("b", "b.md")
    assert first_repeated([a, b]) is None
    assert first_repeated([a, b, vault.purge("b"), vault.purge("a")]) == 2


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
