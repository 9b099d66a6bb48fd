"""A copy of a workspace in memory, which follows it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import trio

from octavo.client.answers import Entry
from octavo.client.errors import (
    ConnectionFailed,
    ProblemError,
    RateLimited,
    SnapshotCut,
    Unavailable,
    WorkspaceGone,
)
from octavo.client.notices import Changed, Gone
from octavo.client.workspace import Workspace
from octavo.model.identity import FileId, Position, RevisionId

_NOWHERE = Position(-1)
_PASSING = (ConnectionFailed, RateLimited, Unavailable)


@dataclass(frozen=True, slots=True)
class Note:
    """A note of a copy."""

    path: str
    text: str
    revision_id: RevisionId


class Mirror:
    """The notes of a workspace, exactly as they are at one position.

    ::

        mirror = Mirror(workspace)
        async with trio.open_nursery() as nursery:
            await nursery.start(mirror.run)
            change = await workspace.create("a.md", "text")
            await mirror.wait_for(change.position)

    Args:
        workspace: what is copied.
        poll_every: seconds after which the feed is read in any case, as where there are no notices.

    Attributes:
        position: of the copy; -1 before there is one.
    """

    def __init__(self, workspace: Workspace, *, poll_every: float = 60.0) -> None:
        self.position = _NOWHERE
        self._workspace = workspace
        self._poll_every = poll_every
        self._notes: dict[FileId, Note] = {}
        self._pulling = trio.Lock()
        self._waiting = trio.lowlevel.ParkingLot()

    @property
    def notes(self) -> Mapping[FileId, Note]:
        """The notes as of `position`; they change whenever the caller waits."""
        return MappingProxyType(self._notes)

    async def start(self) -> None:
        """Take a first copy by a snapshot, anew if it is cut. Raises `ClientError`."""
        async with self._pulling:
            await self._copy()

    async def pull(self) -> None:
        """Bring the copy up to the newest position, at once or not at all. Raises `ClientError`.

        A copy that is ahead of the workspace, as after a restored backup, is taken anew.
        """
        async with self._pulling:
            changed: list[Entry] = []
            position = self.position
            try:
                async for page in self._workspace.feed(position):
                    changed += page.entries
                    position = page.next
            except ProblemError as problem:
                if not _is_ahead(problem):
                    raise
                await self._copy()
                return
            self._apply(changed)
            self._arrive(position)

    async def wait_for(self, position: Position) -> None:
        """Wait until the copy holds all changes up to ``position``; it takes a `run` elsewhere."""
        while self.position < position:
            await self._waiting.park()

    async def run(
        self,
        heard: Callable[[Changed], None] | None = None,
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Copy the workspace if that was not done, then follow it until cancelled.

        Args:
            heard: told of each notice when it comes, before the copy follows.
            task_status: started when there is a copy.

        As long as the server is away the copy stays as it is. Raises `WorkspaceGone`, and the
        `ClientError` that no waiting mends, such as `NotSignedIn`.
        """
        if self.position == _NOWHERE:
            await self.start()
        task_status.started()
        async with self._workspace.notices() as notices:
            while True:
                notice: Changed | Gone | None = None
                with trio.move_on_after(self._poll_every):
                    notice = await anext(notices)
                if isinstance(notice, Gone):
                    raise WorkspaceGone(f"nothing is told of the workspace: {notice.reason}")
                if notice is not None and heard is not None:
                    heard(notice)
                if notice is None or notice.position > self.position:
                    await self._follow()

    async def _follow(self) -> None:
        retrying, chance = self._workspace.calling.retrying, self._workspace.calling.chance
        failures = 0
        while True:
            try:
                await self.pull()
            except _PASSING as error:
                failures += 1
                asked = error.retry_after if isinstance(error, ProblemError) else None
                await trio.sleep(retrying.wait(failures, chance, asked))
            else:
                return

    async def _copy(self) -> None:
        retrying, chance = self._workspace.calling.retrying, self._workspace.calling.chance
        failures = 0
        while True:
            notes: list[Entry] = []
            try:
                async with self._workspace.snapshot() as snapshot:
                    notes = [each async for each in snapshot]
            except SnapshotCut:
                failures += 1
                if failures >= retrying.attempts:
                    raise
                await trio.sleep(retrying.wait(failures, chance))
            else:
                break
        self._notes.clear()
        self._apply(notes)
        assert snapshot.position is not None
        self._arrive(snapshot.position)

    def _apply(self, entries: Iterable[Entry]) -> None:
        for each in entries:
            if each.state == "live" and each.path is not None and each.text is not None:
                self._notes[each.file_id] = Note(each.path, each.text, each.revision_id)
            else:
                self._notes.pop(each.file_id, None)

    def _arrive(self, position: Position) -> None:
        self.position = position
        self._waiting.unpark_all()


def _is_ahead(problem: ProblemError) -> bool:
    # The position is all that a mirror asks by, and the feed refuses it for nothing else.
    return problem.status == 400 and "/query/after" in str(problem.members.get("errors"))
