"""The connection for writing, in a dedicated thread.

A dedicated thread costs one wake-up in each direction for a batch; a thread of a pool costs
several. It receives batches from a queue, and returns the outcomes through trio's entry queue. A
caller can't be cancelled before its batch is done, so it is there to receive the outcomes.
"""

import sqlite3
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Thread
from typing import Any

import trio
from outcome import Outcome, Value, capture

from octavo.store.errors import StoreError, StoreUnavailable
from octavo.store.sqlite.batch import Outcomes, all_failed, commit, perform, roll_back
from octavo.store.sqlite.connection import failure
from octavo.store.sqlite.statement import Statements
from octavo.store.transaction import NO_LISTENERS, Listeners, Script


class _Job:
    """A batch, and its outcomes."""

    __slots__ = ("_task", "outcome", "scripts")

    def __init__(self, scripts: Sequence[Script[Any]]) -> None:
        self.scripts = scripts
        self.outcome: Outcome[Outcomes]
        self._task = trio.lowlevel.current_task()

    def wake(self) -> None:
        """Continue the task that waits for the outcomes; must be called in the run."""
        trio.lowlevel.reschedule(self._task, self.outcome)


class Writer:
    """Commits batches sequentially.

    It belongs to the run of trio that it is made in.

    Args:
        connect: opens a connection for writing; called in the thread, and again after each failure.
        listeners: what features do in each transaction.
    """

    def __init__(
        self, connect: Callable[[], sqlite3.Connection], listeners: Listeners = NO_LISTENERS
    ) -> None:
        self._connect = connect
        self._listeners = listeners
        self._run = trio.lowlevel.current_trio_token()
        self._connection: sqlite3.Connection | None = None
        self._statements = Statements()
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._closed = False
        self._thread = Thread(target=self._serve, name="octavo-writer")
        self._thread.start()

    async def write_batch(self, scripts: Sequence[Script[Any]]) -> Outcomes:
        """Run scripts in one transaction; return the result or exception of each, in order.

        When this returns, those that succeeded are durable. A script that raises has no effect.
        When the database fails, each of them fails with a `StoreUnavailable`. Once the batch is
        queued, cancellation waits for its end. Raises `StoreUnavailable` after `close`.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._closed:
            raise StoreUnavailable("the database was closed")
        self._jobs.put(_Job(scripts))
        outcomes: Outcomes = await trio.lowlevel.wait_task_rescheduled(_stay)
        return outcomes

    async def close(self) -> None:
        """Finish the queued batches, close the connection, and end the thread.

        Cancellation does not interrupt this.
        """
        self.end()
        await trio.to_thread.run_sync(self._thread.join)

    def end(self) -> None:
        """Accept no more batches; the thread ends after those that are queued."""
        if not self._closed:
            self._closed = True
            self._jobs.put(None)

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.outcome = capture(self._write, job.scripts)
            try:  # noqa: SIM105  # three calls for each batch
                self._run.run_sync_soon(job.wake)
            except trio.RunFinishedError:
                # The run can only be over when trio itself has failed: nobody waits then.
                pass
            # It may hold much memory, and the next batch may not come soon.
            del job
        self._disconnect()

    def _write(self, scripts: Sequence[Script[Any]]) -> Outcomes:
        try:
            if self._connection is None:
                self._connection = self._open()
            outcomes = perform(self._connection, self._statements, self._listeners, scripts)
            if Value in [type(outcome) for outcome in outcomes]:
                commit(self._connection)
            else:
                roll_back(self._connection)
        except StoreError as error:
            # A connection that has failed may hold a state that differs from the file's.
            self._disconnect()
            return all_failed(error, len(scripts))
        return outcomes

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except sqlite3.Error as error:
            raise failure(error) from error

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            roll_back(connection)
            connection.close()


def _stay(_raise_cancel: object) -> trio.lowlevel.Abort:
    return trio.lowlevel.Abort.FAILED
