"""Returning a file to an earlier state."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.content import MARKDOWN, note_text
from octavo_rules.identity import (
    AccountId,
    ContentId,
    FileId,
    MutationId,
    Position,
    ProgramNumber,
    RevisionId,
)

from octavo.features.history.rules.reversion import (
    FileEnds,
    KeptFile,
    Reversion,
    is_undone,
    operation_of,
    undo,
)
from octavo.model.files.changeset import DeleteFile, RestoreFile, UpdateFile
from octavo.model.files.revision import Revision

ASSISTANT = ProgramNumber(1)


def history(*states: str) -> list[Revision]:
    """Revisions, each written as who made it, its path and its text: ``+a.md:x`` is the program's.

    ``-`` in place of path and text is a deleted file, ``!`` a purged one.
    """
    made = []
    path, text = "", ""
    for position, state in enumerate(states, start=1):
        who, rest = state[0], state[1:]
        if rest not in ("-", "!"):
            path, _, text = rest.partition(":")
        content = note_text(text)
        made.append(
            Revision(
                file_id=FileId("f"),
                state="deleted" if rest == "-" else "purged" if rest == "!" else "live",
                kind="note",
                path=path,
                revision_id=RevisionId(f"r{position}"),
                position=Position(position),
                content_id=ContentId(f"r{position}"),
                digest=content.digest,
                size=content.size,
                media_type=MARKDOWN,
                author=AccountId("a"),
                mutation_id=MutationId("m"),
                created_at=position,
                program=ASSISTANT if who == "+" else None,
            )
        )
    return made


def is_own(revision: Revision) -> bool:
    return revision.program == ASSISTANT


@pytest.mark.parametrize(
    ("states", "target"),
    [
        pytest.param(("+a.md:x",), None, id="a created note is deleted"),
        pytest.param(("+a.md:x", "+a.md:y"), None, id="with all of its texts"),
        pytest.param((" a.md:x", "+a.md:y"), "r1", id="a text returns"),
        pytest.param((" a.md:x", "+b.md:x"), "r1", id="a path returns"),
        pytest.param((" a.md:x", "+-"), "r1", id="a deleted note returns"),
        pytest.param((" -", "+a.md:x"), None, id="a restored note is deleted again"),
        pytest.param(
            (" a.md:x", "+a.md:y", " a.md:x", "+a.md:z"), "r1", id="after an earlier undo"
        ),
        pytest.param((" a.md:x", "+a.md:y", "+a.md:z", " a.md:y"), "r1", id="after a partial undo"),
    ],
)
def test_undo_returns_to_the_state_before(states: tuple[str, ...], target: str | None) -> None:
    found = undo(history(*states), is_own)
    assert isinstance(found, Reversion)
    assert (None if found.target is None else found.target.revision_id) == target
    assert found.head.revision_id == f"r{len(states)}"


@pytest.mark.parametrize(
    "states",
    [
        pytest.param((" a.md:x", "+a.md:y", " a.md:z"), id="a later text"),
        pytest.param((" a.md:x", "+a.md:y", " b.md:y"), id="a later path"),
        pytest.param((" a.md:x", "+a.md:y", " -"), id="a later deletion"),
        pytest.param((" a.md:x", "+a.md:y", " a.md:z", "+a.md:w"), id="a text in between"),
        pytest.param(("+a.md:y", " a.md:z"), id="a text of a created note"),
        pytest.param((" a.md:x", "+a.md:y", " a.md:z", " a.md:y"), id="a text that was taken back"),
        pytest.param(("+a.md:x", " -", " a.md:x"), id="a created note that was brought back"),
        pytest.param(
            (" a.md:x", "+a.md:y", " a.md:x", " a.md:y"), id="a text that was brought back"
        ),
        pytest.param(
            (" a.md:x", "+a.md:y", " a.md:x", "+a.md:z", " a.md:y"), id="a text of before an undo"
        ),
        pytest.param(
            (" a.md:x", "+a.md:y", "+a.md:z", " a.md:x", " a.md:y"), id="a text between undone ones"
        ),
    ],
)
def test_file_that_others_changed_since_is_kept(states: tuple[str, ...]) -> None:
    found = undo(history(*states), is_own)
    assert isinstance(found, KeptFile)
    assert found.reason == "changed_since"


def test_purged_file_is_kept() -> None:
    found = undo(history(" a.md:x", "+a.md:y", " !"), is_own)
    assert found == KeptFile(history(" a.md:x", "+a.md:y", " !")[-1], "purged")


def ends(*states: str) -> FileEnds:
    """What is left of a file's history: before the first change of the program, and its head."""
    made = history(*states)
    return FileEnds(None if is_own(made[0]) else made[0], made[-1])


