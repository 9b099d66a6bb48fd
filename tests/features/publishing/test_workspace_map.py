"""The map of a site: what links lead to, and that nothing else has an effect."""

from hypothesis import assume, given
from hypothesis import strategies as st
from octavo_rules.identity import FileId, RevisionId

from octavo.features.publishing.rules import LinkTarget, is_below
from octavo.features.publishing.sql.site_changes import ChangedFile
from octavo.features.publishing.workspace_map import WorkspaceMap
from octavo.model.files.path import Kind
from octavo.model.links.extraction import LinkKind

FOLDER = LinkTarget("folder", None, "tea")
PATHS = st.sampled_from(
    ["a.md", "tea/a.md", "tea/b.md", "tea/x/a.md", "tea/x/b.md", "x/b.md", "Tea/b.md", "b.md"]
)
TARGETS = st.sampled_from(["a", "b", "a.md", "x/b.md", "../a.md", "/tea/a", "tea/b", "./b", "X/B"])


def head(name: str, path: str, live: bool = True, revision: int = 0) -> ChangedFile:
    is_image = path.startswith("attachments/")
    kind: Kind = "attachment" if is_image else "note"
    size = 10 if is_image else None
    revision_id = RevisionId(f"{name}{revision}")
    return ChangedFile(FileId(name), live, kind, path, revision_id, 1, b"", 0, size, size)


def site_of(*changes: ChangedFile) -> WorkspaceMap:
    site = WorkspaceMap()
    for change in changes:
        site.put(change)
    return site


def test_link_leads_to_a_published_note_even_where_another_is_nearer() -> None:
    site = site_of(head("1", "b.md"), head("2", "tea/x/b.md"))
    found = site.linked_note(FOLDER, "wiki", "b", "tea/a.md")
    assert found is not None
    assert found.file_id == "2"


def test_link_out_of_the_folder_leads_nowhere() -> None:
    site = site_of(head("1", "b.md"), head("2", "tea/a.md"))
    assert site.linked_note(FOLDER, "standard", "../b.md", "tea/a.md") is None
    assert site.linked_note(FOLDER, "wiki", "b", "tea/a.md") is None


def test_image_is_found_in_the_whole_workspace() -> None:
    site = site_of(head("1", "attachments/cup.png"))
    found = site.linked_image("wiki", "cup.png", "tea/a.md")
    assert found is not None
    assert (found.file_id, found.width) == ("1", 10)
    assert site.linked_image("standard", "cup.png", "tea/a.md") is None
    assert site.image(FileId("1")) == found


def test_notes_of_a_folder_come_before_its_folders() -> None:
    paths = ["tea/x/a.md", "tea/b.md", "tea/a/z.md", "tea/A.md", "food/a.md"]
    site = site_of(*(head(path, path) for path in paths))
    listed = [each.path for each in site.notes_below("tea")]
    assert listed == ["tea/A.md", "tea/b.md", "tea/a/z.md", "tea/x/a.md"]
    assert len(site.notes_below("")) == len(paths)


def test_shape_changes_with_paths_and_images_and_not_with_texts() -> None:
    site = site_of(head("1", "a.md"), head("2", "attachments/a.png"))
    shape = site.shape
    site.put(head("1", "a.md", revision=1))
    assert site.shape == shape
    for change in (
        head("2", "attachments/a.png", revision=1),
        head("1", "b.md"),
        head("1", "b.md", live=False),
        head("1", "b.md"),
    ):
        site.put(change)
        assert site.shape != shape
        shape = site.shape


def test_revision_of_a_note_is_the_newest() -> None:
    site = site_of(head("1", "tea/a.md"))
    assert site.notes_below("tea")[0].revision_id == "10"
    site.put(head("1", "tea/a.md", revision=1))
    assert site.notes_below("tea")[0].revision_id == "11"
    assert site.note(FOLDER, FileId("1")) == site.notes_below("tea")[0]
    assert site.note(LinkTarget("note", FileId("2"), ""), FileId("1")) is None


@given(
    st.lists(st.tuples(st.sampled_from("1234"), PATHS, st.booleans()), max_size=12),
    st.sampled_from(["standard", "wiki"]),
    TARGETS,
)
def test_nothing_outside_the_folder_has_an_effect(
    changes: list[tuple[str, str, bool]], kind: LinkKind, to: str
) -> None:
    """The map of the published notes alone answers as that of all files does."""
    last = {name: (path, live) for name, path, live in changes}
    paths = [path for path, live in last.values() if live]
    assume(len(set(paths)) == len(paths))
    site = WorkspaceMap()
    for name, path, live in changes:
        site.put(head(name, path, live))
    alone = site_of(
        *(head(name, path) for name, (path, live) in last.items() if live and is_below(path, "tea"))
    )
    below = [each for each in last.values() if each[1] and is_below(each[0], "tea")]
    assert len(site.notes_below("tea")) == len(below)
    assert all(is_below(each.path, "tea") for each in site.notes_below("tea"))
    notes = [None, *site.notes_below("tea"), None]
    for before, note, after in zip(notes, notes[1:], notes[2:], strict=False):
        assert note is not None
        assert site.neighbours("tea", note) == (before, after)
    at = "tea/x/n.md"
    assert site.linked_note(FOLDER, kind, to, at) == alone.linked_note(FOLDER, kind, to, at)
    assert [*site.notes_below("tea")] == [*alone.notes_below("tea")]


def test_folder_has_its_notes_and_folders_with_counts() -> None:
    paths = ["b.md", "a.md", "z/one.md", "z/y/two.md", "B/three.md", "attachments/a.png"]
    site = site_of(*(head(str(number), path) for number, path in enumerate(paths)))
    top = site.folder("")
    assert [each.path for each in top.notes] == ["a.md", "b.md"]
    assert top.folders == [("B", 1, "B"), ("z", 2, "z")]
    inner = site.folder("z")
    assert [each.path for each in inner.notes] == ["z/one.md"]
    assert inner.folders == [("y", 1, "z/y")]
    assert site.folder("nowhere") == ([], [])


@given(
    st.lists(
        st.tuples(st.sampled_from("12345"), PATHS, st.booleans(), st.integers(0, 3)), max_size=12
    )
)
def test_folder_that_was_read_before_has_what_was_changed_since(
    changes: list[tuple[str, str, bool, int]],
) -> None:
    site = WorkspaceMap()
    last: dict[str, ChangedFile] = {}
    for name, path, live, revision in changes:
        last[name] = head(name, path, live, revision)
        site.put(last[name])
        fresh = site_of(*last.values())
        for folder in ("", "tea", "Tea", "tea/x", "x", "nowhere"):
            assert site.folder(folder) == fresh.folder(folder)
