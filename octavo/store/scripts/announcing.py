"""What processes on one database tell each other of workspaces."""

from octavo.model.identity import Position, WorkspaceId
from octavo.store.transaction import Transaction

CHANNEL = "octavo_positions"
_GONE = "gone"


async def announce(transaction: Transaction, workspace_id: WorkspaceId, position: Position) -> None:
    """Have the other processes told of a position, once it is committed."""
    await transaction.notify(CHANNEL, f"{workspace_id} {position}")


async def announce_gone(transaction: Transaction, workspace_id: WorkspaceId) -> None:
    """Have the other processes told that a workspace was deleted, once that is committed."""
    await transaction.notify(CHANNEL, f"{workspace_id} {_GONE}")


def read_announcement(payload: str) -> tuple[WorkspaceId, Position | None]:
    """Answer what was told, None for a workspace that is gone; raises ValueError for all else."""
    workspace_id, told = payload.split(" ")
    return WorkspaceId(workspace_id), None if told == _GONE else Position(int(told))
