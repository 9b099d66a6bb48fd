"""Where the links of a note lead its members."""

import pytest
from octavo_rules.identity import FileId, RevisionId

from octavo.features.notes.member_notes import address_of, missing_path
from octavo.features.publishing.sql.site_changes import ChangedFile
from octavo.features.publishing.workspace_map import WorkspaceMap
from octavo.render.references import FileReference, ImageAddress, LinkAddress


def site() -> WorkspaceMap:
    made = WorkspaceMap()
    for number, path in enumerate(("Kitchen/Tea.md", "Ben.md", "attachments/cup.png")):
        is_note = path.endswith(".md")
        made.put(
            ChangedFile(
                FileId(f"f{number}"),
                True,
                "note" if is_note else "attachment",
                path,
                RevisionId(f"r{number}"),
                number,
                b"",
                0,
                None if is_note else 30,
                None if is_note else 20,
            )
        )
    return made


IMAGE = "/api/workspaces/W/files/f2/content?revision=r2"


@pytest.mark.parametrize(
    ("reference", "address"),
    [
        (FileReference("wiki", False, "Ben", ""), LinkAddress("/workspaces/W/notes/f1")),
        (FileReference("standard", False, "Tea.md", ""), LinkAddress("/workspaces/W/notes/f0")),
        (
            FileReference("standard", False, "../Ben.md", "one-two"),
            LinkAddress("/workspaces/W/notes/f1#one-two"),
        ),
        (FileReference("wiki", False, "", "A b"), LinkAddress("#a-b")),
        (FileReference("wiki", False, "Coffee", "A b"), LinkAddress("#a-b")),
        (FileReference("wiki", False, "", ""), None),
        (
            FileReference("wiki", False, "Dora", ""),
            LinkAddress("/workspaces/W/new?path=Kitchen%2FDora.md", missing=True),
        ),
        (
            FileReference("standard", False, "../People/Dora & co.md", ""),
            LinkAddress("/workspaces/W/new?path=People%2FDora%20%26%20co.md", missing=True),
        ),
        (
            FileReference("standard", True, "../attachments/cup.png", ""),
            ImageAddress(IMAGE, 30, 20),
        ),
        (FileReference("wiki", True, "cup.png", ""), ImageAddress(IMAGE, 30, 20)),
        (FileReference("standard", False, "../attachments/cup.png", ""), LinkAddress(IMAGE)),
        (FileReference("standard", True, "gone.png", ""), None),
    ],
)
def test_link_leads_to_a_page_of_the_workspace(
    reference: FileReference, address: LinkAddress | ImageAddress | None
) -> None:
    made = site()
    made.put(
        ChangedFile(
            FileId("f9"), True, "note", "Kitchen/Coffee.md", RevisionId("r9"), 9, b"", 0, None, None
        )
    )
    assert address_of("W", made, "Kitchen/Coffee.md", reference) == address


@pytest.mark.parametrize(
    ("kind", "to", "at", "path"),
    [
        ("wiki", "Ben", "a/b.md", "a/Ben.md"),
        ("wiki", "c/Ben", "a/b.md", "c/Ben.md"),
        ("wiki", "Ben.md", "b.md", "Ben.md"),
        ("standard", "Ben.md", "a/b.md", "a/Ben.md"),
        ("standard", "../c/./Ben", "a/b.md", "c/Ben.md"),
        ("standard", "/c/Ben.md", "a/b.md", "c/Ben.md"),
        ("standard", "../../../Ben.md", "a/b.md", "Ben.md"),
    ],
)
def test_missing_note_has_a_path(kind: str, to: str, at: str, path: str) -> None:
    assert missing_path(kind, to, at) == path
