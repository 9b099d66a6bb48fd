"""Notifications between the processes on one database, sent when a transaction commits."""

from typing import NamedTuple

from octavo_rules.identity import AccountId, Cursor, Position, RevisionId, WorkspaceId

from octavo.store.transaction import Transaction

CHANNEL = "octavo_notices"
_GONE = "gone"
_ACCESS = "access"


class CursorNotice(NamedTuple):
    """The new cursor of a workspace; None if it was deleted."""

    workspace_id: WorkspaceId
    cursor: Cursor | None


class AccessNotice(NamedTuple):
    """A credential or a membership of an account has changed."""

    account_id: AccountId


async def notify_change(
    transaction: Transaction, workspace_id: WorkspaceId, cursor: Cursor
) -> None:
    """Notify the other processes of a changeset, once it is committed."""
    await transaction.notify(*change_notice(workspace_id, cursor))


def change_notice(workspace_id: WorkspaceId, cursor: Cursor) -> tuple[str, str]:
    """Return the channel and the payload of a notice of a changeset."""
    return CHANNEL, f"{workspace_id} {cursor.position} {cursor.mark}"


async def notify_deletion(transaction: Transaction, workspace_id: WorkspaceId) -> None:
    """Notify the other processes that a workspace was deleted, once that is committed."""
    await transaction.notify(CHANNEL, f"{workspace_id} {_GONE}")


async def notify_access(transaction: Transaction, account_id: AccountId) -> None:
    """Notify the other processes that rights of an account changed, once that is committed."""
    await transaction.notify(CHANNEL, f"{account_id} {_ACCESS}")


def read_notice(payload: str) -> CursorNotice | AccessNotice:
    """Parse a payload; raise ValueError for one that no process of Octavo sends."""
    subject, what, *mark = payload.split(" ")
    if what == _ACCESS and not mark:
        return AccessNotice(AccountId(subject))
    workspace_id = WorkspaceId(subject)
    if what == _GONE and not mark:
        return CursorNotice(workspace_id, None)
    [of_position] = mark
    return CursorNotice(workspace_id, Cursor(Position(int(what)), RevisionId(of_position)))
