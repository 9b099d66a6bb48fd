"""What the pages of a published link show.

Every address is relative to the page, or made of placeholders for the token and the ticket, which
are replaced when the page is sent: one page can be kept for all readers of a link.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol
from urllib.parse import quote


def folder_anchor(names: Sequence[str]) -> str:
    """Return the anchor of a folder in the list of a link; ``names`` lead to it from the top."""
    return f"in/{quote('/'.join(names))}"


class OutlineEntry(NamedTuple):
    """A heading of a note: its level (1 to 6), its plain text, and its anchor."""

    level: int
    text: str
    anchor: str


class Crumb(NamedTuple):
    """A name with the address of its page, or of its place in one."""

    name: str
    address: str


@dataclass(frozen=True, slots=True)
class NoteView:
    """A published note.

    Attributes:
        title: of the note, plain text.
        html: the body without its title, safe to be included in a page.
        language: the tag of its language (RFC 5646), if the note names one.
        description: the beginning of its text, plain; may be empty.
        minutes: to read it, at least 1.
        changed_at: when the text last changed, in milliseconds of Unix time.
        outline: the headings of ``html``; empty if there is nothing to choose from.
        label: what the person who published it calls the link, for readers.
        crumbs: the way from the list of a folder link to the note, without the note; empty for the
            link of one note.
        previous: the note before it in the list of a folder link.
        following: the note after it.
        report: the address of the form to report the link.
        plain: the note can't be rendered: ``html`` is its text as it was written.
    """

    title: str
    html: str
    language: str | None
    description: str
    minutes: int
    changed_at: int
    outline: Sequence[OutlineEntry]
    label: str | None
    crumbs: Sequence[Crumb]
    previous: Crumb | None
    following: Crumb | None
    report: str
    plain: bool = False


class NoteEntry(NamedTuple):
    """A note in the list of a folder link."""

    name: str
    address: str


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """A folder in the list of a folder link, with everything in it."""

    name: str
    folders: Sequence["FolderEntry"]
    notes: Sequence[NoteEntry]


@dataclass(frozen=True, slots=True)
class FolderView:
    """The notes that a folder link opens.

    Attributes:
        folder: the published folder itself; its name is the last segment of its path.
        count: the number of notes.
        label: what the person who published it calls the link, for readers.
        report: the address of the form to report the link.
    """

    folder: FolderEntry
    count: int
    label: str | None
    report: str


class PublishedPages(Protocol):
    """The HTML of the pages that readers of published links see."""

    def note(self, view: NoteView) -> str:
        """Return the page of a note."""

    def folder(self, view: FolderView) -> str:
        """Return the page that lists the notes of a folder link."""

    def closed(self, report: str) -> str:
        """Return the one page of every link that opens nothing, or nothing yet.

        Its form sends the field ``password``, which may be empty, to the address of the page.
        ``report`` is the address of the form to report the link.
        """

    def report(self) -> str:
        """Return the form to report a link, which is sent to the address of the page.

        Its fields are ``reason``, one of `REASONS`, and ``note``.
        """

    def reported(self) -> str:
        """Return the page that follows the form."""

    def refused(self, title: str, detail: str, request_id: str) -> str:
        """Return the page of a request that was refused: why, and what to do, as plain text."""
