"""Run restorations of workspaces: requested ones, and those that a process left unfinished.

A restoration runs under the supervision of the service, not of the request that started it. The
database records how far each is, so that another process can continue it. Two processes may run the
same one: the identifiers of its changesets let each take effect once.
"""

import hashlib
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Protocol

import trio
from attrs import define, field
from greenroom import ActorError, Directory
from octavo_rules.content import NoteText, note_text
from octavo_rules.identity import AccountId, Digest, FileId, MutationId, WorkspaceId
from octavo_rules.problems import Problem

from octavo.actors.workspace.messages import (
    ChangesetRefused,
    CommitFailed,
    NoWorkspace,
    Push,
    WorkspaceMessage,
)
from octavo.features.history.rules.restoration import (
    MAX_BYTES,
    BatchSizes,
    Begun,
    LeftFile,
    Restoration,
    RestorationPace,
    batches,
    restoration,
)
from octavo.features.history.rules.reversion import OUTDATED_BY, Reversion, operation_of
from octavo.features.history.sql import past_states, restorations
from octavo.features.history.sql.past_states import StatesSince
from octavo.features.history.sql.restorations import RestorationKey, StoredRestoration, unfinished
from octavo.model.files.changeset import ChangeOperation, Changeset, derived_id
from octavo.model.files.revision import Revision
from octavo.model.workspace import grants
from octavo.store import Store, StoreError
from octavo.store.queries import accounts as account_rows
from octavo.store.queries import files, workspaces
from octavo.store.queries.changesets import committed_changes

MAX_ATTEMPTS = 20
"""How often a restoration is planned without a commit in between before it is postponed."""
_FEW = 500
_PRUNED = "It was interrupted for so long that earlier revisions may have been removed."
_FORBIDDEN = (
    "The account whose changes these are may not change the workspace any more: somebody who may "
    "can let it go on."
)


class RestorationPostponed(Exception):
    """Others change the files all the time: the restoration goes on later."""


