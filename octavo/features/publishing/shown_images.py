"""Which images the published notes show: each request for one is proven by a text."""

from collections import OrderedDict

import trio
from octavo_rules.identity import FileId, RevisionId

from octavo.features.links.sql.link_queries import FIRST, back_links
from octavo.features.links.sql.link_view import LinksOutdated
from octavo.features.publishing.renderings import Renderings, TextGone
from octavo.features.publishing.site_map import SiteMap
from octavo.features.publishing.sql.publications import ReadableLink
from octavo.features.publishing.sql.rendered_notes import TextSource
from octavo.features.publishing.sql.site_changes import ChangedFile
from octavo.store import Store

_STEP = 500
"""References that are resolved between two checkpoints."""
_MOST_LINKING = 1000
_MOST_PROVEN = 10
_MOST_SHOWN = 2_000


class ShownImages:
    """Finds the images that notes show at present.

    Args:
        store: the database.
        renderings: the HTML of notes.
    """

    def __init__(self, store: Store, renderings: Renderings) -> None:
        self._store = store
        self._renderings = renderings
        # The images that notes show, by workspace, revision and shape.
        self._shown: OrderedDict[tuple[int, RevisionId, int], frozenset[FileId]] = OrderedDict()

    async def proves(
        self, link: ReadableLink, site: SiteMap, image: ChangedFile, note: str | None
    ) -> bool:
        """Return whether the present text of a note that the link opens names an image.

        Args:
            link: which is read.
            site: the map of its workspace.
            image: a live one of ``site``.
            note: the id of the note; None for any note of the link.

        Raises as `Renderings.get`, but for `TextGone`.
        """
        target = link.link.target
        if note is not None:
            return await self._shows(link, site, site.note(target, FileId(note)), image)
        if target.file_id is not None:
            return await self._shows(link, site, site.note(target, target.file_id), image)
        try:
            found = await self._store.read_much(
                back_links(link.link.workspace_id, image.file_id, FIRST, _MOST_LINKING)
            )
        except LinksOutdated:
            # Nothing is proven before the index is complete. Addresses on pages name their note.
            return False
        names = dict.fromkeys(each.file_id for each in found or () if each.embed)
        notes = [file for each in names if (file := site.note(target, each)) is not None]
        for file in notes[:_MOST_PROVEN]:
            if await self._shows(link, site, file, image):
                return True
        return False

    async def _shows(
        self, link: ReadableLink, site: SiteMap, file: ChangedFile | None, image: ChangedFile
    ) -> bool:
        """Return whether the present text of a note names an image."""
        if file is None:
            return False
        key = (link.workspace, file.revision_id, site.shape)
        shown = self._shown.get(key)
        if shown is None:
            shown = self._shown[key] = await self._images_of(link, site, file)
            if len(self._shown) > _MOST_SHOWN:
                self._shown.popitem(last=False)
        return image.file_id in shown

    async def _images_of(
        self, link: ReadableLink, site: SiteMap, file: ChangedFile
    ) -> frozenset[FileId]:
        source = TextSource(link.workspace, file.file_id, file.content, file.digest)
        try:
            rendered = await self._renderings.get(source)
        except TextGone:
            return frozenset()
        found: set[FileId] = set()
        for number, each in enumerate(() if rendered is None else rendered.references):
            if number % _STEP == _STEP - 1:
                await trio.lowlevel.checkpoint()
            image = site.linked_image(each.kind, each.target, file.path) if each.embed else None
            if image is not None:
                found.add(image.file_id)
        return frozenset(found)
