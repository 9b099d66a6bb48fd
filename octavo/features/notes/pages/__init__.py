"""The pages of a workspace: read, write, search and restore notes, without a script."""

from octavo.features.notes.pages.editing import NoteEditing
from octavo.features.notes.pages.example import add_example
from octavo.features.notes.pages.finding import add_finding_pages
from octavo.features.notes.pages.folders import add_folder_pages
from octavo.features.notes.pages.frame import NotePages
from octavo.features.notes.pages.images import add_image_pages
from octavo.features.notes.pages.moving import add_deletion_pages, add_move_pages
from octavo.features.notes.pages.note import add_history_pages, add_note_page
from octavo.features.notes.pages.restoring import add_restoration_pages
from octavo.features.notes.pages.transfers import add_transfer_pages


def add_note_pages(pages: NotePages) -> None:
    """Serve the pages of notes."""
    add_folder_pages(pages)
    add_note_page(pages)
    NoteEditing(pages).add(pages.site)
    add_move_pages(pages)
    add_deletion_pages(pages)
    add_history_pages(pages)
    add_restoration_pages(pages)
    add_finding_pages(pages)
    add_image_pages(pages)
    add_transfer_pages(pages)
    add_example(pages)
