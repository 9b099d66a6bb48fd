"""Links of a changeset that moves files: each leads to the same file as before."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from octavo_rules.content import note_text
from octavo_rules.identity import Digest, FileId, MutationId
from octavo_rules.problems import Problem

from octavo.model.files.changeset import ChangeOperation, Changeset, RestoreFile, UpdateFile
from octavo.model.files.confinement import Confinement
from octavo.model.links.extraction import links_of
from octavo.model.links.link_rewrite import relinked, relinked_within
from octavo.model.links.resolution import paths_by_key, resolve
from octavo.model.refusal import OutsideFolder
from tests.fakes.planned_workspace import AUTHOR, PlannedWorkspace


class Notes(PlannedWorkspace):
    """A workspace that knows the texts of its live notes."""

    def texts(self) -> dict[FileId, str]:
        return {FileId(file): self.documents.texts[FileId(file)] for file in self.live()}

    def move(self, file: str, path: str) -> UpdateFile:
        return UpdateFile(FileId(file), self.tag(file), path=path, rewrite_links=True)

    def relink(self, *operations: ChangeOperation) -> tuple[ChangeOperation, ...]:
        changeset = Changeset(MutationId("m"), Digest("f"), AUTHOR, operations)
        return relinked(changeset, self.tree.heads, self.texts()).operations

    def relink_within(self, folder: str, *operations: ChangeOperation) -> list[ChangeOperation]:
        within = Confinement(folder)
        changeset = Changeset(MutationId("m"), Digest("f"), AUTHOR, operations, within=within)
        return [*relinked_within(changeset, self.tree.heads, self.texts()).operations]

    def leads(self) -> dict[str, list[str | None]]:
        """The files that the links of each note lead to, in their order."""
        live = self.live()
        files = {path: file for file, path in live.items()}
        find = paths_by_key(files).get
        found: dict[str, list[str | None]] = {}
        for file, path in live.items():
            links = links_of(self.texts()[FileId(file)])
            places = [resolve(link.kind, link.target, path, find) for link in links]
            found[file] = [None if place is None else files[place] for place in places]
        return found


@pytest.fixture
def notes() -> Notes:
    """Links to ``b/y.md``, and a deleted note at ``x.md``."""
    notes = Notes()
    notes.push(
        notes.create("x", "x.md"),
        notes.create("y", "b/y.md", "[[x]]"),
        notes.create("links", "links.md", "[[y]] [y](b/y.md)"),
    )
    notes.push(notes.delete("x"))
    return notes


def text_after(operations: tuple[ChangeOperation, ...], file: str) -> str | None:
    for each in operations:
        if each.file_id == file and isinstance(each, UpdateFile) and each.content is not None:
            return each.content.text
    return None


@pytest.mark.parametrize(
    ("restored_at", "expected"),
    [
        (None, "[[b/x]] [y](b/x.md)"),
        ("x.md", "[[b/x]] [y](b/x.md)"),
        ("z.md", "[[x]] [y](b/x.md)"),
    ],
)
def test_restored_file_may_take_the_name_that_a_link_would_have(
    notes: Notes, restored_at: str | None, expected: str
) -> None:
    operations = notes.relink(notes.restore("x", restored_at), notes.move("y", "b/x.md"))
    assert text_after(operations, "links") == expected


def test_file_restored_in_place_of_a_moved_one_is_not_linked(notes: Notes) -> None:
    notes.push(notes.update("y", path="x.md"))
    notes.push(notes.update("links", text="[[x]]"))
    operations = notes.relink(notes.restore("x"), notes.move("y", "y.md"))
    assert text_after(operations, "links") == "[[y]]"


def test_restore_of_a_live_or_purged_or_unknown_file_leaves_links_unchanged(notes: Notes) -> None:
    notes.push(notes.purge("x"))
    for file in ("links", "x", "none"):
        operations = notes.relink(notes.restore(file), notes.move("y", "b/x.md"))
        if file == "links":
            assert len(operations) == 2
        else:
            assert text_after(operations, "links") == "[[x]] [y](b/x.md)"


def test_links_of_an_earlier_text_are_understood_from_its_path(notes: Notes) -> None:
    restored = RestoreFile(
        FileId("y"),
        notes.tag("y"),
        "c/y.md",
        note_text("[links](links.md)"),
        rewrite_links=True,
        was_at="y.md",
    )
    given_back = notes.relink(restored)[0]
    assert isinstance(given_back, RestoreFile)
    assert given_back.content == note_text("[links](../links.md)")


def test_rewritten_notes_follow_in_the_order_of_their_ids() -> None:
    notes = Notes()
    notes.push(
        notes.create("t", "t.md"),
        *(notes.create(file, f"{file}.md", "[[t]]") for file in ("c", "a", "b")),
    )
    operations = notes.relink(notes.move("t", "z.md"))
    assert [each.file_id for each in operations] == ["t", "a", "b", "c"]


PATHS = [f"{folder}{name}.md" for folder in ("", "a/", "b/", "c/") for name in ("x", "y")]
TARGETS = ["x", "y", "x", "y", "a/x", "../y", "./x", "/b/y", "y.md"]
FORMS = ["[[{}]]", "[[{}]]", "[l]({})"]
TEXTS = st.lists(
    st.tuples(st.sampled_from(FORMS), st.sampled_from(TARGETS)), min_size=1, max_size=4
).map(lambda links: " ".join(form.format(target) for form, target in links))

OF_LIVE = ["move", "move", "stay", "stay", "delete", "write", "give back"]
OF_DELETED = ["restore", "restore", "restore elsewhere", "stay deleted"]
LEAVING = {"move", "delete", "restore elsewhere", "stay deleted"}


@st.composite
def workspaces(draw: st.DrawFn) -> tuple[Notes, list[ChangeOperation]]:
    """Notes, live and deleted, and a changeset that moves some of them."""
    notes = Notes()
    for file in draw(st.sampled_from([["old"], ["old", "older"], []])):
        notes.push(notes.create(file, draw(st.sampled_from(PATHS)), draw(TEXTS)))
        notes.push(notes.delete(file))
    for path in draw(st.lists(st.sampled_from(PATHS), min_size=2, max_size=5, unique=True)):
        notes.push(notes.create(f"n{path}", path, draw(TEXTS)))
    fates = {
        head: draw(st.sampled_from(OF_LIVE if head.state == "live" else OF_DELETED))
        for head in notes.tree.heads.values()
    }
    kept = {head.path for head, fate in fates.items() if fate not in LEAVING}
    free = iter(draw(st.permutations([path for path in PATHS if path not in kept])))
    operations: list[ChangeOperation] = []
    for head, fate in fates.items():
        file = head.file_id
        match fate:
            case "move":
                operations.append(notes.move(file, next(free)))
            case "delete":
                operations.append(notes.delete(file))
            case "write":
                operations.append(notes.update(file, text=draw(TEXTS)))
            case "give back":
                content = note_text(draw(TEXTS))
                operations.append(RestoreFile(file, notes.tag(file), content=content))
            case "restore":
                operations.append(notes.restore(file))
            case "restore elsewhere":
                operations.append(notes.restore(file, next(free)))
    if draw(st.booleans()):
        operations.append(notes.create("new", next(free), draw(TEXTS)))
    return notes, draw(st.permutations(operations))


@settings(max_examples=200)
@given(workspaces())
def test_links_lead_to_the_same_files_as_before(given: tuple[Notes, list[ChangeOperation]]) -> None:
    notes, operations = given
    before, written = notes.leads(), {each.file_id for each in operations if tells_text(each)}
    try:
        notes.push(*notes.relink(*operations))
    except Problem:
        # Two files at one place.
        return
    after = notes.leads()
    for file in before.keys() & after.keys() - written:
        for was, leads in zip(before[file], after[file], strict=True):
            assert was not in after or leads == was


def tells_text(operation: ChangeOperation) -> bool:
    return not isinstance(operation, UpdateFile) or operation.content is not None


@pytest.mark.parametrize(
    ("outside", "text"),
    [
        # A link in a note outside would change.
        ("links.md", "[[a]]"),
        ("links.md", "[a](tea/a.md)"),
        # A link inside would have to name the note outside that it leads to.
        ("q/b.md", ""),
    ],
)
def test_move_within_a_folder_in_which_others_have_a_part_is_refused(
    outside: str, text: str
) -> None:
    notes = Notes()
    notes.push(
        notes.create("a", "tea/a.md"),
        notes.create("n", "tea/n.md", "[[b]]"),
        notes.create("o", outside, text),
    )
    with pytest.raises(OutsideFolder, match="move without rewriteLinks"):
        notes.relink_within("tea", notes.move("a", "tea/b.md"))


def test_move_within_a_folder_rewrites_its_links(notes: Notes) -> None:
    notes.push(notes.create("a", "tea/a.md"), notes.create("n", "tea/n.md", "[[a]] [[y]]"))
    found = notes.relink_within("TEA", notes.move("a", "tea/b.md"))
    assert text_after(tuple(found), "n") == "[[b]] [[y]]"


PLACES = st.sampled_from(["tea/a.md", "tea/b.md", "TEA/x/a.md", "a.md", "b.md", "x/a.md"])
LINKS = st.sampled_from(["[[a]]", "[[b]]", "[[tea/a]]", "[l](a.md)", "[l](/x/a.md)", "text"])


@given(
    st.lists(st.tuples(PLACES, LINKS), min_size=1, max_size=5, unique_by=lambda each: each[0]),
    PLACES,
)
def test_rewritten_notes_of_a_folder_are_in_it_and_say_nothing_of_others(
    tree: list[tuple[str, str]], target: str
) -> None:
    notes, within = Notes(), Confinement("tea")
    for number, (path, text) in enumerate(tree):
        try:
            notes.push(notes.create(f"f{number}", path, text))
        except Problem:
            return
    try:
        found = notes.relink_within("tea", notes.move("f0", target))
    except OutsideFolder:
        return
    alone = Notes()
    for number, (path, text) in enumerate(tree):
        if within.covers(path):
            alone.push(alone.create(f"f{number}", path, text))
    expected = alone.relink(alone.move("f0", target))
    shown = [(each.file_id, text_after((each,), each.file_id)) for each in found]
    assert shown == [(each.file_id, text_after((each,), each.file_id)) for each in expected]
