"""Read through published links: pages, images, and opening what is closed by a password.

Whatever a link does not open, or not yet, reads alike: `PublishedReading` returns `CLOSED`, and
nobody learns whether it ever existed, ended, was taken down, needs a password, or is over a limit.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from enum import Enum
from typing import Final, Literal, NamedTuple

import trio

from octavo.accounts.attempts import Attempts
from octavo.accounts.passwords import Passwords
from octavo.accounts.ports import Clock, milliseconds
from octavo.model.accounts.token import digest_of
from octavo.model.identity import FileId, RevisionId, WorkspaceId
from octavo.model.publishing.link import LinkTarget, PublicationId, PublishedLink
from octavo.model.usage import Amount, DownloadLimitReached
from octavo.publishing.composition import ViewComposer, body_of
from octavo.publishing.renderings import RenderingPostponed, Renderings, TextGone
from octavo.publishing.signing import Tickets
from octavo.publishing.site_map import SiteMap
from octavo.publishing.sites import Sites
from octavo.publishing.views import NoteView, PublishedPages
from octavo.render.comments import without_comments
from octavo.render.front_matter import split_front_matter
from octavo.render.references import ImageAddress, LinkAddress
from octavo.render.rendered_note import RenderedNote
from octavo.store import Store
from octavo.store.compression import decompressed
from octavo.store.scripts import publications, rendered_notes
from octavo.store.scripts.images import StoredContent, content_of
from octavo.store.scripts.link_queries import back_links
from octavo.store.scripts.link_view import LinksOutdated
from octavo.store.scripts.publications import ReadableLink
from octavo.store.scripts.rendered_notes import TextSource
from octavo.store.scripts.site_changes import ChangedFile
from octavo.usage.meter import UsageMeter

ROUTE = "published-link"
"""The rate class of attempts to open links."""
MEMORY_BYTES = 32 * 1024 * 1024
"""Of composed pages that are kept."""
LARGE = 256 * 1024
"""Characters of HTML that are composed in a thread."""
LONG = 2_000
"""Notes of a list that is composed in a thread."""
STEP = 500
"""References that are resolved between two checkpoints."""
_MOST_LINKING = 1000
_MOST_PROVEN = 10
_MOST_SHOWN = 2_000
_TRIES = 5
# In place of a link that is not there: its ticket is verified all the same.
_DECOY = PublishedLink(
    PublicationId(""),
    WorkspaceId(""),
    LinkTarget("folder", None, ""),
    None,
    None,
    None,
    0,
    0,
    None,
    None,
    None,
    None,
)


class ClosedLink(Enum):
    """The type of `CLOSED`."""

    CLOSED = "closed"


CLOSED: Final = ClosedLink.CLOSED
"""The link opens nothing, or nothing yet."""


class PublishedImage(NamedTuple):
    """An image that a published note shows, and whom the reading is counted for."""

    link: ReadableLink
    content: StoredContent


class _Kept(NamedTuple):
    """A composed page: of a revision of a note, or of a list; ``shape`` is that of the map.

    ``folder`` is the path of the published folder.
    """

    revision_id: RevisionId | None
    shape: int
    folder: str
    page: bytes


class _MapMoved(Exception):
    """The map of the workspace has changed while a page was composed."""


class PublishedReading:
    """Lets readers read what was published.

    Every method raises `StoreUnavailable`. Cancellation changes nothing, except for an opening of a
    link of limited openings, which may have been counted.

    Args:
        store: the database.
        pages: returns the HTML of pages.
        composer: composes their views.
        renderings: the HTML of notes.
        tickets: signs and verifies reading tickets.
        passwords: verifies the passwords of links, in processes of their own.
        attempts: counts attempts to open links, on `ROUTE`.
        meter: counts what readers read for the owners of workspaces.
        now: the clock.
    """

    def __init__(
        self,
        store: Store,
        pages: Callable[[], Awaitable[PublishedPages]],
        composer: ViewComposer,
        renderings: Renderings,
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
        self._renderings = renderings
        self._tickets = tickets
        self._passwords = passwords
        self._attempts = attempts
        self._meter = meter
        self._now = now
        self._sites = Sites(store)
        self._kept: OrderedDict[tuple[str, FileId | None], _Kept] = OrderedDict()
        self._bytes = 0
        # The images that notes show, by workspace, revision and shape.
        self._shown: OrderedDict[tuple[int, RevisionId, int], frozenset[FileId]] = OrderedDict()

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
        link = await self._admitted(token, ticket)
        page = None if link is None else await self._composed(link, token, note)
        if link is None or page is None or not await self._counts(link, len(page), counted=counted):
            return await self.closed(token)
        return self._filled(page, token, ticket if link.link.needs_ticket else None)

    async def open(self, token: str, note: str | None, password: str) -> bytes:
        """Open a link with a password, which is empty without one; return as `page`.

        An opening of a link of limited openings is counted. Every attempt takes the time of a hash,
        whatever the token is. Raises `TooManyAttempts` for too many attempts of one link, and when
        too many callers wait; and `octavo.workers.WorkerFailed`.
        """
        self._passwords.require_room()
        digest = digest_of(token.encode())
        self._attempts.admit_account(ROUTE, digest.hex())
        link = await self._link(token)
        encoded = None if link is None else link.link.password
        verified = await self._passwords.verify(password, encoded)
        # What the link opens may have changed while the hash took its time.
        again = await self._link(token)
        if again is None or again.link.password != encoded or again.link.used_up:
            return await self.closed(token)
        if encoded is not None and not verified:
            return await self.closed(token)
        ticket = await self._tickets.issue(again.link) if again.link.needs_ticket else None
        page = await self._composed(again, token, note)
        if page is None or not await self._counts(again, len(page), counted=False):
            return await self.closed(token)
        if again.link.openings is not None:
            # Nothing that could not be shown counts.
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
    ) -> PublishedImage | Literal[ClosedLink.CLOSED]:
        """Return an image that a note of the link shows at present, or `CLOSED`.

        ``note`` is the id of the note; None for any note of the link.
        """
        admitted = await self._admitted(token, ticket)
        found = None if admitted is None else await self._mapped(admitted, token)
        if found is None:
            return CLOSED
        link, site = found
        image = site.image(file_id)
        if image is None or image.revision_id != revision_id:
            return CLOSED
        if not await self._proven(link, site, image, note):
            return CLOSED
        workspace_id = link.link.workspace_id
        content = await self._store.read(content_of(workspace_id, file_id, revision_id))
        if content is None or content.blob is None:
            return CLOSED
        return PublishedImage(link, content)

    async def closed(self, token: str) -> bytes:
        """Return the page of every link that opens nothing, or nothing yet."""
        page = (await self._pages()).closed(self._composer.report)
        return self._composer.places.filled(page.encode(), token, None)

    async def _link(self, token: str) -> ReadableLink | None:
        found = await self._store.read(publications.by_digest(digest_of(token.encode())))
        opens = found is not None and found.opens_at(milliseconds(self._now()))
        return found if opens else None

    async def _admitted(self, token: str, ticket: str | None) -> ReadableLink | None:
        """Return the link of a token, if it opens something with a ticket; None otherwise."""
        link = await self._link(token)
        verified = False
        if ticket is not None:
            # Also for a token that no link has: it takes the same time.
            verified = await self._tickets.verify(ticket, _DECOY if link is None else link.link)
        return link if link is not None and (verified or not link.link.needs_ticket) else None

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

    async def _mapped(self, link: ReadableLink, token: str) -> tuple[ReadableLink, SiteMap] | None:
        """Return a link and the map of its workspace, exact at one position.

        Otherwise other notes may have taken the place of its folder, or it may have ended, before
        what the map shows. So it is read again after a change; None if it opens nothing any more.
        """
        while True:
            site = await self._sites.get(link.workspace, link.position)
            if site.position <= link.position:
                return link, site
            again = await self._link(token)
            if again is None:
                return None
            link = again

    async def _composed(self, link: ReadableLink, token: str, note: str | None) -> bytes | None:
        """Return the page of a note or a list, with placeholders; None if nothing is opened."""
        for _ in range(_TRIES):
            found = await self._mapped(link, token)
            if found is None:
                return None
            link, site = found
            target = link.link.target
            file_id = FileId(note) if note is not None else target.file_id
            file = None if file_id is None else site.note(target, file_id)
            if file is None and file_id is not None:
                return None
            revision_id = None if file is None else file.revision_id
            key = (link.link.publication_id, file_id)
            kept = self._kept.get(key)
            if kept is not None and kept[:3] == (revision_id, site.shape, target.path):
                self._kept.move_to_end(key)
                return kept.page
            shape = site.shape
            try:
                page = await self._compose(link, site, file)
            except (TextGone, _MapMoved):
                again = await self._link(token)
                if again is None:
                    return None
                link = again
                continue
            if page is not None:
                self._keep(key, _Kept(revision_id, shape, target.path, page))
            return page
        raise RenderingPostponed

    async def _compose(
        self, link: ReadableLink, site: SiteMap, file: ChangedFile | None
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
            listed = _WholeList(pages, self._composer, link.link, notes)
            if len(notes) > LONG:
                return await trio.to_thread.run_sync(listed.encoded, abandon_on_cancel=True)
            return listed.encoded()
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
        work = _WholePage(pages, rendered, addresses, view)
        if len(rendered.html) > LARGE:
            return await trio.to_thread.run_sync(work.encoded, abandon_on_cancel=True)
        return work.encoded()

    async def _text(self, source: TextSource) -> str:
        """Return a text as it was written, without what readers must not see."""
        data = await self._store.read(rendered_notes.text_to_render(source))
        if data is None:
            raise TextGone
        return without_comments(split_front_matter(decompressed(data, source.file_id)).body)

    def _keep(self, key: tuple[str, FileId | None], kept: _Kept) -> None:
        before = self._kept.pop(key, None)
        self._bytes += len(kept.page) - (0 if before is None else len(before.page))
        self._kept[key] = kept
        while self._bytes > MEMORY_BYTES:
            _, dropped = self._kept.popitem(last=False)
            self._bytes -= len(dropped.page)

    async def _proven(
        self, link: ReadableLink, site: SiteMap, image: ChangedFile, note: str | None
    ) -> bool:
        """Return whether the present text of a note that the link opens names an image."""
        target = link.link.target
        if note is not None:
            return await self._shows(link, site, site.note(target, FileId(note)), image)
        if target.file_id is not None:
            return await self._shows(link, site, site.note(target, target.file_id), image)
        try:
            found = await self._store.read_much(
                back_links(link.link.workspace_id, image.file_id, ("", -1), _MOST_LINKING)
            )
        except LinksOutdated:
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
            if number % STEP == STEP - 1:
                await trio.lowlevel.checkpoint()
            image = site.linked_image(each.kind, each.target, file.path) if each.embed else None
            if image is not None:
                found.add(image.file_id)
        return frozenset(found)


class _WholeList(NamedTuple):
    """The list of a folder link."""

    pages: PublishedPages
    composer: ViewComposer
    link: PublishedLink
    notes: Sequence[ChangedFile]

    def encoded(self) -> bytes:
        """Return the page."""
        return self.pages.folder(self.composer.folder(self.link, self.notes)).encode()


class _WholePage(NamedTuple):
    """A page whose view lacks its body."""

    pages: PublishedPages
    rendered: RenderedNote
    addresses: Sequence[LinkAddress | ImageAddress | None]
    view: NoteView

    def encoded(self) -> bytes:
        """Return the page with its body."""
        body = body_of(self.rendered, self.addresses)
        return self.pages.note(replace(self.view, html=body)).encode()
