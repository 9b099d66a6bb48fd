"""Run imports and exports: one for an account at once, and a few in the installation.

A job runs under the supervision of the service, not of the request that started it: a client that
leaves does not end an import. The table ``archive_jobs`` has the running jobs, so the limits hold
across processes. The slots of a process that dies are free after `LEASE_SECONDS`.
"""

import logging
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

import outcome
import trio
from octavo_rules.identity import AccountId, WorkspaceId
from octavo_rules.problems import Problem, TemporaryProblem

from octavo.features.archives import sql
from octavo.store import Store, StoreError

SECONDS = 10.0
"""How long a write counts as recent."""


class RecentWrites:
    """Remembers when anything but an import last wrote to a workspace of this process.

    ``elapsed`` returns a time in seconds.
    """

    def __init__(self, elapsed: Callable[[], float] = trio.current_time) -> None:
        self._elapsed = elapsed
        self._last = -math.inf
        self._importing: Counter[WorkspaceId] = Counter()

    @contextmanager
    def importing(self, workspace_id: WorkspaceId) -> Iterator[None]:
        """Ignore commits to a workspace that an import writes to; the import reports others.

        Each of two imports into one workspace reports the commits of the other.
        """
        self._importing[workspace_id] += 1
        try:
            yield
        finally:
            self._importing[workspace_id] -= 1
            if not self._importing[workspace_id]:
                del self._importing[workspace_id]

    def committed(self, workspace_id: WorkspaceId, _: object = None) -> None:
        """Record a commit to a workspace, unless an import writes to it."""
        if workspace_id not in self._importing:
            self.wrote()

    def wrote(self) -> None:
        """Record a write by anything but an import."""
        self._last = self._elapsed()

    def recent(self) -> bool:
        """Return whether a write was recorded in the last `SECONDS`."""
        return self._elapsed() - self._last < SECONDS


LEASE_SECONDS = 30.0
"""Seconds after which the slot of a job that does not renew it is free."""
RENEWAL_SECONDS = 8.0
"""Seconds between two renewals."""
_FREEING_SECONDS = 2.0

_log = logging.getLogger(__name__)

T = TypeVar("T")


async def free_slots_left(store: Store) -> None:
    """Free the slots that the only process of an installation left when it died.

    Call this before requests are served, which would otherwise find jobs that no longer run. If the
    database fails, the slots expire.
    """
    try:
        await store.write(sql.free_all_slots)
    except StoreError as error:
        _log.info("slots of archive jobs are freed later: %s", error)


class ArchiveJobRunning(TemporaryProblem):
    """The account has an import or an export that runs."""

    status, code = 429, "archive_job_running"
    summary = "An import or an export of this account is running: one at a time is possible."
    remedy = (
        "Wait until it has finished; an import shows its progress. An import that was refused by "
        "this can be completed later: its parts are kept."
    )
    heading = "Something of yours is still running"
    retry_after = 10


class ArchiveJobsBusy(TemporaryProblem):
    """Too many imports and exports run."""

    status, code = 503, "archive_jobs_busy"
    summary = "Too many imports and exports are running: try again soon."
    remedy = "Send the request again after the seconds in retry-after; parts of imports are kept."
    retry_after = 10


class JobStopped(ArchiveJobsBusy):
    """The job was cancelled: by `cancel`, the end of the service, or the loss of its slot."""


ARCHIVE_JOB_PROBLEMS: tuple[type[Problem], ...] = (ArchiveJobRunning, ArchiveJobsBusy)
"""The problems of every operation that starts a job."""


