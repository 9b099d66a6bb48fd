"""A copy of a workspace in memory that follows its changes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import trio
from octavo_rules.identity import FileId, Position, RevisionId
from octavo_rules.schemas import FeedEntry

from octavo_client import errors
from octavo_client.notices import WorkspaceChanged, WorkspaceGone
from octavo_client.workspace import WorkspaceClient

_NO_COPY = Position(-1)
_TRANSIENT = (errors.ConnectionFailed, errors.RateLimitedError, errors.UnavailableError)


@dataclass(frozen=True, slots=True)
class Note:
    """A note of the copy."""

    path: str
    text: str
    revision_id: RevisionId


class Mirror:
    """The notes of a workspace, exact at one position.

    ::

        mirror = Mirror(workspace)
        async with trio.open_nursery() as nursery:
            await nursery.start(mirror.run)
            change = await workspace.create("a.md", "text")
            await mirror.wait_for(change.position)

    Args:
        workspace: the workspace to copy.
        poll_every: seconds after which the feed is read even without a notification.

    Attributes:
        position: the position of the copy; -1 before there is one.
        mark: the mark of the position; None before there is a copy.
    """

    def __init__(self, workspace: WorkspaceClient, *, poll_every: float = 60.0) -> None:
        self.position = _NO_COPY
        self.mark: RevisionId | None = None
        self._workspace = workspace
        self._poll_every = poll_every
        self._notes: dict[FileId, Note] = {}
        self._pulling = trio.Lock()
        self._waiting = trio.lowlevel.ParkingLot()

    @property
    def notes(self) -> Mapping[FileId, Note]:
        """The notes at `position`; they may change whenever the caller awaits."""
        return MappingProxyType(self._notes)

    async def start(self) -> None:
        """Make the first copy from a snapshot, retried if it is cut. Raises `ClientError`."""
        async with self._pulling:
            await self._copy()

    async def pull(self) -> None:
        """Update the copy to the newest position, entirely or not at all. Raises `ClientError`.

        If the history of the server does not have the position of the copy with its mark, as after
        a restored backup, the copy is made again from a snapshot; `position` may decrease.
        """
        async with self._pulling:
            try:
                await self._catch_up()
            except errors.CursorUnknownError:
                await self._copy()

    async def wait_for(self, position: Position) -> None:
        """Wait until the copy has all changes up to ``position``; requires a concurrent `run`.

        After a restored backup, the change at this position may be a different one.
        """
        while self.position < position:
            await self._waiting.park()

    async def run(
        self,
        heard: Callable[[WorkspaceChanged], None] | None = None,
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Make the copy if needed, then follow the workspace until cancelled.

        Args:
            heard: called with each notification, before the copy is updated.
            task_status: started when there is a copy.

        While the server is unavailable the copy remains unchanged. Raises `WorkspaceGoneError`, and
        any `ClientError` that is not transient, such as `NotSignedInError`.
        """
        if self.position == _NO_COPY:
            await self.start()
        task_status.started()
        async with self._workspace.notices() as notices:
            while True:
                notice: WorkspaceChanged | WorkspaceGone | None = None
                with trio.move_on_after(self._poll_every):
                    notice = await anext(notices)
                if isinstance(notice, WorkspaceGone):
                    raise errors.WorkspaceGoneError(f"the workspace is gone: {notice.reason}")
                if notice is not None and heard is not None:
                    heard(notice)
                if notice is None or (notice.position, notice.mark) != (self.position, self.mark):
                    await self._follow()

    async def _follow(self) -> None:
        retrying, entropy = self._workspace.connection.retrying, self._workspace.connection.entropy
        failures = 0
        while True:
            try:
                await self.pull()
            except _TRANSIENT as error:
                failures += 1
                asked = error.retry_after if isinstance(error, errors.ProblemError) else None
                await trio.sleep(retrying.wait(failures, entropy, asked))
            else:
                return

    async def _catch_up(self) -> None:
        changed: list[FeedEntry] = []
        position, mark = self.position, self.mark
        async for page in self._workspace.feed(position, mark):
            changed += page.entries
            position, mark = page.next, page.next_mark
        self._apply(changed)
        self._arrive(position, mark)

    async def _copy(self) -> None:
        retrying, entropy = self._workspace.connection.retrying, self._workspace.connection.entropy
        failures = 0
        while True:
            notes: list[FeedEntry] = []
            try:
                async with self._workspace.snapshot() as snapshot:
                    notes = [entry async for entry in snapshot]
            except errors.SnapshotCut:
                failures += 1
                if failures >= retrying.attempts:
                    raise
                await trio.sleep(retrying.wait(failures, entropy))
            else:
                break
        self._notes.clear()
        self._apply(notes)
        assert snapshot.position is not None
        self._arrive(snapshot.position, snapshot.mark)

    def _apply(self, entries: Iterable[FeedEntry]) -> None:
        for entry in entries:
            if entry.state == "live" and entry.path is not None and entry.text is not None:
                self._notes[entry.file_id] = Note(entry.path, entry.text, entry.revision_id)
            else:
                self._notes.pop(entry.file_id, None)

    def _arrive(self, position: Position, mark: RevisionId | None) -> None:
        self.position, self.mark = position, mark
        self._waiting.unpark_all()
