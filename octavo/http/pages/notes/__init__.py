"""The notes of a workspace in a browser: read, write, search and restore them, without script."""

from octavo.http.pages.notes.deleting import add_deletion_pages
from octavo.http.pages.notes.editing import NoteEditing
from octavo.http.pages.notes.example import add_example
from octavo.http.pages.notes.finding import add_finding_pages
from octavo.http.pages.notes.folders import add_folder_pages
from octavo.http.pages.notes.frame import NotePages
from octavo.http.pages.notes.history import add_history_pages
from octavo.http.pages.notes.images import add_image_pages
from octavo.http.pages.notes.moving import add_move_pages
from octavo.http.pages.notes.reading import add_note_page
from octavo.http.pages.notes.restoring import add_restoration_pages
from octavo.http.pages.notes.transfers import add_transfer_pages


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
