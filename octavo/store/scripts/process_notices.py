"""What processes on one database send each other when a commit concerns listeners."""

from typing import NamedTuple

from octavo.model.identity import AccountId, Position, WorkspaceId
from octavo.store.transaction import Transaction

CHANNEL = "octavo_notices"
_GONE = "gone"
_ACCESS = "access"


class PositionNotice(NamedTuple):
    """A new position of a workspace; None if it was deleted."""

    workspace_id: WorkspaceId
    position: Position | None


class AccessNotice(NamedTuple):
    """A credential or a membership of an account has changed."""

    account_id: AccountId


async def notify_position(
    transaction: Transaction, workspace_id: WorkspaceId, position: Position
) -> None:
    """Notify the other processes of a position, once it is committed."""
    await transaction.notify(*position_notice(workspace_id, position))


def position_notice(workspace_id: WorkspaceId, position: Position) -> tuple[str, str]:
    """Return the channel and the payload of a notice of a position."""
    return CHANNEL, f"{workspace_id} {position}"


async def notify_deletion(transaction: Transaction, workspace_id: WorkspaceId) -> None:
    """Notify the other processes that a workspace was deleted, once that is committed."""
    await transaction.notify(CHANNEL, f"{workspace_id} {_GONE}")


async def notify_access(transaction: Transaction, account_id: AccountId) -> None:
    """Notify the other processes that rights of an account changed, once that is committed."""
    await transaction.notify(CHANNEL, f"{account_id} {_ACCESS}")


def read_notice(payload: str) -> PositionNotice | AccessNotice:
    """Return what ``payload`` says; raise ValueError when no process of Octavo sent it."""
    subject, what = payload.split(" ")
    if what == _ACCESS:
        return AccessNotice(AccountId(subject))
    return PositionNotice(WorkspaceId(subject), None if what == _GONE else Position(int(what)))
