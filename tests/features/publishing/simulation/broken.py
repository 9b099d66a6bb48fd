"""Published links that are broken on purpose: each omits something that the design depends on."""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import pytest
import trio
from octavo_rules.identity import AccountId, RevisionId, WorkspaceId

from octavo.access.ports import milliseconds
from octavo.features.publishing import composed_pages, links, signing
from octavo.features.publishing.link_access import LinkAccess
from octavo.features.publishing.reading import PublishedReading
from octavo.features.publishing.rules import PublicationId, PublishedLink, ReportId, moved_folder
from octavo.features.publishing.signing import Tickets
from octavo.features.publishing.sql import folder_links, link_reports, publications
from octavo.features.publishing.sql.folder_links import follow_folders
from octavo.features.publishing.sql.link_reports import TakenDown
from octavo.features.publishing.sql.publications import ReadableLink
from octavo.features.publishing.sql.site_changes import ChangedFile
from octavo.features.publishing.workspace_map import WorkspaceMap
from octavo.model.access.token import digest_of
from octavo.model.files import plan
from octavo.model.files.changeset import AttachImage, UpdateFile
from octavo.model.files.plan import Plan
from octavo.store import Script, Transaction
from tests.fakes.stores import listen_no_more, listen_too
from tests.features.publishing.simulation.service import simulate_publishing
from tests.simulation.simulation import Broken, Simulation


def count_openings_past_the_limit(patch: pytest.MonkeyPatch) -> None:
    """An opening is counted, however many there were meanwhile."""

    def open_again(digest: bytes, now: int) -> Script[bool]:
        async def count_opening(transaction: Transaction) -> bool:
            found = await publications.by_digest(digest)(transaction)
            if found is None or not found.opens_at(now):
                return False
            await transaction.execute(
                "UPDATE publications SET opened = opened + 1 WHERE id = $1::uuid",
                found.link.publication_id,
            )
            return True

        return count_opening

    patch.setattr(publications, "open_once", open_again)


def count_openings_later(patch: pytest.MonkeyPatch) -> None:
    """An opening is counted after its page was composed, whether or not that is possible."""
    open_once = publications.open_once
    opened = PublishedReading.open

    def count_nothing(digest: bytes, now: int) -> Script[bool]:
        async def find(transaction: Transaction) -> bool:
            return await publications.by_digest(digest)(transaction) is not None

        return find

    async def open_and_count(
        self: PublishedReading, token: str, note: str | None, password: str
    ) -> bytes:
        page = await opened(self, token, note, password)
        if page != await self.closed(token):
            script = open_once(digest_of(token.encode()), milliseconds(self._now()))
            await self._store.write(script)
        return page

    patch.setattr(publications, "open_once", count_nothing)
    patch.setattr(PublishedReading, "open", open_and_count)