class _Stopped(Exception):
    """The restoration can't go on."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


def changeset_id(key: RestorationKey, number: int) -> MutationId:
    """Return the identifier of the ``number``-th changeset of a restoration, from 1 on."""
    return MutationId(derived_id(key.restoration_id, key.workspace_id, "changeset", number))


def changeset_ids(key: RestorationKey, steps: int) -> frozenset[MutationId]:
    """Return the identifiers of the changesets that a restoration has made."""
    return frozenset(changeset_id(key, number) for number in range(1, steps + 1))


async def plan(states: StatesSince, folder: str, begun: Begun | None = None) -> Restoration:
    """Return what a restoration does, computed in a thread if there are many files."""
    if len(states.changed) + len(states.others) <= _FEW:
        return restoration(*states, folder, begun)
    return await trio.to_thread.run_sync(
        lambda: restoration(*states, folder, begun), abandon_on_cancel=True
    )


@define(eq=False)
class RestorationRunner:
    """Runs restorations that were recorded.

    Args:
        store: the store of the workspaces.
        workspaces: their actors.
        now: returns Unix time in seconds.
        kept: milliseconds for which all revisions are stored.
        sizes: the sizes of changesets.
    """

    _store: Store
    _workspaces: Directory[WorkspaceId, WorkspaceMessage]
    _now: Callable[[], float]
    _kept: int
    _sizes: BatchSizes = field(factory=BatchSizes)

    async def run(self, key: RestorationKey) -> None:
        """Run a restoration to its end, and record it.

        Raises `RestorationPostponed`, and the failures of the database and of the actor. The next
        run continues it then, and also after a cancellation.
        """
        stored = await self._store.read(restorations.find(key))
        if stored is None or stored.state != "running":
            return
        try:
            run = _Run(self._store, self._workspaces, stored, self._ms, self._sizes)
            await run.require_history(self._ms() - self._kept)
            await run.run()
        except NoWorkspace:
            # Nobody will ask for it any more.
            await self.stop(key, "not_found", "The workspace was deleted.")
        except _Stopped as stopped:
            await self.stop(key, stopped.code, stopped.detail)

    async def stop(self, key: RestorationKey, code: str, detail: str) -> None:
        """Record why a restoration has failed. It continues when it is requested again."""
        await self._store.write(restorations.fail(key, code, detail, self._ms()))

    def _ms(self) -> int:
        return int(self._now() * 1000)


class _Run:
    """One run of a restoration."""

    def __init__(
        self,
        store: Store,
        workspaces: Directory[WorkspaceId, WorkspaceMessage],
        stored: StoredRestoration,
        now: Callable[[], int],
        sizes: BatchSizes,
    ) -> None:
        self._store = store
        self._workspaces = workspaces
        self._stored = stored
        self._key = stored.key
        self._now = now
        self._sizes = sizes
        self._steps = stored.steps
        self._last = stored.last_position
        self._done = stored.done
        self._pace = RestorationPace()
        self._unacceptable: set[FileId] = set()
        self._irretrievable: set[FileId] = set()
        # The files that get their former states back at present.
        self._reinstated: frozenset[FileId] = frozenset()

    async def require_history(self, earliest: int) -> None:
        """Raise `_Stopped` if revisions that it needs may have been pruned."""
        past = await self._store.read(
            past_states.past_position(self._key.workspace_id, self._stored.asked.target)
        )
        if past is not None and past.changed_at is not None and past.changed_at < earliest:
            raise _Stopped("history_pruned", _PRUNED)

    async def run(self) -> None:
        attempts = 0
        while True:
            await self._count_committed()
            planned = await self._plan()
            self._done = planned.returned
            self._reinstated = frozenset(reversion.head.file_id for reversion in planned.reinstated)
            pace = self._pace
            todo = batches(planned.pending, self._sizes, pace)
            if not todo:
                await self._finish(planned.left)
                return
            before = self._progress
            targets = {reversion.head.file_id: reversion.target for reversion in planned.reversions}
            for batch in todo:
                if not await self._return_files(batch, targets) or pace.most < self._sizes.step:
                    # Plan again: after a commit, changesets may have more files.
                    break
            attempts = 0 if self._progress > before else attempts + 1
            if attempts == MAX_ATTEMPTS:
                raise RestorationPostponed("Others change the files all the time.")

    @property
    def _progress(self) -> int:
        """A number that grows with what is done, and with what is known to be refused."""
        refused = (self._unacceptable, self._irretrievable, self._pace.last)
        return self._steps + sum(map(len, refused))

    async def _count_committed(self) -> None:
        """Count the changesets that were committed and not recorded."""
        while True:
            script = committed_changes(self._key.workspace_id, self._changeset_id(self._steps + 1))
            committed = await self._store.read(script)
            if committed is None:
                return
            self._steps, self._last = self._steps + 1, committed[1]

    async def _plan(self) -> Restoration:
        asked = self._stored.asked
        script = past_states.states_since(self._key.workspace_id, asked.target)
        states = await self._store.read_much(script)
        own = frozenset(self._changeset_id(number) for number in range(1, self._steps + 1))
        refused = (frozenset(self._unacceptable), frozenset(self._irretrievable))
        begun = Begun(self._stored.start_position, own, *refused)
        return await plan(states, asked.folder, begun)

    async def _return_files(
        self, batch: tuple[Reversion, ...], targets: Mapping[FileId, Revision | None]
    ) -> bool:
        """Commit one changeset; return False if the rest has to be planned again.

        ``targets`` are the final states of the files: one that is only deleted for now, or gets
        its former state back, has another target there, or none.
        """
        account_id = await self._author()
        operations = await self._operations(batch)
        if operations is None:
            return False
        number = self._steps + 1
        changeset = Changeset(
            self._changeset_id(number),
            _fingerprint(self._key),
            account_id,
            operations,
            origin="restore",
        )
        try:
            receipt = await self._workspaces.ask(self._key.workspace_id, Push(changeset))
        except ChangesetRefused as refused:
            self._consider(refused.refusal, [reversion.head.file_id for reversion in batch])
            return False
        self._pace = self._pace.after_commit()
        self._steps, self._last = number, receipt.position
        self._done += sum(
            reversion.head.file_id in targets
            and reversion.target is targets[reversion.head.file_id]
            for reversion in batch
        )
        await self._record()
        return True

    def _consider(self, refusal: Problem, refused: Collection[FileId]) -> None:
        """Let the next plan avoid the refusal of a changeset. Raises `_Stopped` if it can't."""
        if isinstance(refusal, OUTDATED_BY):
            self._pace = self._pace.after_refusal(refused)
            return
        file_id = refusal.file_id
        if file_id is not None and file_id not in self._unacceptable:
            self._unacceptable.add(file_id)
        elif file_id in self._reinstated - self._irretrievable:
            self._irretrievable.add(file_id)
        else:
            raise _Stopped(refusal.code, refusal.detail)

    async def _author(self) -> AccountId:
        """Return the author of the next changeset. Raises `_Stopped` for one who may not write.

        It is read each time: after a failure in another process, somebody else may continue it.
        """
        workspace = self._key.workspace_id
        stored = await self._store.read(restorations.find(self._key))
        account = self._stored.author if stored is None else stored.author
        state = await self._store.read(account_rows.state_of(account))
        role = await self._store.read(workspaces.role_of(workspace, account))
        if state != "enabled" or role is None or not grants(role, "write"):
            raise _Stopped("forbidden", _FORBIDDEN)
        return account

    async def _operations(self, batch: Iterable[Reversion]) -> tuple[ChangeOperation, ...] | None:
        """Return the operations of a changeset; None when a text is not stored any more."""
        named = [
            reversion.target.revision_id
            for reversion in batch
            if reversion.target is not None and reversion.needs_text
        ]
        texts: dict[FileId, NoteText] = {}
        if named:
            script = files.files(self._key.workspace_id, [], named, MAX_BYTES)
            _, stored = await self._store.read_much(script)
            texts = {
                file.revision.file_id: note_text(file.text)
                for file in stored
                if file.text is not None
            }
            if len(texts) < len(named):
                return None
        return tuple(
            operation_of(reversion, texts.get(reversion.head.file_id)) for reversion in batch
        )

    async def _record(self) -> None:
        script = restorations.record_step(
            self._key, self._steps, self._last, self._done, self._now()
        )
        await self._store.write(script)

    async def _finish(self, left: tuple[LeftFile, ...]) -> None:
        await self._record()
        await self._store.write(restorations.finish(self._key, self._done, left, self._now()))

    def _changeset_id(self, number: int) -> MutationId:
        return changeset_id(self._key, number)


