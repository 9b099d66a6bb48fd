"""A copy of a workspace in memory, which follows it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from types import MappingProxyType

import trio

from octavo.client.answers import FeedEntry
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
from octavo.client.workspace import WorkspaceClient
from octavo.model.identity import FileId, Position, RevisionId

_NOWHERE = Position(-1)
_PASSING = (ConnectionFailed, RateLimitedError, UnavailableError)
_PURGED = 410


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

    def __init__(self, workspace: WorkspaceClient, *, poll_every: float = 60.0) -> None:
        self.position = _NOWHERE
        self._workspace = workspace
        self._poll_every = poll_every
        self._notes: dict[FileId, Note] = {}
        # A change of the newest changeset in the copy: as long as the server has it, the workspace
        # goes on from the copy. None: not known, or there is no changeset.
        self._newest: FeedEntry | None = None
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

        A copy that holds changes which the server does not have any more is taken anew, as after
        a restored backup, whatever position the workspace has reached since; its `position` may
        become a lower one.
        """
        async with self._pulling:
            if not await self._caught_up():
                await self._copy()

    async def wait_for(self, position: Position) -> None:
        """Wait until the copy holds all changes up to ``position``; it takes a `run` elsewhere.

        Behind a restored backup that is the change which takes this position then.
        """
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

        As long as the server is away the copy stays as it is. Raises `WorkspaceGoneError`, and the
        `ClientError` that no waiting mends, such as `NotSignedIn`.
        """
        if self.position == _NOWHERE:
            await self.start()
        task_status.started()
        told = _NOWHERE
        async with self._workspace.notices() as notices:
            while True:
                notice: Changed | Gone | None = None
                with trio.move_on_after(self._poll_every):
                    notice = await anext(notices)
                if isinstance(notice, Gone):
                    raise WorkspaceGoneError(f"nothing is told of the workspace: {notice.reason}")
                if notice is not None and heard is not None:
                    heard(notice)
                # A stream that was opened again tells where the workspace is, and that is not
                # further on: it may be another one now, out of a backup.
                if notice is None or notice.position > self.position or notice.position <= told:
                    await self._follow()
                told = told if notice is None else notice.position

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

    async def _caught_up(self) -> bool:
        """Bring the copy up to the newest position; False when the workspace is not that of it."""
        changed: list[FeedEntry] = []
        # Without a mark, what stands at the position of the copy is wanted, too.
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
        # Asked behind the feed, the answer holds for the feed, too: what is lost stays lost.
        if self._newest is not None and not await self._is_there(self._newest):
            return False
        self._apply(changed)
        self._arrive(position, changed)
        return True

    async def _is_there(self, entry: FeedEntry) -> bool:
        """Whether the server has a change, or had it before the file was purged."""
        try:
            await self._workspace.revision(entry.file_id, entry.revision_id)
        except NotFoundError as problem:
            return problem.status == _PURGED
        return True

    async def _copy(self) -> None:
        retrying, chance = self._workspace.calling.retrying, self._workspace.calling.chance
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
                await trio.sleep(retrying.wait(failures, chance))
            else:
                break
        self._notes.clear()
        self._newest = None
        self._apply(notes)
        assert snapshot.position is not None
        self._arrive(snapshot.position, notes)
        if self._newest is None:
            # What was changed last is deleted; only the feed tells.
            await self._caught_up()

    def _apply(self, entries: Iterable[FeedEntry]) -> None:
        for each in entries:
            if each.state == "live" and each.path is not None and each.text is not None:
                self._notes[each.file_id] = Note(each.path, each.text, each.revision_id)
            else:
                self._notes.pop(each.file_id, None)

    def _arrive(self, position: Position, entries: Iterable[FeedEntry]) -> None:
        """Be at ``position``, by ``entries``; the smallest of the newest changes costs least."""
        newest = [each for each in entries if each.position == position]
        self._newest = min(newest, key=attrgetter("size"), default=self._newest)
        self.position = position
        self._waiting.unpark_all()


def _is_ahead(problem: ProblemError) -> bool:
    # The position is all that a mirror asks by, and the feed refuses it for nothing else.
    return problem.status == 400 and "/query/after" in str(problem.members.get("errors"))
