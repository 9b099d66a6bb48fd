"""The pages of a workspace: the one feature that shows all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.access.entropy import new_entropy, now
from octavo.features.notes.member_notes import MemberNotes
from octavo.http.pages.menus import WORKSPACE, MenuEntry, members_with
from octavo.kernel import Feature, Kernel, Parts

if TYPE_CHECKING:
    from octavo.features.publishing.feature import Publishing
    from octavo.http.pages.page_registry import PageRegistry

FEATURE = Feature(
    "notes",
    menu=[
        MenuEntry("workspace", "Notes", WORKSPACE, 10),
        MenuEntry("notes", "Recent changes", f"{WORKSPACE}/recent", 10, access_key="r"),
        MenuEntry("notes", "Images", f"{WORKSPACE}/images", 20),
        MenuEntry("notes", "Unresolved links", f"{WORKSPACE}/unresolved", 30),
        MenuEntry("notes", "Deleted notes and images", f"{WORKSPACE}/deleted", 40),
        MenuEntry("notes", "Import and export", f"{WORKSPACE}/transfers", 50),
        MenuEntry(
            "notes",
            "Restore to an earlier moment",
            f"{WORKSPACE}/restore",
            60,
            members_with("write"),
        ),
        MenuEntry("notes", "Keyboard shortcuts", "/shortcuts", 100),
    ],
)


def notes_feature(kernel: Kernel, publishing: Publishing) -> Parts:
    """Return the feature."""
    notes = MemberNotes(kernel.store, publishing.sites, publishing.renderings)

    def add_pages(site: PageRegistry) -> None:
        from octavo.features.notes.pages import add_note_pages
        from octavo.features.notes.pages.frame import NotePages

        add_note_pages(NotePages(site, notes, now, new_entropy))

    return Parts(pages=add_pages)
