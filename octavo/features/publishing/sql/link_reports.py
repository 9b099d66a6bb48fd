"""Reports of published links: submit, list, dismiss, and take links down."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from octavo_rules.identity import AccountId, WorkspaceId

from octavo.features.accounts.sql.accounts import require_administrator
from octavo.features.mail import sql as outbox
from octavo.features.mail.rules import MailKind, queued
from octavo.features.publishing import rules
from octavo.features.publishing.rules import PublicationId, ReportId
from octavo.store.identifiers import LAST
from octavo.store.transaction import Row, Script, Transaction, Value

NewMailId = Callable[[], str]
"""Returns an id for a message."""

MAX_OPEN = 20
"""Open reports of one link that are kept; further ones add nothing."""

QUIET = 3_600_000
"""Milliseconds after a message to administrators in which no other report causes one."""
_RECENT = "SELECT 1 FROM link_reports WHERE mailed = 1 AND reported_at > $1 LIMIT 1"
_MAILED = "UPDATE link_reports SET mailed = 1 WHERE id = $1::uuid"
_INSERT = """
    INSERT INTO link_reports (id, publication_id, digest, reason, note, reported_at)
    SELECT $1::uuid, publications.id, $3, $4, $5, $6 FROM publications
    WHERE publications.id = COALESCE(
        (SELECT id FROM publications WHERE digest = $2),
        (SELECT publication_id FROM link_reports WHERE digest = $2)
    ) AND revoked_at IS NULL AND taken_down_at IS NULL
        AND (expires_at IS NULL OR expires_at > $6) AND (
            SELECT COUNT(*) FROM link_reports WHERE publication_id = publications.id
        ) < $7
"""
_LIST = """
    SELECT link_reports.id, publication_id, workspace_id, reason, note, reported_at
    FROM link_reports JOIN publications ON publications.id = publication_id
    WHERE link_reports.id < $1::uuid ORDER BY link_reports.id DESC LIMIT $2
"""
_LINK = """
    SELECT publications.id, workspace_id FROM link_reports
    JOIN publications ON publications.id = publication_id WHERE link_reports.id = $1::uuid
"""


# Both outcomes of a report take a commit, so that their times are alike.
_WRITE_SOMETHING = "UPDATE installation SET registration_policy = registration_policy"
_ADMINISTRATORS = """
    SELECT address FROM accounts
    WHERE role = 'administrator' AND state = 'enabled' AND controls_locked = 0 ORDER BY id LIMIT 10
"""
_OWNERS = """
    SELECT accounts.address FROM members JOIN accounts ON accounts.id = members.account_id
    WHERE members.workspace_id = $1::uuid AND members.role = 'owner' ORDER BY members.joined_at
"""
_WAITING = "SELECT 1 FROM outbox WHERE kind = $1 AND address = $2"


class TakenDown(NamedTuple):
    """A link that was taken down, and its workspace."""

    publication_id: PublicationId
    workspace_id: WorkspaceId


def submit(
    report_id: ReportId,
    token: bytes,
    address: bytes,
    *,
    reason: rules.Reason,
    note: str | None,
    now: int,
    new_mail_id: NewMailId | None,
) -> Script[bool]:
    """Store a report of a live link, and a message to administrators; return whether it was stored.

    Nothing is stored for any other token, nor for a link with `MAX_OPEN` open reports. ``token`` is
    the digest of the reported token, ``address`` that of the token of the report; ``now`` is in
    milliseconds. Without ``new_mail_id``, no message is added.
    """

    async def insert_report(transaction: Transaction) -> bool:
        inserted = await transaction.execute(
            _INSERT, report_id, token, address, reason, note, now, MAX_OPEN
        )
        await transaction.execute(_WRITE_SOMETHING)
        if inserted and await transaction.fetch_one(_RECENT, now - QUIET) is None:
            await transaction.execute(_MAILED, report_id)
            await _notify(transaction, _ADMINISTRATORS, (), "link_reported", now, new_mail_id)
        return inserted == 1

    return insert_report


def list_of(actor: AccountId, before: str | None, limit: int) -> Script[list[rules.LinkReport]]:
    """Return open reports for an administrator, the newest first, at most ``limit``.

    With ``before``, return those that follow the report of that id. Raises `NotAdministrator`.
    """

    async def read_reports(transaction: Transaction) -> list[rules.LinkReport]:
        await require_administrator(transaction, actor)
        rows = await transaction.fetch_all(_LIST, LAST if before is None else before, limit)
        return [rules.LinkReport(*row) for row in rows]

    return read_reports


def dismiss(report_id: ReportId, actor: AccountId) -> Script[PublicationId]:
    """Close a report for an administrator; return its link, which stays as it is.

    Raises `NotAdministrator` and `ReportMissing`.
    """

    async def delete_report(transaction: Transaction) -> PublicationId:
        await require_administrator(transaction, actor)
        row = await _link_of(transaction, report_id)
        await transaction.execute("DELETE FROM link_reports WHERE id = $1::uuid", report_id)
        return PublicationId(row[0])

    return delete_report


def take_down(
    report_id: ReportId, actor: AccountId, now: int, *, new_mail_id: NewMailId | None
) -> Script[TakenDown]:
    """Take the link of a report down for an administrator, and close all of its reports.

    ``now`` is in milliseconds. Messages to the owners of the workspace are added to the outbox,
    unless ``new_mail_id`` is None. Raises `NotAdministrator` and `ReportMissing`.
    """

    async def take_link_down(transaction: Transaction) -> TakenDown:
        await require_administrator(transaction, actor)
        publication_id, workspace_id = await _link_of(transaction, report_id)
        await transaction.execute(
            "UPDATE publications SET taken_down_at = $2 WHERE id = $1::uuid", publication_id, now
        )
        await transaction.execute(
            "DELETE FROM link_reports WHERE publication_id = $1::uuid", publication_id
        )
        await _notify(transaction, _OWNERS, (workspace_id,), "link_taken_down", now, new_mail_id)
        return TakenDown(publication_id, workspace_id)

    return take_link_down


async def _notify(
    transaction: Transaction,
    sql: str,
    arguments: tuple[Value, ...],
    kind: MailKind,
    now: int,
    new_mail_id: NewMailId | None,
) -> None:
    """Add a message to each address that ``sql`` selects, unless an equal one waits there."""
    if new_mail_id is None:
        return
    for row in await transaction.fetch_all(sql, *arguments):
        if await transaction.fetch_one(_WAITING, kind, row[0]) is None:
            await outbox.insert(transaction, queued(new_mail_id(), kind, row[0], now))


async def _link_of(transaction: Transaction, report_id: ReportId) -> Row:
    row = await transaction.fetch_one(_LINK, report_id)
    if row is None:
        raise rules.ReportMissing
    return row