class _Anything:
    """Equal to everything."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class _KeptForAny(NamedTuple):
    revision_id: object
    shape: object
    folder: str
    page: bytes


def keep_pages_of_any_revision(patch: pytest.MonkeyPatch) -> None:
    """A page that was composed is shown after its note was edited."""

    def kept(_: RevisionId | None, shape: int, folder: str, page: bytes) -> _KeptForAny:
        return _KeptForAny(_Anything(), shape, folder, page)

    patch.setattr(composed_pages, "_Kept", kept)


def keep_pages_of_any_shape(patch: pytest.MonkeyPatch) -> None:
    """A page that was composed is shown after other notes have come, gone or moved."""

    def kept(revision_id: RevisionId | None, _: int, folder: str, page: bytes) -> _KeptForAny:
        return _KeptForAny(revision_id, _Anything(), folder, page)

    patch.setattr(composed_pages, "_Kept", kept)


def count_shapes_anew(patch: pytest.MonkeyPatch) -> None:
    """A map that was dropped and read again may have the shape of pages that were kept before."""
    begin = WorkspaceMap.__init__
    patch.setattr(WorkspaceMap, "__init__", lambda self, _: begin(self))


def show_any_map(patch: pytest.MonkeyPatch) -> None:
    """A link is read with a newer map, in which other notes may be in the place of its folder."""

    async def mapped(
        self: LinkAccess, link: ReadableLink, _: str
    ) -> tuple[ReadableLink, WorkspaceMap]:
        return link, await self._sites.get(link.workspace, link.cursor)

    patch.setattr(LinkAccess, "mapped", mapped)


def compose_with_any_map(patch: pytest.MonkeyPatch) -> None:
    """A page is composed with a map that has changed while its note was rendered."""
    mapped = LinkAccess.mapped

    async def unchanging(
        self: LinkAccess, link: ReadableLink, token: str
    ) -> tuple[ReadableLink, WorkspaceMap] | None:
        found = await mapped(self, link, token)
        # A copy has the files of the map, and keeps its shape.
        return found and (found[0], copy(found[1]))

    patch.setattr(LinkAccess, "mapped", unchanging)


def follow_parts(patch: pytest.MonkeyPatch) -> None:
    """A link follows the files that move, wherever the others are."""
    patch.setattr(
        folder_links, "moved_folder", lambda folder, moves, _: moved_folder(folder, moves, ())
    )


def follow_merges(patch: pytest.MonkeyPatch) -> None:
    """A link follows into a folder that has other notes."""
    patch.setattr(folder_links, "holds_only_moved", lambda *_: True)


def forget_earlier_changesets(patch: pytest.MonkeyPatch) -> None:
    """The changesets of a batch are looked at as if each were the only one."""

    async def follow_each(
        transaction: Transaction, workspace_id: WorkspaceId, workspace: int, plans: Sequence[Plan]
    ) -> None:
        for each in plans:
            await follow_folders(transaction, workspace_id, workspace, [each])

    listen_no_more(patch, "committing", follow_folders)
    listen_too(patch, "committing", follow_each)


def follow_one_by_one(patch: pytest.MonkeyPatch) -> None:
    """A link that has followed its folder is taken for one of the folder that was there."""

    async def by_folder(transaction: Transaction, sql: str, rows: Any) -> None:  # noqa: ANN401
        before = {}
        for link, folder in rows:
            row = await transaction.fetch_one(
                "SELECT folder FROM publications WHERE id = $1::uuid", link
            )
            before[row[0] if row else ""] = folder
        for folder in sorted(before):
            await transaction.execute(
                "UPDATE publications SET folder = $2 WHERE folder = $1", folder, before[folder]
            )

    patch.setattr(folder_links, "execute_each", by_folder)


def overlook_restored_notes(patch: pytest.MonkeyPatch) -> None:
    """An earlier text that is restored at another path moves nothing."""
    patch.setattr(plan, "_MOVING", (UpdateFile, AttachImage))


def revoke_in_memory(patch: pytest.MonkeyPatch) -> None:
    """Only the process that revoked a link knows of it."""
    revoked: WeakKeyDictionary[object, set[str]] = WeakKeyDictionary()
    find = LinkAccess.find

    async def revoke(
        self: links.PublishedLinks,
        workspace_id: WorkspaceId,
        publication_id: PublicationId,
        *,
        actor: AccountId,
        remote_address: str | None,
    ) -> None:
        revoked.setdefault(self._store, set()).add(publication_id)

    async def find_unless_revoked(self: LinkAccess, token: str) -> ReadableLink | None:
        found = await find(self, token)
        gone = found is not None and found.link.publication_id in revoked.get(self._store, ())
        return None if gone else found

    patch.setattr(links.PublishedLinks, "revoke", revoke)
    patch.setattr(LinkAccess, "find", find_unless_revoked)


def keep_deleted_notes(patch: pytest.MonkeyPatch) -> None:
    """The map of a workspace overlooks that notes were deleted."""
    put = WorkspaceMap.put

    def put_live(self: WorkspaceMap, change: ChangedFile) -> None:
        if change.live:
            put(self, change)

    patch.setattr(WorkspaceMap, "put", put_live)


def sign_tickets_for_any_link(patch: pytest.MonkeyPatch) -> None:
    """A ticket is valid for every link with the same password."""
    verify = signing.verify_ticket
    any_link = PublicationId("")

    def sign_any(link: PublishedLink, *given: Any) -> str:  # noqa: ANN401
        return sign(replace(link, publication_id=any_link), *given)

    def verify_any(ticket: str, link: PublishedLink, *given: Any) -> bool:  # noqa: ANN401
        return verify(ticket, replace(link, publication_id=any_link), *given)

    sign = signing.sign_ticket
    patch.setattr(signing, "sign_ticket", sign_any)
    patch.setattr(signing, "verify_ticket", verify_any)


def forget_when_tickets_end(patch: pytest.MonkeyPatch) -> None:
    """A ticket is valid as long as its key is."""
    verify = signing.verify_ticket
    patch.setattr(
        "octavo.features.publishing.signing.verify_ticket",
        lambda given, link, secret, _: verify(given, link, secret, 0),
    )


def look_for_keys_once(patch: pytest.MonkeyPatch) -> None:
    """Tickets are refused while another reader's look for their key is not over."""
    verify = Tickets.verify
    looking: set[Tickets] = set()

    async def verify_or_refuse(self: Tickets, ticket: str, link: PublishedLink) -> bool:
        if self in looking:
            with trio.CancelScope() as without_waiting:
                without_waiting.cancel()
                # A key that is known is not looked for.
                return await verify(self, ticket, link)
            return False
        looking.add(self)
        try:
            return await verify(self, ticket, link)
        finally:
            looking.remove(self)

    patch.setattr(Tickets, "verify", verify_or_refuse)


