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
from octavo.model.identity import FileId, RevisionId
from octavo.model.publishing.link import PublishedLink
from octavo.model.usage import Amount, DownloadLimitReached
from octavo.publishing.composition import ViewComposer, body_of
from octavo.publishing.renderings import Renderings, TextGone
from octavo.publishing.signing import Tickets
from octavo.publishing.site_map import SiteMap
from octavo.publishing.sites import Sites
from octavo.publishing.views import NoteView, PublishedPages
from octavo.render.references import ImageAddress, LinkAddress
from octavo.render.rendered_note import RenderedNote
from octavo.store import Store
from octavo.store.compression import decompressed
from octavo.store.scripts import publications, rendered_notes
from octavo.store.scripts.images import StoredContent, content_of
from octavo.store.scripts.link_queries import back_links
from octavo.store.scripts.publications import ReadableLink
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
_MOST_LINKING = 1000
_TRIES = 3


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
    """A composed page: of a revision of a note, or of a list; ``shape`` is that of the map."""

    revision_id: RevisionId | None
    shape: int
    page: bytes


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
        link = await self._link(token)
        if link is None or not await self._admitted(link, ticket):
            return await self.closed(token)
        used = ticket if link.link.needs_ticket else None
        return await self._show(link, token, note, used, counted=counted)

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
        if link is None or (encoded is not None and not verified) or link.link.used_up:
            return await self.closed(token)
        ticket = None
        if link.link.needs_ticket:
            ticket = await self._tickets.issue(link.link)
        if link.link.openings is not None:
            now = milliseconds(self._now())
            opened = await self._store.write(publications.open_once(digest, now))
            if opened is None:
                return await self.closed(token)
        return await self._show(link, token, note, ticket, counted=True)

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
        link = await self._link(token)
        if link is None or not await self._admitted(link, ticket):
            return CLOSED
        site = await self._sites.get(link.workspace, link.position)
        image = site.image(file_id)
        if image is None or image.revision_id != revision_id:
            return CLOSED
        if not await self._shows(link, site, image, note):
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

    async def _admitted(self, link: ReadableLink, ticket: str | None) -> bool:
        if not link.link.needs_ticket:
            return True
        return ticket is not None and await self._tickets.verify(ticket, link.link)

    async def _show(
        self, link: ReadableLink, token: str, note: str | None, ticket: str | None, *, counted: bool
    ) -> bytes:
        page = await self._composed(link, note)
        if page is None or not await self._counts(link, len(page), counted=counted):
            return await self.closed(token)
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

    async def _composed(self, link: ReadableLink, note: str | None) -> bytes | None:
        """Return the page of a note or a list, with placeholders; None if nothing is opened."""
        target = link.link.target
        for _ in range(_TRIES):
            site = await self._sites.get(link.workspace, link.position)
            file_id = FileId(note) if note is not None else target.file_id
            file = None if file_id is None else site.note(target, file_id)
            if file is None and file_id is not None:
                return None
            revision_id = None if file is None else file.revision_id
            key = (link.link.publication_id, file_id)
            kept = self._kept.get(key)
            if kept is not None and (kept.revision_id, kept.shape) == (revision_id, site.shape):
                self._kept.move_to_end(key)
                return kept.page
            shape = site.shape
            try:
                page = await self._compose(link, site, file)
            except TextGone:
                continue
            if page is not None:
                self._keep(key, _Kept(revision_id, shape, page))
            return page
        return None

    async def _compose(
        self, link: ReadableLink, site: SiteMap, file: ChangedFile | None
    ) -> bytes | None:
        pages = await self._pages()
        if file is None:
            notes = site.notes_below(link.link.target.path)
            if not notes:
                return None
            listed = _WholeList(pages, self._composer, link.link, notes)
            if len(notes) > LONG:
                return await trio.to_thread.run_sync(listed.encoded, abandon_on_cancel=True)
            return listed.encoded()
        rendered = await self._renderings.get(file.content)
        if rendered is None:
            text = await self._text(file)
            return pages.note(self._composer.note(link.link, site, file, None, text)).encode()
        addresses = self._composer.addresses(link.link, site, file, rendered)
        view = self._composer.note(link.link, site, file, rendered, "")
        work = _WholePage(pages, rendered, addresses, view)
        if len(rendered.html) > LARGE:
            return await trio.to_thread.run_sync(work.encoded, abandon_on_cancel=True)
        return work.encoded()

    async def _text(self, file: ChangedFile) -> str:
        data = await self._store.read(rendered_notes.text_to_render(file.content))
        if data is None:
            raise TextGone
        return decompressed(data, file.file_id)

    def _keep(self, key: tuple[str, FileId | None], kept: _Kept) -> None:
        before = self._kept.pop(key, None)
        self._bytes += len(kept.page) - (0 if before is None else len(before.page))
        self._kept[key] = kept
        while self._bytes > MEMORY_BYTES:
            _, dropped = self._kept.popitem(last=False)
            self._bytes -= len(dropped.page)

    async def _shows(
        self, link: ReadableLink, site: SiteMap, image: ChangedFile, note: str | None
    ) -> bool:
        """Return whether the present text of a note that the link opens names an image."""
        target = link.link.target
        if note is None and target.file_id is None:
            return await self._any_shows(link, site, image)
        file_id = target.file_id if note is None else FileId(note)
        file = None if file_id is None else site.note(target, file_id)
        if file is None:
            return False
        try:
            rendered = await self._renderings.get(file.content)
        except TextGone:
            return False
        if rendered is None:
            return False
        return any(
            found is not None and found.file_id == image.file_id
            for found in (
                site.linked_image(each.kind, each.target, file.path)
                for each in rendered.references
                if each.embed
            )
        )

    async def _any_shows(self, link: ReadableLink, site: SiteMap, image: ChangedFile) -> bool:
        """Return whether any note of a folder link names an image."""
        found = await self._store.read_much(
            back_links(link.link.workspace_id, image.file_id, ("", -1), _MOST_LINKING)
        )
        return any(
            each.embed and site.note(link.link.target, each.file_id) is not None
            for each in found or ()
        )


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
