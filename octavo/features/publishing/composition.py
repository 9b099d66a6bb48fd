"""Compose the pages of a published link, with placeholders for what differs between readers."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple
from urllib.parse import quote

from octavo_rules.identity import FileId

from octavo.features.publishing import views
from octavo.features.publishing.rules import PublishedLink
from octavo.features.publishing.sql.site_changes import ChangedFile
from octavo.features.publishing.workspace_map import WorkspaceMap
from octavo.model.files.path import name_of
from octavo.model.links.headings import anchor_of
from octavo.render.obsidian import block_fragment
from octavo.render.references import FileReference, ImageAddress, LinkAddress, place_references
from octavo.render.rendered_note import RenderedNote

WORDS_A_MINUTE = 220
_WHOLE_WORKSPACE = "All notes"
_SHORTEST_OUTLINE = 2
_FIRST = '<meta charset="utf-8">'


class Placeholders(NamedTuple):
    """Texts that stand in a composed page for the token, and for the ticket in a query.

    No note can contain them: they are made of random digits when the process starts.

    Attributes:
        token: for the token, quoted for a path.
        more: for the ticket as a further parameter of a query, or nothing.
        only: for the ticket as the only parameter, with the question mark, or nothing.
    """

    token: str
    more: str
    only: str

    def filled(self, page: bytes, token: str, ticket: str | None) -> bytes:
        """Return a page for one reader; ``ticket`` is None for a link that needs none."""
        quoted = quote(token, safe="").encode()
        # A ticket consists of letters, digits, - and _.
        more = b"" if ticket is None else b"&amp;ticket=" + ticket.encode()
        only = b"" if ticket is None else b"?ticket=" + ticket.encode()
        page = page.replace(self.token.encode(), quoted)
        return page.replace(self.more.encode(), more).replace(self.only.encode(), only)


def placeholders(entropy: bytes) -> Placeholders:
    """Return placeholders made of unpredictable bytes."""
    digits = entropy.hex()
    return Placeholders(f"token{digits}", f"more{digits}", f"only{digits}")


class ViewComposer:
    """Composes views of published files.

    Args:
        places: the placeholders of the pages.
    """

    def __init__(self, places: Placeholders) -> None:
        self.places = places

    @property
    def report(self) -> str:
        """The address of the form to report a link."""
        return f"{self.places.token}/report"

    def moved(self, page: bytes, note: str | None) -> bytes:
        """Return a page with an immediate redirect to its own address.

        Without the redirect, reloading the page or going back to it would send the form again, and
        count another opening.
        """
        query = self.places.only
        if note is not None:
            query = f"?note={escape(quote(note, safe=''))}{self.places.more}"
        address = f"{self.places.token}{query}"
        refresh = f'{_FIRST}<meta http-equiv="refresh" content="0;url={address}">'
        return page.replace(_FIRST.encode(), refresh.encode(), 1)

    def addresses(
        self,
        link: PublishedLink,
        site: WorkspaceMap,
        note: ChangedFile,
        references: Sequence[FileReference],
    ) -> list[LinkAddress | ImageAddress | None]:
        """Return the addresses of references of a note; None for one that leads nowhere."""
        return [self._address(link, site, note, reference) for reference in references]

    def _address(
        self, link: PublishedLink, site: WorkspaceMap, note: ChangedFile, reference: FileReference
    ) -> LinkAddress | ImageAddress | None:
        kind, embed, to, heading = reference
        if not to:
            return LinkAddress(f"#{fragment_of(kind, heading)}") if heading else None
        if embed:
            image = site.linked_image(kind, to, note.path)
            if image is not None:
                return self._image(note, image)
        linked = site.linked_note(link.target, kind, to, note.path)
        if linked is None:
            return None
        fragment = f"#{fragment_of(kind, heading)}" if heading else ""
        if linked.file_id == note.file_id and fragment:
            return LinkAddress(fragment)
        return LinkAddress(f"{self._note(linked.file_id)}{fragment}")

    def _image(self, note: ChangedFile, image: ChangedFile) -> ImageAddress:
        path = f"{self.places.token}/attachments/{image.file_id}/{image.revision_id}"
        source = f"{path}?note={note.file_id}{self.places.more}"
        return ImageAddress(source, image.width or 0, image.height or 0)

    def _note(self, file_id: FileId) -> str:
        return f"{self.places.token}?note={file_id}{self.places.more}"

    def note(
        self,
        link: PublishedLink,
        site: WorkspaceMap,
        note: ChangedFile,
        rendered: RenderedNote | None,
        html: str,
    ) -> views.NoteView:
        """Return the view of a note; without ``rendered``, ``html`` is its text as written."""
        crumbs: list[views.Crumb] = []
        previous = following = None
        if link.target.kind == "folder":
            folder = link.target.path
            crumbs = self._crumbs(folder, note.path)
            before, after = site.neighbours(folder, note)
            previous, following = self._neighbour(before), self._neighbour(after)
        outline: Sequence[views.OutlineEntry] = ()
        if rendered is not None and len(rendered.outline) >= _SHORTEST_OUTLINE:
            outline = [views.OutlineEntry(*heading) for heading in rendered.outline]
        return views.NoteView(
            title=(rendered.title if rendered is not None else "") or name_of(note.path),
            html=html,
            language=None if rendered is None else rendered.language,
            description="" if rendered is None else rendered.description,
            minutes=1 if rendered is None else max(1, round(rendered.words / WORDS_A_MINUTE)),
            changed_at=note.changed_at,
            outline=outline,
            label=link.label,
            crumbs=crumbs,
            previous=previous,
            following=following,
            report=self.report,
            plain=rendered is None,
        )

    def _crumbs(self, folder: str, path: str) -> list[views.Crumb]:
        below = path[len(folder) :].lstrip("/") if folder else path
        top = views.Crumb(_folder_name(folder), f"{self.places.token}{self.places.only}")
        names = below.split("/")[:-1]
        within = [
            views.Crumb(name, f"{top.address}#{views.folder_anchor(names[:depth])}")
            for depth, name in enumerate(names, 1)
        ]
        return [top, *within]

    def _neighbour(self, note: ChangedFile | None) -> views.Crumb | None:
        return None if note is None else views.Crumb(name_of(note.path), self._note(note.file_id))

    def folder(self, link: PublishedLink, notes: Sequence[ChangedFile]) -> views.FolderView:
        """Return the view of a folder link: the list of the notes below the folder."""
        folder = link.target.path
        entries = [
            (note.path[len(folder) :].lstrip("/").split("/")[:-1], self._entry(note))
            for note in notes
        ]
        return views.FolderView(
            _tree(_folder_name(folder), entries), len(notes), link.label, self.report
        )

    def _entry(self, note: ChangedFile) -> views.NoteEntry:
        return views.NoteEntry(name_of(note.path), self._note(note.file_id))


def body_of(rendered: RenderedNote, addresses: Sequence[LinkAddress | ImageAddress | None]) -> str:
    """Return the HTML of a note with its addresses."""

    def address_of(number: int) -> LinkAddress | ImageAddress | None:
        return addresses[number] if 0 <= number < len(addresses) else None

    return place_references(rendered.html, address_of)


def fragment_of(kind: str, heading: str) -> str:
    """Return the fragment of a link to a heading or a block, without the number sign."""
    block = block_fragment(heading) if kind == "wiki" else None
    if block is not None:
        return block
    anchor = anchor_of(heading.rpartition("#")[2]) if kind == "wiki" else heading
    return quote(anchor, safe="")


def _folder_name(folder: str) -> str:
    return folder.rpartition("/")[2] or _WHOLE_WORKSPACE


def _tree(name: str, entries: Sequence[tuple[Sequence[str], views.NoteEntry]]) -> views.FolderEntry:
    """Return the tree of entries, each of which comes with the names of its folders."""
    notes = [entry for folders, entry in entries if not folders]
    below: dict[str, list[tuple[Sequence[str], views.NoteEntry]]] = {}
    for folders, entry in entries:
        if folders:
            below.setdefault(folders[0], []).append((folders[1:], entry))
    return views.FolderEntry(name, [_tree(folder, inner) for folder, inner in below.items()], notes)