def _fingerprint(key: RestorationKey) -> Digest:
    text = f"restoration\n{key.workspace_id}\n{key.restoration_id}"
    return Digest(hashlib.sha256(text.encode()).hexdigest()[:32])


STALLED_SECONDS = 60.0
"""Seconds after the last step of a restoration until another process continues it."""
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 60.0
"""Seconds until a postponed restoration is tried again; doubled after each further failure."""
_AT_ONCE = 4
_FOUND_AT_ONCE = 100

_log = logging.getLogger(__name__)


class Runner(Protocol):
    """What `RestoringJob` needs of `RestorationRunner`."""

    async def run(self, key: RestorationKey) -> None:
        """Run a restoration to its end."""

    async def stop(self, key: RestorationKey, code: str, detail: str) -> None:
        """Record why a restoration can't go on."""


class _Requests:
    """Requests to run one restoration, each with the event of its end.

    A run serves the requests that came before it began. A later one needs another run: it may
    resume the restoration after this run has recorded a failure.
    """

    def __init__(self) -> None:
        self._served: list[trio.Event] = []
        self._later: list[trio.Event] = []
        self._came = trio.Event()

    def add(self) -> trio.Event:
        """Add a request; return the event of the end of the run that serves it."""
        ended = trio.Event()
        self._later.append(ended)
        self._came.set()
        return ended

    def begin(self) -> None:
        """Let the run that begins now serve all requests."""
        self._served += self._later
        self._later = []
        self._came = trio.Event()

    def end(self) -> bool:
        """Wake those who wait for the run; return whether there are later requests."""
        for ended in self._served:
            ended.set()
        self._served = []
        return bool(self._later)

    def give_up(self) -> None:
        """Wake everybody who waits."""
        self.begin()
        self.end()

    async def wait(self, seconds: float) -> None:
        """Wait for a later request, but not longer than some seconds."""
        with trio.move_on_after(seconds):
            await self._came.wait()


