"""Published links: create, list, revoke, find by their tokens, and open them."""

from __future__ import annotations

from dataclasses import dataclass

from octavo_rules.identity import AccountId, Cursor, FileId, WorkspaceId

from octavo.features.accounts.sql.accounts import decisions_of
from octavo.features.members.sql import members
from octavo.features.publishing import rules
from octavo.features.publishing.rules import LinkTarget, ListedLink, PublishedLink
from octavo.model.access.account import State
from octavo.model.files.path import range_below
from octavo.store.identifiers import LAST
from octavo.store.queries.expiry import delete_ended
from octavo.store.queries.marks import CURSOR, cursor_of_row
from octavo.store.queries.revision_rows import WORKSPACE
from octavo.store.transaction import Row, Script, Transaction

_COLUMNS = """
    publications.id, publications.workspace_id, publications.file_id, publications.folder,
    publications.label, publications.password, publications.openings, publications.opened,
    publications.created_at, publications.expires_at, publications.revoked_at,
    publications.taken_down_at, publications.created_by_id
"""
_COUNT = 13
_INSERT = """
    INSERT INTO publications (id, workspace_id, file_id, folder, label, password, openings, opened,
        created_at, expires_at, created_by_id, digest)
    VALUES ($1::uuid, $2::uuid, $3::uuid, $4, $5, $6, $7, 0, $8, $9, $10::uuid, $11)
"""
_LIVE = "revoked_at IS NULL AND taken_down_at IS NULL AND (expires_at IS NULL OR expires_at > $2)"
# The path of a published note is that of the file.
_LIST = f"""
    SELECT {_COLUMNS}, files.path, CASE
        WHEN publications.file_id IS NOT NULL THEN files.state = 'live' AND files.kind = 'note'
        WHEN publications.folder = '' THEN EXISTS (
            SELECT 1 FROM files WHERE workspace = workspaces.pk AND state = 'live'
            AND kind = 'note'
        )
        ELSE EXISTS (
            SELECT 1 FROM files WHERE workspace = workspaces.pk AND state = 'live'
            AND kind = 'note' AND path >= publications.folder || '/'
            AND path < publications.folder || '0'
        )
    END, accounts.state, accounts.controls_publishing
    FROM publications JOIN workspaces ON workspaces.id = publications.workspace_id
    LEFT JOIN accounts ON accounts.id = publications.created_by_id
    LEFT JOIN files ON files.workspace = workspaces.pk
        AND files.file_id = publications.file_id
    WHERE publications.workspace_id = $1::uuid AND publications.id < $2::uuid
    ORDER BY publications.id DESC LIMIT $3
"""
# By its own token, or by that of an open report of it; any other token finds some link, so that it
# takes the same time. The owner is the one who joined first.
_BY_DIGEST = f"""
    SELECT {_COLUMNS}, {CURSOR}, workspaces.pk, (
        SELECT members.account_id FROM members
        WHERE members.workspace_id = publications.workspace_id AND members.role = 'owner'
        ORDER BY members.joined_at, members.account_id LIMIT 1
    ) AS owner_id, accounts.state, accounts.controls_publishing,
    publications.digest = $1 OR EXISTS (
        SELECT 1 FROM link_reports WHERE digest = $1 AND publication_id = publications.id
    )
    FROM publications JOIN workspaces ON workspaces.id = publications.workspace_id
    LEFT JOIN accounts ON accounts.id = publications.created_by_id
    WHERE publications.id = COALESCE(
        (SELECT id FROM publications WHERE digest = $1),
        (SELECT publication_id FROM link_reports WHERE digest = $1),
        (SELECT id FROM publications ORDER BY id LIMIT 1)
    )
"""
_NOTE = f"""
    SELECT path FROM files
    WHERE workspace = {WORKSPACE} AND file_id = $2::uuid AND state = 'live' AND kind = 'note'
"""


@dataclass(frozen=True, slots=True)
class ReadableLink:
    """A link that a reader's token names, with what decides whether it opens anything.

    Attributes:
        workspace: the number of its workspace.
        cursor: of the workspace.
        owner_id: whom the reading is counted for; None without an owner.
        publishing: whether its creator may publish.
    """

    link: PublishedLink
    workspace: int
    cursor: Cursor
    owner_id: AccountId | None
    publishing: bool

    def opens_at(self, now: int) -> bool:
        """Return whether the link opens its target at ``now``, in milliseconds of Unix time."""
        return self.publishing and self.link.state_at(now) == "live"


def create(
    link: PublishedLink, actor: AccountId, digest: bytes, maximum: int, now: int
) -> Script[PublishedLink]:
    """Insert a link whose token has ``digest``; return it with the path of its target.

    ``maximum`` is how many live links the workspace may have. Raises `WorkspaceMissing`,
    `RoleInsufficient`, `PublishingRefused`, `PublishedTargetMissing` and `TooManyLinks`.
    """

    async def create_link(transaction: Transaction) -> PublishedLink:
        workspace_id, target = link.workspace_id, link.target
        await members.require(transaction, workspace_id, actor, None, None)
        decisions = await decisions_of(transaction, actor)
        if decisions is None or not decisions.controls.publishing:
            raise rules.PublishingRefused
        path = await _path_of(transaction, workspace_id, target)
        row = await transaction.fetch_one(
            f"SELECT COUNT(*) FROM publications WHERE workspace_id = $1::uuid AND {_LIVE}",
            workspace_id,
            now,
        )
        if row is not None and row[0] >= maximum:
            raise rules.TooManyLinks(maximum)
        await transaction.execute(
            _INSERT,
            link.publication_id,
            workspace_id,
            target.file_id,
            None if target.kind == "note" else path,
            link.label,
            link.password,
            link.openings,
            link.created_at,
            link.expires_at,
            actor,
            digest,
        )
        return link.moved_to(path)

    return create_link


