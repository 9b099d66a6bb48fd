"""What the pages of the notes of a workspace have in common: the tree, and who may write."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from octavo_rules.identity import RANDOM_BYTES, FileId, WorkspaceId, uuid7
from octavo_rules.problems import Forbidden, Problem
from octavo_rules.schemas import Workspace, WorkspaceFile
from quart import Response

from octavo.access.ports import Clock, NewEntropy, milliseconds
from octavo.features.files.api.files import NoteTexts
from octavo.features.notes.member_notes import Level, MemberNotes, NoteBody, OpenNote
from octavo.http.pages.page_registry import PageRegistry, Visitor
from octavo.http.pages.responses import FormErrors, report, show
from octavo.http.pages.workspace_paths import LIST, path_of, workspace_of
from octavo.http.refusals import failures_as_problems
from octavo.model.files.path import Kind, name_of
from octavo.model.refusal import FilePurged
from octavo.model.workspace import grants

MOST_IN_TREE = 60
"""Folders, and notes, of one folder in the tree; its page lists the others."""

MOST_SUGGESTED = 200
"""Folders that a field suggests."""

WAYS: Mapping[str, str] = {
    "device": "with a device",
    "page": "in the browser",
    "key": "with a key",
    "import": "with an import",
    "mcp": "with a program",
    "restore": "with a restoration",
}
"""How a revision was made, by its origin."""

ERASED = FilePurged
"""The problem of a file that was erased for good."""
NOUNS: Mapping[Kind, str] = {"note": "note", "attachment": "image"}
"""What a file is called, by its kind."""


class TreeNote(NamedTuple):
    """A note in the tree."""

    name: str
    file_id: str


@dataclass(frozen=True, slots=True)
class TreeFolder:
    """A folder in the tree; ``within`` is None for a closed one."""

    name: str
    path: str
    address: str
    notes: int
    within: "NoteTree | None"


@dataclass(frozen=True, slots=True)
class NoteTree:
    """What is directly in a folder; ``more`` says how much of it the tree leaves out."""

    path: str
    folders: Sequence[TreeFolder]
    notes: Sequence[TreeNote]
    more: int


@dataclass(frozen=True, slots=True)
class NotePages:
    """Serves the pages of notes.

    Attributes:
        site: registers them.
        notes: shows folders and notes.
        now: the clock, in seconds of Unix time.
        new_entropy: returns entropy for identifiers.
        texts: checks texts.
    """

    site: PageRegistry
    notes: MemberNotes
    now: Clock
    new_entropy: NewEntropy
    texts: NoteTexts = field(default_factory=NoteTexts)

    def new_id(self) -> str:
        """Return a new identifier, such as that of a change."""
        return uuid7(milliseconds(self.now()), self.new_entropy()[:RANDOM_BYTES])

    async def show(
        self,
        template: str,
        workspace: Workspace,
        *,
        folder: str = "",
        here: str = "",
        levels: Sequence[Level] | None = None,
        trouble: FormErrors | None = None,
        status: int = 200,
        **context: object,
    ) -> Response:
        """Return a page with the tree open at ``folder``; ``here`` is the id of its note."""
        if levels is None:
            levels = await self.way(workspace.id, folder)
        return await show(
            template,
            trouble=trouble,
            status=status,
            workspace=workspace,
            base=path_of(workspace.id),
            folder=folder,
            current=here,
            tree=tree_of(levels),
            may_write=grants(workspace.role, "write"),
            manages=grants(workspace.role, "manage"),
            ways=WAYS,
            **context,
        )

    async def show_erased(self, workspace: Workspace, file_id: str, kind: Kind) -> Response:
        """Return the page of a file that was erased for good."""
        report(ERASED.code)
        return await self.show(
            "notes/erased.html",
            workspace,
            here=str(file_id),
            status=ERASED.status,
            noun=NOUNS[kind],
            crumbs=crumbs_of(workspace, ""),
        )

    async def way(self, workspace_id: str, folder: str) -> Sequence[Level]:
        """Return the folders down to one. Raises a problem if the database is unavailable."""
        with failures_as_problems():
            return await self.notes.way(WorkspaceId(workspace_id), folder)

    async def folders(self, workspace_id: str) -> list[str]:
        """Return folders for a field with suggestions. Raises the same problem as `way`."""
        with failures_as_problems():
            return await self.notes.folders(WorkspaceId(workspace_id), MOST_SUGGESTED)

    async def open_note(self, workspace_id: str, file_id: str, folder: str) -> OpenNote:
        """Return a note as HTML, with the folders above it. Raises problems."""
        with failures_as_problems():
            return await self.notes.open_note(WorkspaceId(workspace_id), FileId(file_id), folder)

    async def title(self, workspace_id: str, file_id: str, path: str) -> str:
        """Return the title of a live note; without one, or if that fails, the name of the file."""
        try:
            with failures_as_problems():
                title = await self.notes.title(WorkspaceId(workspace_id), FileId(str(file_id)))
        except Problem:
            title = ""
        return title or name_of(path)

    async def known_title(self, workspace_id: str, file_id: str, path: str) -> str:
        """Return the title of a live note if it was rendered before; else the name of the file."""
        try:
            with failures_as_problems():
                title = await self.notes.known_title(WorkspaceId(workspace_id), FileId(file_id))
        except Problem:
            title = ""
        return title or name_of(path)

    async def preview(self, workspace_id: str, path: str, text: str) -> NoteBody | None:
        """Return a text as HTML; None if it is shown as it was written.

        Raises problems, also those of a text that can't be saved.
        """
        with failures_as_problems():
            await self.texts.content(text)
            return await self.notes.preview(WorkspaceId(workspace_id), path, text)


async def note_of(visitor: Visitor, workspace_id: str, file_id: str) -> WorkspaceFile:
    """Return a live file with its text. Raises `NotFound` and `FilePurged`."""
    path = f"{file_path(workspace_id, file_id)}"
    return await visitor.api.get(WorkspaceFile, path, content="text")


async def writable(visitor: Visitor, workspace_id: str) -> Workspace:
    """Return a workspace in which the visitor may write. Raises `NotFound` and `Forbidden`."""
    workspace = await workspace_of(visitor, workspace_id)
    if not grants(workspace.role, "write"):
        raise Forbidden("You may read the notes of this workspace, but not change them.")
    return workspace


def identifier(text: str) -> str | None:
    """Return an identifier that a form sent; None if it is not valid."""
    try:
        return text if str(UUID(text)) == text else None
    except ValueError:
        return None


def file_path(workspace_id: str, file_id: str) -> str:
    """Return the path of a file in the API."""
    return f"{LIST}/{workspace_id}/files/{file_id}"


def folder_of(path: str) -> str:
    """Return the folder of a file; '' for one at the top."""
    return path.rpartition("/")[0]


def crumbs_of(workspace: Workspace, folder: str) -> list[tuple[str, str]]:
    """Return the way from the workspace to a folder: query and name of each."""
    crumbs = [("", workspace.name)]
    names = folder.split("/") if folder else []
    crumbs += [("/".join(names[: depth + 1]), name) for depth, name in enumerate(names)]
    return crumbs


def tree_of(levels: Sequence[Level]) -> NoteTree:
    """Return the tree that is open along a way."""
    inner: NoteTree | None = None
    for level in reversed(levels):
        inner = _opened(level, inner)
    return inner or NoteTree("", (), (), 0)


def _opened(level: Level, inner: NoteTree | None) -> NoteTree:
    folders: list[TreeFolder] = []
    left_out = 0
    for count, folder in enumerate(level.contents.folders):
        path = f"{level.path}/{folder.name}".lstrip("/")
        within = inner if inner is not None and inner.path == path else None
        if count < MOST_IN_TREE or within is not None:
            folders.append(TreeFolder(folder.name, path, folder.address, folder.notes, within))
        else:
            left_out += 1
    notes = level.contents.notes
    shown = [TreeNote(name_of(note.path), note.file_id) for note in notes[:MOST_IN_TREE]]
    return NoteTree(level.path, folders, shown, left_out + len(notes) - len(shown))


def plain(visitor: Visitor, name: str) -> str:
    """Return a text field as notes have it: browsers send lines that end with CR LF."""
    return with_line_feeds(visitor.form.get(name, ""))


def with_line_feeds(text: str) -> str:
    """Return a text whose lines all end with LF."""
    if "\r" not in text:
        return text
    text = text.replace("\r\n", "\n")
    return text.replace("\r", "\n") if "\r" in text else text
