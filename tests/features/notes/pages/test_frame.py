"""The tree of a workspace."""

from octavo_rules.identity import FileId, Position, RevisionId
from octavo_rules.schemas import Workspace

from octavo.features.notes.member_notes import Level
from octavo.features.notes.pages.frame import MOST_IN_TREE, crumbs_of, tree_of
from octavo.features.publishing.sql.site_changes import ChangedFile
from octavo.features.publishing.workspace_map import FolderContents, Subfolder


def note(path: str) -> ChangedFile:
    return ChangedFile(
        FileId(path), True, "note", path, RevisionId("r"), 1, b"", int(Position(0)), None, None
    )


def test_tree_is_open_along_the_way() -> None:
    top = Level(
        "", FolderContents([Subfolder("a", 1, "a"), Subfolder("b", 2, "b")], [note("c.md")])
    )
    inner = Level("b", FolderContents([], [note("b/d.md"), note("b/e.md")]))
    tree = tree_of([top, inner])
    assert [(each.name, each.notes, each.within is None) for each in tree.folders] == [
        ("a", 1, True),
        ("b", 2, False),
    ]
    assert [each.name for each in tree.notes] == ["c"]
    within = tree.folders[1].within
    assert within is not None
    assert [each.name for each in within.notes] == ["d", "e"]


def test_tree_of_many_says_how_many_it_leaves_out_and_keeps_the_way() -> None:
    count = MOST_IN_TREE + 10
    folders = [Subfolder(f"{number:03}", 1, f"{number:03}") for number in range(count)]
    notes = [note(f"{number:03}.md") for number in range(count)]
    last = folders[-1].name
    inner = Level(last, FolderContents([], [note(f"{last}/x.md")]))
    tree = tree_of([Level("", FolderContents(folders, notes)), inner])
    assert len(tree.folders) == MOST_IN_TREE + 1
    assert tree.folders[-1].within is not None
    assert tree.more == 10 - 1 + 10


def test_crumbs_lead_down_to_the_folder() -> None:
    workspace = Workspace.model_construct(id="w", name="Household", role="owner")
    assert crumbs_of(workspace, "a/b") == [("", "Household"), ("a", "a"), ("a/b", "b")]
    assert crumbs_of(workspace, "") == [("", "Household")]
