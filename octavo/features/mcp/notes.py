"""What the tools and resources need of notes: the interface, its values and its refusals.

`api.mcp_notes` implements it with the operations of the API, so that rights, limits and
metering are those of any other client.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

T = TypeVar("T")


class NotesRefused(Exception):
    """An operation was refused, for a reason that a model can act on.

    Attributes:
        code: of the problem; stable.
        detail: what is wrong, for people.
        members: further members of the problem.
    """

    def __init__(self, code: str, detail: str, members: Mapping[str, object]) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.members = members


@dataclass(frozen=True, slots=True)
class EntryPage(Generic[T]):
    """A page of a list; ``next`` is the cursor of the following page, None on the last."""

    items: Sequence[T]
    next: str | None


class WorkspaceEntry(NamedTuple):
    """A workspace that the account can see, and the account's role in it."""

    workspace_id: str
    name: str
    role: str


class ListedNote(NamedTuple):
    """A live note, without its text; ``size`` is in bytes."""

    file_id: str
    path: str
    revision_id: str
    size: int
    changed_at: str


class NoteContent(NamedTuple):
    """A note at its head, or at one of its revisions."""

    file_id: str
    path: str
    revision_id: str
    changed_at: str
    text: str


class SearchHit(NamedTuple):
    """A note that matches a query; the title is None without a heading."""

    workspace_id: str
    file_id: str
    path: str
    title: str | None


class NoteBackLink(NamedTuple):
    """A link to a note, and the note that contains it."""

    file_id: str
    path: str
    title: str | None
    target: str
    heading: str | None


class RecentChange(NamedTuple):
    """The state of a file at the position of its last change; the path of a purged one is None."""

    position: int
    file_id: str
    path: str | None
    is_note: bool
    state: str
    revision_id: str
    changed_at: str


class Changes(NamedTuple):
    """Files by the position of their last change, oldest first.

    ``next`` is the position up to which they are complete, ``position`` that of the workspace.
    """

    files: Sequence[RecentChange]
    next: int
    position: int


class PastRevision(NamedTuple):
    """A revision of a note; the author is None for a removed account.

    The program is the one that made it by this endpoint, None for any other origin.
    """

    revision_id: str
    path: str | None
    size: int
    author: str | None
    origin: str
    program: str | None
    created_at: str


class NoteChange(NamedTuple):
    """The result of a change: the new head."""

    file_id: str
    path: str | None
    revision_id: str
    outcome: str


class Notes(Protocol):
    """The notes that one caller can reach, with the caller's rights.

    Identifiers are UUIDs in their canonical form. Cursors are those of a previous page. Every
    method raises `NotesRefused`; other refusals, such as a used-up limit, end the request. A
    cancelled change may have been made.
    """

    async def workspaces(self, after: str | None, limit: int) -> EntryPage[WorkspaceEntry]:
        """Return a page of the workspaces, oldest first."""

    async def notes(
        self, workspace_id: str, prefix: str, after: str | None, limit: int
    ) -> EntryPage[ListedNote]:
        """Return a page of the live notes whose paths start with ``prefix``, sorted by path.

        Other files are left out, so that a page may have fewer notes than ``limit``.
        """

    async def note(self, workspace_id: str, file_id: str) -> NoteContent:
        """Return a live note at its head."""

    async def revision(self, workspace_id: str, file_id: str, revision_id: str) -> NoteContent:
        """Return a note at one of its revisions."""

    async def search(self, query: str, limit: int) -> Sequence[SearchHit]:
        """Return matching notes of all workspaces, best first."""

    async def back_links(
        self, workspace_id: str, file_id: str, after: str | None, limit: int
    ) -> EntryPage[NoteBackLink]:
        """Return a page of the links to a note."""

    async def changes(self, workspace_id: str, after: int, limit: int) -> Changes:
        """Return the files changed after a position; those of one position are never split."""

    async def revisions(
        self, workspace_id: str, file_id: str, after: str | None, limit: int
    ) -> EntryPage[PastRevision]:
        """Return a page of the revisions of a note, newest first."""

    async def create(self, workspace_id: str, path: str, text: str) -> NoteChange:
        """Create a note."""

    async def update(self, workspace_id: str, file_id: str, expected: str, text: str) -> NoteChange:
        """Replace the text of a note whose head is the revision ``expected``."""

    async def move(self, workspace_id: str, file_id: str, expected: str, path: str) -> NoteChange:
        """Move a note; links to it, and its own, are rewritten."""

    async def delete(self, workspace_id: str, file_id: str, expected: str) -> NoteChange:
        """Delete a note; its revisions remain."""

    def address(self, workspace_id: str, file_id: str) -> str:
        """Return the URL of a note."""
