"""The composed pages of published links, kept until something on them changes."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import NamedTuple

import trio
from attrs import define, field
from octavo_rules.identity import FileId, RevisionId

from octavo.features.publishing.composition import ViewComposer, body_of
from octavo.features.publishing.link_access import LinkAccess
from octavo.features.publishing.renderings import RenderingPostponed, Renderings, TextGone
from octavo.features.publishing.rules import PublicationId
from octavo.features.publishing.sql import rendered_notes
from octavo.features.publishing.sql.publications import ReadableLink
from octavo.features.publishing.sql.rendered_notes import TextSource
from octavo.features.publishing.sql.site_changes import ChangedFile
from octavo.features.publishing.views import PublishedPages
from octavo.features.publishing.workspace_map import WorkspaceMap
from octavo.render.front_matter import split_front_matter
from octavo.render.obsidian import without_comments
from octavo.render.references import ImageAddress, LinkAddress
from octavo.store import Store
from octavo.store.compression import decompressed
from octavo.store.content_cache import ContentCache

MEMORY_BYTES = 32 * 1024 * 1024
"""Bytes of composed pages that are kept."""
LARGE = 256 * 1024
"""Characters of HTML above which a note is composed in a thread."""
LONG = 2_000
"""Number of notes above which a list is composed in a thread."""
STEP = 500
"""References that are resolved between two checkpoints."""
_TRIES = 5


class _Kept(NamedTuple):
    """A composed page, and what it was composed from.

    ``revision_id`` is that of the note, None for a list; ``shape`` is that of the map, ``folder``
    the path of the published folder.
    """

    revision_id: RevisionId | None
    shape: int
    folder: str
    page: bytes


class _MapMoved(Exception):
    """The map of the workspace changed while a page was composed."""


@define(eq=False)
class ComposedPages:
    """Composes pages, and keeps them for all readers of a link.

    Args:
        store: the database.
        access: reads a link again when its workspace has changed.
        pages: returns the HTML of pages.
        composer: composes their views.
        renderings: the HTML of notes.
    """

    _store: Store
    _access: LinkAccess
    _pages: Callable[[], Awaitable[PublishedPages]]
    _composer: ViewComposer
    _renderings: Renderings
    _kept: ContentCache[tuple[PublicationId, FileId | None], _Kept] = field(
        factory=lambda: ContentCache(lambda kept: len(kept.page), MEMORY_BYTES), init=False
    )

    async def get(self, link: ReadableLink, token: str, note: str | None) -> bytes | None:
        """Return the page of a note or of a list, with placeholders; None if it opens none.

        Args:
            link: the result of `LinkAccess` for ``token``.
            token: of the link; it is read again by it when its workspace has changed.
            note: the id of a note of a folder link; None for the list, or for the published note.

        Raises `RenderingPostponed`, also for a note that changes again and again, `TextDamaged` and
        `StoreUnavailable`. Cancellation changes nothing.
        """
        for _ in range(_TRIES):
            mapped = await self._access.mapped(link, token)
            if mapped is None:
                return None
            link, site = mapped
            target = link.link.target
            file_id = FileId(note) if note is not None else target.file_id
            file = None if file_id is None else site.note(target, file_id)
            if file is None and file_id is not None:
                return None
            revision_id = None if file is None else file.revision_id
            key = (link.link.publication_id, file_id)
            kept = self._kept.get(key)
            if kept is not None and kept[:3] == (revision_id, site.shape, target.path):
                return kept.page
            shape = site.shape
            try:
                page = await self._compose(link, site, file)
            except (TextGone, _MapMoved):
                again = await self._access.find(token)
                if again is None:
                    return None
                link = again
                continue
            if page is not None:
                kept = _Kept(revision_id, shape, target.path, page)
                self._kept.keep(key, kept, self._kept.generation)
            return page
        raise RenderingPostponed

    def drop_unused(self) -> None:
        """Forget the pages that were not used since the previous call: they may be deleted."""
        self._kept.drop_unused()

    async def _compose(
        self, link: ReadableLink, site: WorkspaceMap, file: ChangedFile | None
    ) -> bytes | None:
        """Return a page of a link. Raises `TextGone`, and `_MapMoved` if ``site`` has changed."""
        shape = site.shape
        pages = await self._pages()
        if file is None:
            if site.shape != shape:
                raise _MapMoved
            notes = site.notes_below(link.link.target.path)
            if not notes:
                return None

            def listed() -> bytes:
                return pages.folder(self._composer.folder(link.link, notes)).encode()

            return await _composed(listed, in_thread=len(notes) > LONG)
        source = TextSource(link.workspace, file.file_id, file.content, file.digest)
        rendered = await self._renderings.get(source)
        if rendered is None:
            text = await self._text(source)
            if site.shape != shape:
                raise _MapMoved
            return pages.note(self._composer.note(link.link, site, file, None, text)).encode()
        addresses: list[LinkAddress | ImageAddress | None] = []
        for at in range(0, len(rendered.references) or 1, STEP):
            if at:
                await trio.lowlevel.checkpoint()
            if site.shape != shape:
                raise _MapMoved
            some = rendered.references[at : at + STEP]
            addresses += self._composer.addresses(link.link, site, file, some)
        view = self._composer.note(link.link, site, file, rendered, "")

        def whole() -> bytes:
            return pages.note(replace(view, html=body_of(rendered, addresses))).encode()

        return await _composed(whole, in_thread=len(rendered.html) > LARGE)

    async def _text(self, source: TextSource) -> str:
        """Return the source of a note, without front matter and comments."""
        data = await self._store.read(rendered_notes.text_to_render(source))
        if data is None:
            raise TextGone
        return without_comments(split_front_matter(decompressed(data, source.file_id)).body)


async def _composed(compose: Callable[[], bytes], *, in_thread: bool) -> bytes:
    if in_thread:
        return await trio.to_thread.run_sync(compose, abandon_on_cancel=True)
    return compose()