async def _path_of(transaction: Transaction, workspace_id: WorkspaceId, target: LinkTarget) -> str:
    """Return the path of what is published. Raises `PublishedTargetMissing`."""
    if target.kind == "note":
        row = await transaction.fetch_one(_NOTE, workspace_id, target.file_id)
        if row is None:
            raise rules.PublishedTargetMissing("There is no note with this fileId.")
        path: str = row[0]
        return path
    start, end = range_below(target.path)
    row = await transaction.fetch_one(
        f"SELECT 1 FROM files WHERE workspace = {WORKSPACE} AND state = 'live'"
        " AND kind = 'note' AND path >= $2 AND path < $3 LIMIT 1",
        workspace_id,
        start,
        end,
    )
    if row is None:
        raise rules.PublishedTargetMissing("There is no note below this folder.")
    return target.path


def list_of(workspace_id: WorkspaceId, before: str | None, limit: int) -> Script[list[ListedLink]]:
    """Return the links of a workspace in any state, the newest first, at most ``limit``.

    With ``before``, return those that follow the link of that id. The path of a note that was
    purged is empty.
    """

    async def read_links(transaction: Transaction) -> list[ListedLink]:
        rows = await transaction.fetch_all(
            _LIST, workspace_id, LAST if before is None else before, limit
        )
        return [_listed(row) for row in rows]

    return read_links


def _listed(row: Row) -> ListedLink:
    path, has_note, state, publishing = row[_COUNT:]
    link = _link(row[:_COUNT])
    if link.target.kind == "note":
        link = link.moved_to(path or "")
    if not _creator_lets_read(link, state, publishing):
        return ListedLink(link, "creator")
    return ListedLink(link, None if has_note else "no_note")


def _creator_lets_read(link: PublishedLink, state: State, publishing: int) -> bool:
    # A link whose creator was removed belongs to the workspace.
    return link.created_by is None or rules.lets_read(state, publishing=publishing == 1)


def revoke(
    workspace_id: WorkspaceId, publication_id: rules.PublicationId, actor: AccountId, now: int
) -> Script[bool]:
    """Revoke a link for a member who manages the workspace; return whether it was live before.

    Raises `WorkspaceMissing`, `RoleInsufficient` and `LinkMissing`.
    """

    async def revoke_link(transaction: Transaction) -> bool:
        await members.require(transaction, workspace_id, actor, None, None)
        row = await transaction.fetch_one(
            "SELECT 1 FROM publications WHERE id = $1::uuid AND workspace_id = $2::uuid",
            publication_id,
            workspace_id,
        )
        if row is None:
            raise rules.LinkMissing
        revoked = await transaction.execute(
            "UPDATE publications SET revoked_at = $2"
            " WHERE id = $1::uuid AND revoked_at IS NULL AND taken_down_at IS NULL",
            publication_id,
            now,
        )
        return revoked == 1

    return revoke_link


def by_digest(digest: bytes) -> Script[ReadableLink | None]:
    """Return the link whose token, or that of an open report of it, has the digest."""

    async def find_link(transaction: Transaction) -> ReadableLink | None:
        row = await transaction.fetch_one(_BY_DIGEST, digest)
        if row is None:
            return None
        cursor = cursor_of_row(row[_COUNT:])
        workspace, owner_id, state, publishing, is_named = row[_COUNT + 2 :]
        link = _link(row[:_COUNT])
        allowed = _creator_lets_read(link, state, publishing)
        readable = ReadableLink(link, workspace, cursor, owner_id, allowed)
        return readable if is_named else None

    return find_link


def open_once(digest: bytes, now: int) -> Script[bool]:
    """Count an opening of a link of limited openings; return whether it may be read.

    Two concurrent openings never exceed the limit together.
    """

    async def count_opening(transaction: Transaction) -> bool:
        readable = await by_digest(digest)(transaction)
        if readable is None or not readable.opens_at(now):
            return False
        counted = await transaction.execute(
            "UPDATE publications SET opened = opened + 1 WHERE id = $1::uuid AND opened < openings",
            readable.link.publication_id,
        )
        return counted == 1

    return count_opening


def expire(before: int) -> Script[bool]:
    """Delete some links that ended before a time (ms); return whether there may be more.

    Those that were taken down stay, so that their owners see it.
    """
    ended = "COALESCE(revoked_at, expires_at) < $1 AND taken_down_at IS NULL"
    return delete_ended("publications", "id", ended, before)


async def forget_creator(transaction: Transaction, account_id: AccountId) -> None:
    """Leave the links of an account that is being removed to their workspaces.

    Those that open nothing, because the account is disabled or may not publish, go with it.
    """
    await transaction.execute(
        "DELETE FROM publications WHERE created_by_id = $1::uuid AND taken_down_at IS NULL"
        " AND EXISTS (SELECT 1 FROM accounts WHERE id = $1::uuid"
        " AND (state = 'disabled' OR controls_publishing = 0))",
        account_id,
    )
    await transaction.execute(
        "UPDATE publications SET created_by_id = NULL WHERE created_by_id = $1::uuid", account_id
    )


def _link(row: Row) -> PublishedLink:
    publication_id, workspace_id, file_id, folder, *others = row
    if file_id is None:
        target = LinkTarget("folder", None, folder)
    else:
        target = LinkTarget("note", FileId(file_id), "")
    return PublishedLink(publication_id, workspace_id, target, *others)
