"""New positions, as processes on one database tell them to each other."""

from octavo.model.identity import Position, WorkspaceId
from octavo.store.transaction import Transaction

CHANNEL = "octavo_positions"


async def announce(transaction: Transaction, workspace_id: WorkspaceId, position: Position) -> None:
    """Have the other processes told of a position, once it is committed."""
    await transaction.notify(CHANNEL, f"{workspace_id} {position}")


def read_announcement(payload: str) -> tuple[WorkspaceId, Position]:
    """Answer what `announce` told; raises ValueError for anything else."""
    workspace_id, position = payload.split(" ")
    return WorkspaceId(workspace_id), Position(int(position))