class RestoringJob:
    """Runs restorations.

    Args:
        store: the database.
        runner: runs one.
        now: the clock, in seconds of Unix time.
        alone: whether no other process uses the database: then unfinished ones continue at once.
        postponing: further errors after which a restoration goes on later.
    """

    def __init__(
        self,
        store: Store,
        runner: Runner,
        now: Callable[[], float],
        *,
        alone: bool,
        postponing: tuple[type[Exception], ...] = (),
    ) -> None:
        self._store = store
        self._runner = runner
        self._now = now
        self._alone = alone
        self._postponing: tuple[type[Exception], ...] = (
            ActorError,
            CommitFailed,
            StoreError,
            *postponing,
        )
        self._nursery: trio.Nursery | None = None
        self._requests: dict[RestorationKey, _Requests] = {}
        self._places = trio.CapacityLimiter(_AT_ONCE)

    async def run(self) -> None:
        """Run restorations until cancelled, which interrupts them."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            try:
                await self._go_on()
            finally:
                self._nursery = None
                for requests in self._requests.values():
                    requests.give_up()
                self._requests.clear()

    def start(self, key: RestorationKey) -> Callable[[], Awaitable[object]]:
        """Run a restoration that was recorded; return a function that waits for its end.

        If it is running already, it runs once more afterwards. The function also returns when the
        service stops; the restoration continues after the next start.
        """
        if self._nursery is None:
            return trio.lowlevel.checkpoint
        requests = self._requests.get(key)
        if requests is None:
            requests = self._requests[key] = _Requests()
            self._nursery.start_soon(self._run, key, requests)
        return requests.add().wait

    async def _go_on(self) -> None:
        """Continue the restorations that other processes left unfinished."""
        stalled = 0.0 if self._alone else STALLED_SECONDS
        while True:
            try:
                until = int((self._now() - stalled) * 1000)
                keys = await self._store.read(unfinished(until, _FOUND_AT_ONCE))
            except StoreError as error:
                _log.info("restorations go on later: %s", error)
            else:
                # Younger ones belong to this process.
                stalled = STALLED_SECONDS
                for key in keys:
                    if key not in self._requests:
                        self.start(key)
            await trio.sleep(STALLED_SECONDS)

    async def _run(self, key: RestorationKey, requests: _Requests) -> None:
        pause = FIRST_PAUSE
        try:
            while True:
                try:
                    async with self._places:
                        requests.begin()
                        await self._run_once(key)
                except self._postponing as error:
                    _log.info("a restoration goes on later: %s", error)
                    await requests.wait(pause)
                    pause = min(2 * pause, LONGEST_PAUSE)
                else:
                    if not requests.end():
                        return
                    pause = FIRST_PAUSE
        finally:
            if self._requests.get(key) is requests:
                del self._requests[key]
            requests.give_up()

    async def _run_once(self, key: RestorationKey) -> None:
        try:
            await self._runner.run(key)
        except self._postponing:
            raise
        except Exception:  # noqa: BLE001 - a defect ends this restoration, not the others
            _log.exception("the restoration %s failed", key.restoration_id)
            await self._runner.stop(key, "internal_error", "The server failed: try again.")
