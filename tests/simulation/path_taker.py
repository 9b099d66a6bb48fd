"""Others who take the paths at which a restoration is about to bring files back."""

from collections.abc import Awaitable, Callable, Sequence
from random import Random

import trio
from octavo_rules.content import note_text
from octavo_rules.identity import FileId, Position

from octavo.features.history.rules.restoration import DivergedFile
from octavo.features.history.rules.reversion import has_same_state
from octavo.features.history.sql import restorations as rows
from octavo.features.history.sql.past_states import states_since
from octavo.features.history.sql.restorations import RestorationKey
from octavo.model.files.changeset import ChangeOperation, CreateFile, UpdateFile
from tests.simulation.disk import Disk

PATIENCE = 10.0
"""Seconds for which they try."""
MOST = 3
"""How many paths they take."""

Push = Callable[[tuple[ChangeOperation, ...], Random], Awaitable[bool]]
"""Sends a changeset of others; returns whether it was accepted."""


async def take_paths(
    disk: Disk, key: RestorationKey, push: Push, new_id: Callable[[], str], random: Random
) -> None:
    """Create files at paths that a restoration needs next, or move files to them."""
    taken = 0
    operation: ChangeOperation | None = None
    with trio.move_on_after(PATIENCE):
        while taken < MOST:
            # After a commit, the path may be free that was not before.
            if operation is not None and await push((operation,), random):
                taken += 1
            found = await disk.read(rows.find(key))
            if found is not None and found.state != "running":
                return
            operation = None
            if found is not None:
                script = states_since(key.workspace_id, found.asked.target)
                changed = (await disk.read(script)).changed
                path = _needed(changed, found.start_position, random)
                operation = None if path is None else _taking(path, changed, new_id, random)
            await disk.wait_for_a_commit()


def _needed(changed: Sequence[DivergedFile], present: Position, random: Random) -> str | None:
    """Return the path of a file that is to come back; None for nothing to take now.

    One that was deleted for now comes first: when another file has its former path already, and its
    own is taken as soon as a third one has left it, it can't come back.
    """
    away: list[str] = []
    others: list[str] = []
    for head, past in changed:
        if past is not None and past.state == "live" and not has_same_state(head, past):
            deleted_since = head.state == "deleted" and head.position > present
            (away if deleted_since else others).append(past.path)
    if away:
        return random.choice(away)
    return random.choice(others) if others and random.random() < 0.1 else None


def _taking(
    path: str, changed: Sequence[DivergedFile], new_id: Callable[[], str], random: Random
) -> ChangeOperation:
    """Return the operation that takes a path, for a new file or for one that is elsewhere."""
    live = [head for head, _ in changed if head.state == "live" and head.path != path]
    if live and random.random() < 0.3:
        moved = random.choice(live)
        return UpdateFile(moved.file_id, frozenset({str(moved.revision_id)}), path=path)
    return CreateFile(FileId(new_id()), path, note_text(f"In the way: {path}"))
