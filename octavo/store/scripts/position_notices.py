"""What processes on one database send each other about workspaces."""

from octavo.model.identity import Position, WorkspaceId
from octavo.store.transaction import Transaction

CHANNEL = "octavo_positions"
_GONE = "gone"


async def notify_position(
    transaction: Transaction, workspace_id: WorkspaceId, position: Position
) -> None:
    """Notify the other processes of a position, once it is committed."""
    await transaction.notify(CHANNEL, f"{workspace_id} {position}")


async def notify_deletion(transaction: Transaction, workspace_id: WorkspaceId) -> None:
    """Notify the other processes that a workspace was deleted, once that is committed."""
    await transaction.notify(CHANNEL, f"{workspace_id} {_GONE}")


def read_notice(payload: str) -> tuple[WorkspaceId, Position | None]:
    """Return the workspace and its position, None if it was deleted; raise ValueError otherwise."""
    workspace_id, position = payload.split(" ")
    return WorkspaceId(workspace_id), None if position == _GONE else Position(int(position))
