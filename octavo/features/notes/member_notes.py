"""The notes of a workspace as its members see them in a browser: folders, and notes as HTML.

Links lead to the pages of the workspace. The caller checks who may see them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import quote, urlencode

import trio
from octavo_rules.identity import FileId, WorkspaceId

from octavo.features.publishing.composition import body_of, fragment_of
from octavo.features.publishing.renderings import RenderingPostponed, Renderings, TextGone
from octavo.features.publishing.rules import LinkTarget
from octavo.features.publishing.sql.rendered_notes import TextSource
from octavo.features.publishing.sql.site_changes import place_of
from octavo.features.publishing.workspace_map import FolderContents, WorkspaceMap, WorkspaceMaps
from octavo.model.files.path import NOTE_SUFFIX
from octavo.render.references import FileReference, ImageAddress, LinkAddress
from octavo.render.rendered_note import OutlineHeading, RenderedNote
from octavo.store import Store

_EVERYTHING: Final = LinkTarget("folder", None, "")
_STEP = 500
"""References that are resolved between two checkpoints."""
_FOLDERS = 20
"""Folders that are read between two checkpoints."""
_TRIES = 4


class Level(NamedTuple):
    """A folder on the way to a place, with what is directly in it."""

    path: str
    contents: FolderContents


@dataclass(frozen=True, slots=True)
class NoteBody:
    """A note as HTML.

    Attributes:
        title: plain text; may be empty.
        html: its body without the title, safe to be included in a page.
        outline: its headings.
        language: the tag of its language, if it names one.
    """

    title: str
    html: str
    outline: Sequence[OutlineHeading]
    language: str | None


class OpenNote(NamedTuple):
    """A note, and the folders above it.

    Attributes:
        body: None if it is to be shown as it was written, or is gone.
        levels: the folders down to it, as `MemberNotes.way` returns them.
    """

    body: NoteBody | None
    levels: Sequence[Level]


class _Source(NamedTuple):
    """The text of a live note, and where it is."""

    site: WorkspaceMap
    path: str
    source: TextSource


class _Rendered(NamedTuple):
    """A rendered note, and where it is."""

    site: WorkspaceMap
    path: str
    note: RenderedNote


class MemberNotes:
    """Shows the notes of workspaces to their members.

    Every method raises `octavo.store.StoreUnavailable`. Cancellation changes nothing.

    Args:
        store: the database.
        sites: the maps of the workspaces.
        renderings: the HTML of notes.
    """

    def __init__(self, store: Store, sites: WorkspaceMaps, renderings: Renderings) -> None:
        self._store = store
        self._sites = sites
        self._renderings = renderings

    async def way(self, workspace_id: WorkspaceId, folder: str) -> list[Level]:
        """Return the folders from the top of a workspace down to ``folder``, with their contents.

        A folder exists as long as notes are in it: the way ends before one that has none.
        """
        place = await self._place(workspace_id)
        return [Level("", FolderContents([], []))] if place is None else _levels(place[1], folder)

    async def folders(self, workspace_id: WorkspaceId, most: int) -> list[str]:
        """Return the paths of at most ``most`` folders of a workspace, the upper ones first."""
        place = await self._place(workspace_id)
        if place is None:
            return []
        paths = [""]
        for at, path in enumerate(paths):
            if len(paths) > most:
                break
            for folder in place[1].folder(path).folders:
                paths.append(f"{path}/{folder.name}".lstrip("/"))  # noqa: PERF401
            if at % _FOLDERS == _FOLDERS - 1:
                await trio.lowlevel.checkpoint()
        return paths[1 : most + 1]

    async def open_note(self, workspace_id: WorkspaceId, file_id: FileId, folder: str) -> OpenNote:
        """Return a live note as HTML, with the folders down to ``folder``, in which it should be.

        Raises `RenderingPostponed` and `octavo.store.TextDamaged`.
        """
        rendered = await self._rendered(workspace_id, file_id)
        if rendered is None:
            return OpenNote(None, await self.way(workspace_id, folder))
        body = await self._placed(workspace_id, *rendered)
        return OpenNote(body, _levels(rendered.site, folder))

    async def title(self, workspace_id: WorkspaceId, file_id: FileId) -> str:
        """Return the title of a live note; '' if it has none, or does not exist.

        Raises the same errors as `open_note`.
        """
        rendered = await self._rendered(workspace_id, file_id)
        return "" if rendered is None else rendered.note.title

    async def known_title(self, workspace_id: WorkspaceId, file_id: FileId) -> str:
        """Return the title of a live note that was rendered before; '' otherwise."""
        source = await self._source(workspace_id, file_id)
        rendered = None if source is None else await self._renderings.known(source.source)
        return "" if rendered is None else rendered.title

    async def preview(self, workspace_id: WorkspaceId, path: str, text: str) -> NoteBody | None:
        """Return an unsaved text as HTML, as a note at ``path`` would be shown.

        Return None if it is to be shown as it was written. Raises `RenderingPostponed`.
        """
        place = await self._place(workspace_id)
        if place is None:
            return None
        number, site = place
        rendered = await self._renderings.preview(number, text)
        if rendered is None:
            return None
        return await self._placed(workspace_id, site, path, rendered)

    async def _rendered(self, workspace_id: WorkspaceId, file_id: FileId) -> _Rendered | None:
        for _ in range(_TRIES):
            source = await self._source(workspace_id, file_id)
            if source is None:
                return None
            try:
                rendered = await self._renderings.get(source.source)
            except TextGone:
                continue
            return None if rendered is None else _Rendered(source.site, source.path, rendered)
        raise RenderingPostponed

    async def _source(self, workspace_id: WorkspaceId, file_id: FileId) -> _Source | None:
        """Return where the text of a live note is; None without the note."""
        place = await self._place(workspace_id)
        file = None if place is None else place[1].file(file_id)
        if place is None or file is None or file.kind != "note":
            return None
        number, site = place
        return _Source(site, file.path, TextSource(number, file_id, file.content, file.digest))

    async def _place(self, workspace_id: WorkspaceId) -> tuple[int, WorkspaceMap] | None:
        place = await self._store.read(place_of(workspace_id))
        if place is None:
            return None
        return place[0], await self._sites.get(*place)

    async def _placed(
        self, workspace_id: WorkspaceId, site: WorkspaceMap, path: str, rendered: RenderedNote
    ) -> NoteBody:
        """Return a rendered note with the addresses of the pages that it links to."""
        addresses: list[LinkAddress | ImageAddress | None] = []
        for at, reference in enumerate(rendered.references):
            if at % _STEP == _STEP - 1:
                await trio.lowlevel.checkpoint()
            addresses.append(address_of(workspace_id, site, path, reference))
        return NoteBody(
            rendered.title, body_of(rendered, addresses), rendered.outline, rendered.language
        )


def _levels(site: WorkspaceMap, folder: str) -> list[Level]:
    levels = [Level("", site.folder(""))]
    names = folder.split("/") if folder else []
    for depth in range(1, len(names) + 1):
        path = "/".join(names[:depth])
        contents = site.folder(path)
        if not contents.folders and not contents.notes:
            break
        levels.append(Level(path, contents))
    return levels


def address_of(
    workspace_id: str, site: WorkspaceMap, path: str, reference: FileReference
) -> LinkAddress | ImageAddress | None:
    """Return where a reference of the note at ``path`` leads.

    A link to no file leads to the form that creates the note.
    """
    base = f"/workspaces/{workspace_id}"
    kind, embed, to, heading = reference
    fragment = f"#{fragment_of(kind, heading)}" if heading else ""
    if not to:
        return LinkAddress(fragment) if fragment else None
    image = site.linked_image(kind, to, path)
    if image is not None:
        place = f"/api/workspaces/{workspace_id}/files/{image.file_id}"
        source = f"{place}/content?revision={image.revision_id}"
        if embed:
            return ImageAddress(source, image.width or 0, image.height or 0)
        return LinkAddress(source)
    note = site.linked_note(_EVERYTHING, kind, to, path)
    if note is not None:
        if note.path == path and fragment:
            return LinkAddress(fragment)
        return LinkAddress(f"{base}/notes/{note.file_id}{fragment}")
    if embed and kind == "standard":
        return None
    query = urlencode({"path": missing_path(kind, to, path)}, quote_via=quote)
    return LinkAddress(f"{base}/new?{query}", missing=True)


def missing_path(kind: str, to: str, path: str) -> str:
    """Return the path that a note would need for a link of the note at ``path`` to lead to it.

    A wiki link with a name alone leads to a note in the same folder.
    """
    folder = path.rpartition("/")[0]
    if kind == "wiki":
        wanted = to.strip("/") if "/" in to else f"{folder}/{to}".lstrip("/")
    else:
        names = [] if to.startswith("/") else [name for name in folder.split("/") if name]
        for name in to.split("/"):
            if name == "..":
                names = names[:-1]
            elif name not in ("", "."):
                names.append(name)
        wanted = "/".join(names)
    return wanted if wanted.lower().endswith(NOTE_SUFFIX) else wanted + NOTE_SUFFIX
