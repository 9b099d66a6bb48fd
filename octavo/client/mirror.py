"""A copy of a workspace in memory that follows its changes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from types import MappingProxyType

import trio

from octavo.client.errors import (
    ConnectionFailed,
    NotFoundError,
    ProblemError,
    RateLimitedError,
    SnapshotCut,
    UnavailableError,
    WorkspaceGoneError,
)
from octavo.client.notices import Changed, Gone
from octavo.client.responses import FeedEntry
from octavo.client.workspace import WorkspaceClient
from octavo.model.identity import FileId, Position, RevisionId

_NO_COPY = Position(-1)
_TRANSIENT = (ConnectionFailed, RateLimitedError, UnavailableError)
_PURGED = 410


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
    """

    def __init__(self, workspace: WorkspaceClient, *, poll_every: float = 60.0) -> None:
        self.position = _NO_COPY
        self._workspace = workspace
        self._poll_every = poll_every
        self._notes: dict[FileId, Note] = {}
        # A change of the newest changeset in the copy. As long as the server has it, the history of
        # the workspace includes the copy. None: unknown, or there is no changeset.
        self._newest: FeedEntry | None = None
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

        If the copy has changes that the server no longer has, as after a restored backup, it is
        made again from a snapshot, whatever position the workspace has reached; `position` may
        decrease.
        """
        async with self._pulling:
            if not await self._caught_up():
                await self._copy()

    async def wait_for(self, position: Position) -> None:
        """Wait until the copy has all changes up to ``position``; requires a concurrent `run`.

        After a restored backup, the change at this position may be a different one.
        """
        while self.position < position:
            await self._waiting.park()

    async def run(
        self,
        heard: Callable[[Changed], None] | None = None,
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
        notified = _NO_COPY
        async with self._workspace.notices() as notices:
            while True:
                notice: Changed | Gone | None = None
                with trio.move_on_after(self._poll_every):
                    notice = await anext(notices)
                if isinstance(notice, Gone):
                    raise WorkspaceGoneError(f"the workspace is gone: {notice.reason}")
                if notice is not None and heard is not None:
                    heard(notice)
                # A reopened stream sends the position of the workspace. If it has not advanced, the
                # workspace may have been restored from a backup.
                if notice is None or notice.position > self.position or notice.position <= notified:
                    await self._follow()
                notified = notified if notice is None else notice.position

    async def _follow(self) -> None:
        retrying, entropy = self._workspace.connection.retrying, self._workspace.connection.entropy
        failures = 0
        while True:
            try:
                await self.pull()
            except _TRANSIENT as error:
                failures += 1
                asked = error.retry_after if isinstance(error, ProblemError) else None
                await trio.sleep(retrying.wait(failures, entropy, asked))
            else:
                return

    async def _caught_up(self) -> bool:
        """Update the copy to the newest position; return False if it must be made again."""
        changed: list[FeedEntry] = []
        # Without a known change, read the entries at the position of the copy as well.
        position = self.position
        if self._newest is None and position > 0:
            position = Position(position - 1)
        try:
            async for page in self._workspace.feed(position):
                changed += page.entries
                position = page.next
        except ProblemError as problem:
            if not _is_ahead(problem):
                raise
            return False
        # Checked after the feed, the result holds for the feed, too: a lost change stays lost.
        if self._newest is not None and not await self._is_there(self._newest):
            return False
        self._apply(changed)
        self._arrive(position, changed)
        return True

    async def _is_there(self, entry: FeedEntry) -> bool:
        """Return whether the server has a change, or had it before the file was purged."""
        try:
            await self._workspace.revision(entry.file_id, entry.revision_id)
        except NotFoundError as problem:
            return problem.status == _PURGED
        return True

    async def _copy(self) -> None:
        retrying, entropy = self._workspace.connection.retrying, self._workspace.connection.entropy
        failures = 0
        while True:
            notes: list[FeedEntry] = []
            try:
                async with self._workspace.snapshot() as snapshot:
                    notes = [each async for each in snapshot]
            except SnapshotCut:
                failures += 1
                if failures >= retrying.attempts:
                    raise
                await trio.sleep(retrying.wait(failures, entropy))
            else:
                break
        self._notes.clear()
        self._newest = None
        self._apply(notes)
        assert snapshot.position is not None
        self._arrive(snapshot.position, notes)
        if self._newest is None:
            # The last change was a deletion, which only the feed has.
            await self._caught_up()

    def _apply(self, entries: Iterable[FeedEntry]) -> None:
        for each in entries:
            if each.state == "live" and each.path is not None and each.text is not None:
                self._notes[each.file_id] = Note(each.path, each.text, each.revision_id)
            else:
                self._notes.pop(each.file_id, None)

    def _arrive(self, position: Position, entries: Iterable[FeedEntry]) -> None:
        """Set the position; the smallest of the newest changes is the cheapest to check later."""
        newest = [each for each in entries if each.position == position]
        self._newest = min(newest, key=attrgetter("size"), default=self._newest)
        self.position = position
        self._waiting.unpark_all()


def _is_ahead(problem: ProblemError) -> bool:
    # The position is the only parameter that the feed can refuse.
    return problem.status == 400 and "/query/after" in str(problem.members.get("errors"))