def leave_reports(patch: pytest.MonkeyPatch) -> None:
    """The other reports of a link stay when it is taken down."""

    def take_down(
        report_id: ReportId, actor: AccountId, now: int, *, new_mail_id: object
    ) -> Script[TakenDown]:
        async def take_link_down(transaction: Transaction) -> TakenDown:
            row = await link_reports._link_of(transaction, report_id)
            await transaction.execute(
                "UPDATE publications SET taken_down_at = $2 WHERE id = $1::uuid", row[0], now
            )
            await transaction.execute("DELETE FROM link_reports WHERE id = $1::uuid", report_id)
            return TakenDown(row[0], row[1])

        return take_link_down

    patch.setattr(link_reports, "take_down", take_down)


def name_the_end(patch: pytest.MonkeyPatch) -> None:
    """A link that was opened as often as it may be says so."""
    closed = PublishedReading.closed

    async def closed_or_not(self: PublishedReading, token: str) -> bytes:
        page = await closed(self, token)
        found = await self._store.read(publications.by_digest(digest_of(token.encode())))
        used_up = found is not None and found.link.used_up
        return page.replace(b'"closed"', b'"closed",  "why": "used up"') if used_up else page

    patch.setattr(PublishedReading, "closed", closed_or_not)


BROKEN = Broken(
    "publishing",
    Simulation(simulate_publishing, 600),
    {
        count_openings_past_the_limit: "opened more often",
        count_openings_later: "opened more often",
        keep_pages_of_any_revision: "a text that it did not have",
        keep_pages_of_any_shape: "what was never there|beside others|leads to others",
        count_shapes_anew: "a text that it did not have|never there|beside others|leads to others",
        compose_with_any_map: "beside others|leads to others",
        show_any_map: "what was never there|beside others|leads to others|did not open|no reason",
        follow_parts: "the link of .* leads to",
        follow_merges: "the link of .* leads to",
        forget_earlier_changesets: "the link of .* leads to",
        follow_one_by_one: "the link of .* leads to",
        overlook_restored_notes: "the link of .* leads to",
        revoke_in_memory: "after its end",
        keep_deleted_notes: "did not open|never there|beside others|leads to others",
        sign_tickets_for_any_link: "without a ticket of its own",
        forget_when_tickets_end: "with an old ticket",
        look_for_keys_once: "closed for no reason",
        leave_reports: "a report of a link",
        name_the_end: "pages of closed links differ",
    },
)
"""What is left out, and the message of the first failing schedule."""