class _RunningJob(Generic[T]):
    """A job, and its result once it has ended."""

    def __init__(self, job: Callable[[], Awaitable[T]]) -> None:
        self._job = job
        self._ended = trio.Event()
        self._result: outcome.Outcome[T] = outcome.Error(JobStopped())

    async def run(self) -> None:
        """Run the job. If it is cancelled before it returns, its result is `JobStopped`."""
        try:
            self._result = outcome.Value(await self._job())
        except (trio.Cancelled, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001 - the caller gets any, and other jobs none
            if trio.current_effective_deadline() > -math.inf:
                self._result = outcome.Error(error)
                return
            # The caller must not be cancelled with the tasks of the job.
            failed: BaseException | None = error
            if isinstance(error, BaseExceptionGroup):
                failed = error.split(trio.Cancelled)[1]
            if failed is not None:
                _log.warning("an archive job failed when it was stopped", exc_info=failed)

    def end(self) -> None:
        self._ended.set()

    async def result(self) -> T:
        await self._ended.wait()
        return self._result.unwrap()


class ArchiveJobs:
    """Runs jobs.

    Args:
        store: the database.
        now: the clock, in seconds of Unix time.
        most: how many jobs may run at once in the installation.
    """

    def __init__(self, store: Store, now: Callable[[], float], most: int) -> None:
        self._store = store
        self._now = now
        self._most = most
        self._nursery: trio.Nursery | None = None
        self._scopes: dict[str, trio.CancelScope] = {}

    async def run(self) -> None:
        """Run jobs until cancelled, which cancels them."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            try:
                await trio.sleep_forever()
            finally:
                self._nursery = None

    async def start(
        self, account_id: AccountId, job_id: str, job: Callable[[], Awaitable[T]]
    ) -> Callable[[], Awaitable[T]]:
        """Start a job of an account, and return a function that waits for its result.

        ``job_id`` is a UUID. The job goes on when the caller is cancelled once it was started.

        Raises:
            ArchiveJobRunning: the account has a job that runs.
            ArchiveJobsBusy: too many run.
            JobStopped: the service stops.
            StoreUnavailable: the database failed.

        The function is called once. It raises what the job raises, and `JobStopped`.
        """
        if self._nursery is None:
            raise JobStopped
        running = _RunningJob(job)
        await self._nursery.start(self._serve, account_id, job_id, running)
        return running.result

    async def require_free(self, account_id: AccountId) -> None:
        """Raise the errors of `start` if the account can't run a job now; start nothing."""
        if self._nursery is None:
            raise JobStopped
        _require_taken(
            await self._store.read(sql.free_slot_for(account_id, self._ms(), self._most))
        )

    def cancel(self, job_id: str) -> None:
        """Cancel a job if it runs in this process."""
        scope = self._scopes.get(job_id)
        if scope is not None:
            scope.cancel(reason="the job was aborted")

    async def _serve(
        self,
        account_id: AccountId,
        job_id: str,
        running: _RunningJob[T],
        task_status: trio.TaskStatus[None],
    ) -> None:
        script = sql.take_slot(account_id, job_id, self._ms(), self._ms(LEASE_SECONDS), self._most)
        _require_taken(await self._store.write(script))
        try:
            task_status.started()
            async with trio.open_nursery() as nursery:
                self._scopes[job_id] = nursery.cancel_scope
                nursery.start_soon(self._renew, job_id, nursery.cancel_scope)
                await running.run()
                nursery.cancel_scope.cancel(reason="the job has ended")
        finally:
            self._scopes.pop(job_id, None)
            with trio.move_on_after(_FREEING_SECONDS, shield=True):
                try:
                    await self._store.write(sql.free_slot(job_id))
                except StoreError as error:
                    _log.info("the slot of an archive job is freed later: %s", error)
            # The next job of the account can start when the caller has the result.
            running.end()

    async def _renew(self, job_id: str, scope: trio.CancelScope) -> None:
        expires = trio.current_time() + LEASE_SECONDS
        while True:
            await trio.sleep(RENEWAL_SECONDS)
            try:
                kept = await self._store.write(sql.renew_slot(job_id, self._ms(LEASE_SECONDS)))
            except StoreError:
                # Others may take the slot when it has expired.
                kept = trio.current_time() + RENEWAL_SECONDS < expires
            else:
                expires = trio.current_time() + LEASE_SECONDS
            if not kept:
                _log.warning("an archive job was stopped: its slot could not be renewed")
                scope.cancel(reason="the slot was lost")
                return

    def _ms(self, later: float = 0.0) -> int:
        return int((self._now() + later) * 1000)


def _require_taken(taken: sql.Taken) -> None:
    if taken == "account":
        raise ArchiveJobRunning
    if taken == "installation":
        raise ArchiveJobsBusy