@pytest.mark.parametrize(
    ("files", "undone"),
    [
        pytest.param([("+a.md:x", " -")], True, id="a created note was deleted"),
        pytest.param([(" a.md:x", "+a.md:y", " a.md:x")], True, id="a text was taken back"),
        pytest.param([(" a.md:x", "+-", " a.md:x")], True, id="a deleted note was restored"),
        pytest.param([(" a.md:x", "+a.md:y", " a.md:z", " a.md:x")], True, id="in two steps"),
        pytest.param([("+a.md:x", " -"), (" b.md:x", "+b.md:y", " b.md:x")], True, id="each file"),
        pytest.param([("+a.md:x", " -"), (" b.md:x", "+b.md:y")], False, id="not all files"),
        pytest.param([(" a.md:x", "+a.md:y", "+a.md:z", " a.md:y")], False, id="not all changes"),
        pytest.param([(" a.md:x", "+a.md:y", " b.md:x")], False, id="a text at another path"),
        pytest.param([(" a.md:x", "+a.md:y", " a.md:z")], False, id="others wrote over it"),
        pytest.param([(" a.md:x", "+a.md:y", " !")], False, id="a note was purged"),
        pytest.param([("+a.md:x", " -", " !")], False, id="a created note was purged"),
        pytest.param([(" a.md:x", "+a.md:y", "+a.md:x")], False, id="the program took it back"),
        pytest.param([("+a.md:x", " -", " a.md:x")], False, id="a note was brought back"),
        pytest.param([], False, id="nothing is stored any more"),
    ],
)
def test_program_is_undone_when_others_returned_each_file_to_its_state_before(
    files: list[tuple[str, ...]], undone: bool
) -> None:
    assert is_undone([ends(*each) for each in files], is_own) == undone


STATES = st.sampled_from(["a.md:x", "a.md:y", "b.md:x", "-"])


@given(st.lists(st.tuples(st.sampled_from(" +"), STATES), min_size=1, max_size=6), st.booleans())
def test_undo_returns_nothing_of_what_is_undone(
    changes: list[tuple[str, str]], existed: bool
) -> None:
    states = [*([" a.md:x"] if existed else []), "+a.md:y", *(who + at for who, at in changes)]
    found = undo(history(*states), is_own)
    by_others = not is_own(history(*states)[-1])
    if is_undone([ends(*states)], is_own):
        assert not isinstance(found, Reversion)
    elif by_others:
        assert found is not None


@pytest.mark.parametrize(
    "states",
    [(" a.md:x", "+a.md:y", " a.md:x"), (" a.md:x", "+a.md:y", "+a.md:x"), ("+a.md:x", " -")],
)
def test_nothing_is_left_of_what_was_undone(states: tuple[str, ...]) -> None:
    assert undo(history(*states), is_own) is None


_STATES = st.tuples(st.sampled_from("+ "), st.sampled_from(["a.md:x", "a.md:y", "b.md:x", "-"]))


@given(st.lists(_STATES, min_size=1, max_size=6))
def test_undo_loses_no_state_that_others_made(states: list[tuple[str, str]]) -> None:
    revisions = history(*("".join(each) for each in states))
    first = next((i for i, each in enumerate(revisions) if is_own(each)), None)
    if first is None:
        return
    found = undo(revisions[max(first - 1, 0) :], is_own)
    others = [each for each in revisions[first:] if not is_own(each)]
    if isinstance(found, Reversion):
        own = {_seen(each) for each in revisions[first:] if is_own(each)}
        before = None if first == 0 else revisions[first - 1]
        assert {_seen(each) for each in others} <= own | {_seen(before)}
        assert _seen(found.result) == _seen(before)
        assert _seen(found.result) != _seen(revisions[-1])


def _seen(revision: Revision | None) -> tuple[str, str] | None:
    if revision is None or revision.state != "live":
        return None
    return revision.path, revision.digest


def test_operations_are_guarded_by_the_present_head() -> None:
    live, moved, changed = history(" a.md:x", "+b.md:x", "+b.md:y")
    gone = replace(changed, state="deleted")
    text = note_text("x")
    expected = frozenset({"r3"})
    assert operation_of(Reversion(changed, None), None) == DeleteFile(FileId("f"), expected)
    assert operation_of(Reversion(changed, live), text) == RestoreFile(
        FileId("f"), expected, "a.md", text, RevisionId("r1")
    )
    assert operation_of(Reversion(gone, live), text) == RestoreFile(
        FileId("f"), expected, "a.md", text, RevisionId("r1")
    )
    assert operation_of(Reversion(moved, live), None) == UpdateFile(
        FileId("f"), frozenset({"r2"}), path="a.md"
    )
    deleted = replace(moved, state="deleted")
    assert operation_of(Reversion(deleted, live), None) == RestoreFile(
        FileId("f"), frozenset({"r2"}), "a.md"
    )


def test_operation_needs_a_text_that_differs() -> None:
    before, after = history(" a.md:x", "+a.md:y")
    with pytest.raises(ValueError, match="the text of the revision r1 is needed"):
        operation_of(Reversion(after, before), None)
