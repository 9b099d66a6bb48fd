"""Read published links: open one by its password, and get pages and images.

Readers get the same response for everything that a link does not open: they can't tell whether the
link never existed, has ended, was taken down, needs a password, or is over a limit.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import trio
from octavo_rules.identity import FileId, RevisionId

from octavo.access.attempts import Attempts
from octavo.access.ports import Clock, milliseconds
from octavo.features.accounts.passwords import Passwords
from octavo.features.images.sql import content_of
from octavo.features.images.thumbnails import ImageVariant
from octavo.features.links.sql.link_index import LinksOutdated
from octavo.features.links.sql.link_queries import FIRST, back_links
from octavo.features.publishing.composed_pages import ComposedPages
from octavo.features.publishing.composition import ViewComposer
from octavo.features.publishing.link_access import LinkAccess
from octavo.features.publishing.renderings import Renderings, TextGone
from octavo.features.publishing.signing import Tickets
from octavo.features.publishing.sql import publications
from octavo.features.publishing.sql.publications import ReadableLink
from octavo.features.publishing.sql.rendered_notes import TextSource
from octavo.features.publishing.sql.site_changes import ChangedFile
from octavo.features.publishing.views import PublishedPages
from octavo.features.publishing.workspace_map import WorkspaceMap, WorkspaceMaps
from octavo.features.usage.meter import UsageMeter
from octavo.model.access.token import digest_of
from octavo.model.files.revision import Revision
from octavo.model.usage import Amount, DownloadLimitReached
from octavo.store import Store
from octavo.store.blobs import BlobKey, BlobMissing

_STEP = 500
"""Number of references that are resolved between two checkpoints."""
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
        self, link: ReadableLink, site: WorkspaceMap, image: ChangedFile, note: str | None
    ) -> bool:
        """Return whether the present text of a note that the link opens names an image.

        Args:
            link: the link that is read.
            site: the map of its workspace.
            image: a live image of ``site``.
            note: the id of the note; None for any note of the link.

        Raises the same errors as `Renderings.get`, except `TextGone`.
        """
        target = link.link.target
        if note is not None:
            return await self._shows(link, site, site.note(target, FileId(note)), image)
        if target.file_id is not None:
            return await self._shows(link, site, site.note(target, target.file_id), image)
        try:
            linking = await self._store.read_much(
                back_links(link.link.workspace_id, image.file_id, FIRST, _MOST_LINKING)
            )
        except LinksOutdated:
            # The incomplete index proves nothing. (Addresses on pages name their note.)
            return False
        names = dict.fromkeys(back_link.file_id for back_link in linking or () if back_link.embed)
        notes = [file for name in names if (file := site.note(target, name)) is not None]
        for file in notes[:_MOST_PROVEN]:
            if await self._shows(link, site, file, image):
                return True
        return False

    async def _shows(
        self, link: ReadableLink, site: WorkspaceMap, file: ChangedFile | None, image: ChangedFile
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
        self, link: ReadableLink, site: WorkspaceMap, file: ChangedFile
    ) -> frozenset[FileId]:
        source = TextSource(link.workspace, file.file_id, file.content, file.digest)
        try:
            rendered = await self._renderings.get(source)
        except TextGone:
            return frozenset()
        shown: set[FileId] = set()
        for number, reference in enumerate(() if rendered is None else rendered.references):
            if number % _STEP == _STEP - 1:
                await trio.lowlevel.checkpoint()
            image = (
                site.linked_image(reference.kind, reference.target, file.path)
                if reference.embed
                else None
            )
            if image is not None:
                shown.add(image.file_id)
        return frozenset(shown)


ROUTE = "published-link"
"""The rate class of attempts to open links."""


class PublishedImage(NamedTuple):
    """An image that a published note shows.

    Attributes:
        link: the link that is read.
        revision: of the image; its digest and size are not those of what is sent.
        sent: the copy without personal metadata, the only one that a reader may get.
    """

    link: ReadableLink
    revision: Revision
    sent: ImageVariant


class PublishedReading:
    """Lets readers read what was published.

    Every method raises `StoreUnavailable`, and `RenderingPostponed` and `TextDamaged` if the text
    of a note is needed. Cancellation changes nothing, except that an opening may have been counted.

    Args:
        store: the database.
        pages: returns the HTML of pages.
        composer: composes their views.
        renderings: the HTML of notes.
        sites: the maps of the workspaces.
        cleaned: returns the copy of an image without personal metadata.
        tickets: signs and verifies reading tickets.
        passwords: verifies the passwords of links, in processes of their own.
        attempts: counts attempts to open links, on `ROUTE`.
        meter: charges what readers read to the owners of workspaces.
        now: the clock.
    """

    def __init__(
        self,
        store: Store,
        pages: Callable[[], Awaitable[PublishedPages]],
        composer: ViewComposer,
        renderings: Renderings,
        sites: WorkspaceMaps,
        cleaned: Callable[[BlobKey], Awaitable[ImageVariant]],
        tickets: Tickets,
        passwords: Passwords,
        attempts: Attempts,
        meter: UsageMeter,
        *,
        now: Clock,
    ) -> None:
        self._store = store
        self._pages = pages
        self._composer = composer
        self._tickets = tickets
        self._access = LinkAccess(store, tickets, sites, now=now)
        self._composed = ComposedPages(store, self._access, pages, composer, renderings)
        self._images = ShownImages(store, renderings)
        self._cleaned = cleaned
        self._passwords = passwords
        self._attempts = attempts
        self._meter = meter
        self._now = now

    async def page(
        self, token: str, note: str | None, ticket: str | None, *, counted: bool = True
    ) -> bytes:
        """Return the page of a link: that of a note, of the list of a folder, or the closed one.

        Args:
            token: of the link, or of an open report of it.
            note: the id of a note of a folder link; None for the list.
            ticket: from an opening; None without one.
            counted: whether the page is sent, so that it counts as read.
        """
        link = await self._access.admitted(token, ticket)
        page = None if link is None else await self._composed.get(link, token, note)
        if link is None or page is None or not await self._counts(link, len(page), counted=counted):
            return await self.closed(token)
        return self._filled(page, token, ticket if link.link.needs_ticket else None)

    def drop_unused(self) -> None:
        """Forget the pages that were not used since the previous call."""
        self._composed.drop_unused()

    async def open(self, token: str, note: str | None, password: str) -> bytes:
        """Open a link with a password, empty for a link without one; return a page like `page`.

        If the openings of the link are limited, this counts as one. Every attempt takes the time of
        a hash, for any token. Raises `TooManyAttempts` after too many attempts at one link, and
        when too many callers wait; and `octavo.workers.WorkerFailed`.
        """
        self._passwords.require_room()
        digest = digest_of(token.encode())
        self._attempts.admit_account(ROUTE, digest.hex())
        link = await self._access.find(token)
        encoded = None if link is None else link.link.password
        verified = await self._passwords.verify(password, encoded)
        # The link may have changed during the hash.
        again = await self._access.find(token)
        if again is None or again.link.password != encoded or again.link.used_up:
            return await self.closed(token)
        if encoded is not None and not verified:
            return await self.closed(token)
        ticket = await self._tickets.issue(again.link) if again.link.needs_ticket else None
        page = await self._composed.get(again, token, note)
        if page is None or not await self._counts(again, len(page), counted=False):
            return await self.closed(token)
        if again.link.openings is not None:
            # Count last: only a page that can be shown uses up an opening.
            now = milliseconds(self._now())
            if not await self._store.write(publications.open_once(digest, now)):
                return await self.closed(token)
        if again.owner_id is not None:
            self._meter.add(again.owner_id, Amount(len(page), 1))
        return self._filled(self._composer.moved(page, note), token, ticket)

    async def image(
        self,
        token: str,
        file_id: FileId,
        revision_id: RevisionId,
        note: str | None,
        ticket: str | None,
    ) -> PublishedImage | None:
        """Return an image that a note of the link shows at present; None if it shows none.

        ``note`` is the id of the note; None for any note of the link. Raises also the errors of
        `octavo.features.images.thumbnails.Thumbnails.get`, except `BlobMissing`.
        """
        admitted = await self._access.admitted(token, ticket)
        mapped = None if admitted is None else await self._access.mapped(admitted, token)
        if mapped is None:
            return None
        link, site = mapped
        image = site.image(file_id)
        if image is None or image.revision_id != revision_id:
            return None
        if not await self._images.proves(link, site, image, note):
            return None
        workspace_id = link.link.workspace_id
        content = await self._store.read(content_of(workspace_id, file_id, revision_id))
        if content is None or content.blob is None:
            return None
        try:
            return PublishedImage(link, content.revision, await self._cleaned(content.blob))
        except BlobMissing:
            return None

    async def closed(self, token: str) -> bytes:
        """Return the page of every link that opens nothing, or nothing yet."""
        page = (await self._pages()).closed(self._composer.report)
        return self._composer.places.filled(page.encode(), token, None)

    def _filled(self, page: bytes, token: str, ticket: str | None) -> bytes:
        return self._composer.places.filled(page, token, ticket)

    async def _counts(self, link: ReadableLink, size: int, *, counted: bool) -> bool:
        """Count a page for the owner of the workspace; return False past a limit."""
        if link.owner_id is None:
            return True
        try:
            if counted:
                await self._meter.count(link.owner_id, Amount(size, 1))
            else:
                await self._meter.check(link.owner_id, Amount(size, 1))
        except DownloadLimitReached:
            return False
        return True
