"""The connection for writing, in a dedicated thread: many writes in one transaction, one fsync.

A dedicated thread costs one wake-up in each direction for a batch; a thread of a pool costs
several. It receives batches from a queue, and returns the outcomes through trio's entry queue. A
caller can't be cancelled before its batch is done, so it is there to receive the outcomes.
"""

import sqlite3
from collections.abc import Callable, Sequence
from copy import copy
from queue import SimpleQueue
from threading import Thread
from typing import Any

import trio
from attrs import define
from outcome import Error, Outcome, Value, capture

from octavo.store.errors import IndexDamaged, StoreError, StoreUnavailable
from octavo.store.sqlite.connection import STATEMENT_ERRORS, commit_failure, failure
from octavo.store.sqlite.transaction import SqliteTransaction, Statements
from octavo.store.transaction import NO_LISTENERS, Listeners, Script

Outcomes = list[Outcome[Any]]


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
            batch = BatchTransaction(self._connection, self._statements, self._listeners)
            outcomes = batch.perform(scripts)
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


@define(eq=False)
class BatchTransaction:
    """A transaction on a connection for writing, in which scripts are run."""

    _connection: sqlite3.Connection
    _statements: Statements
    _listeners: Listeners

    def perform(self, scripts: Sequence[Script[Any]]) -> Outcomes:
        """Begin a transaction and run each script in it; return the result or exception of each.

        A script that raises has no effect. If it raised after a change, all scripts are run again.
        The transaction stays open, for `commit` or `roll_back`, unless this raises.

        Whoever raises an exception takes it out of the list: it refers to frames that have the
        list.

        Raises:
            StoreUnavailable: the database failed or is locked. Nothing was committed.
        """
        outcomes: Outcomes = []
        try:
            if not self._run_bare(scripts, outcomes):
                roll_back(self._connection)
                self._begin()
                outcomes.clear()
                for script in scripts:
                    self._run_in_savepoint(script, outcomes)
        except BaseException:
            roll_back(self._connection)
            raise
        return outcomes

    def _run_bare(self, scripts: Sequence[Script[Any]], outcomes: Outcomes) -> bool:
        """Run scripts without savepoints, which take a third longer; False if one must be undone.

        Most scripts that raise have only read. A single script needs no savepoint: the transaction
        is rolled back with it.
        """
        self._begin()
        connection = self._connection
        for script in scripts:
            changes = connection.total_changes
            outcomes.append(self._run(script))
            leaves_changes = connection.total_changes != changes and len(scripts) > 1
            # Not by isinstance, which calls a function of its abstract class.
            if leaves_changes and type(outcomes[-1]) is Error:
                return False
        return True

    def _begin(self) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            raise failure(error) from error

    def _run_in_savepoint(self, script: Script[Any], outcomes: Outcomes) -> None:
        try:
            self._connection.execute("SAVEPOINT script")
            outcomes.append(self._run(script))
            if isinstance(outcomes[-1], Error):
                self._connection.execute("ROLLBACK TO script")
            self._connection.execute("RELEASE script")
        except STATEMENT_ERRORS as error:
            raise _unavailable(failure(error)) from error

    def _run(self, script: Script[Any]) -> Outcome[Any]:
        transaction = SqliteTransaction(self._connection, self._statements, self._listeners)
        try:
            result = transaction.drive(script)
        except Exception as error:
            failed = transaction.failure
            # The others of the batch don't use the index.
            if isinstance(failed, StoreUnavailable) and not isinstance(failed, IndexDamaged):
                raise copy(failed) from None
            if not self._connection.in_transaction:
                raise StoreUnavailable("the database rolled the transaction back") from error
            return Error(error)
        return Value(result)


def _unavailable(error: StoreError) -> StoreUnavailable:
    if isinstance(error, StoreUnavailable):
        return error
    return StoreUnavailable(f"the database failed: {error}")


def commit(connection: sqlite3.Connection) -> None:
    """Commit the open transaction; when this returns, it is durable.

    Raises:
        StoreError: it was not committed or, with ``outcome_unknown``, may have been. The connection
            must not be used for another transaction.
    """
    try:
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise commit_failure(error) from error


def roll_back(connection: sqlite3.Connection) -> None:
    """Roll the transaction back, if one is open.

    Errors are ignored: SQLite rolls back when the connection is closed.
    """
    if connection.in_transaction:
        try:
            connection.execute("ROLLBACK")
        except sqlite3.Error:
            return


def all_failed(error: StoreError, count: int) -> Outcomes:
    """Return ``count`` copies of ``error``, one for each script of a batch."""
    outcomes: Outcomes = []
    for _ in range(count):
        # Each is raised in another task, which adds its traceback.
        single = type(error)(str(error), outcome_unknown=error.outcome_unknown)
        single.__cause__ = error.__cause__
        outcomes.append(Error(single))
    return outcomes
