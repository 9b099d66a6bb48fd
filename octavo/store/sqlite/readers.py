"""Connections for reading."""

import sqlite3
from collections.abc import Callable
from typing import Any, Generic

import trio
from outcome import Outcome, capture

from octavo.store.errors import StoreUnavailable
from octavo.store.fair_turns import FairTurns
from octavo.store.sqlite.connection import failure
from octavo.store.sqlite.transaction import SqliteTransaction, Statements
from octavo.store.sqlite.writer import roll_back
from octavo.store.transaction import Script, T

# How often a cancelled read is interrupted: an interrupt between two statements has no effect.
INTERRUPT_EVERY = 0.01
INTERRUPT_FOR = 60.0


class Reader:
    """A connection for reading, used by one thread at a time.

    Attributes:
        failed: whether the database failed; the reader is to be closed then.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        try:
            self._connection = connect()
        except sqlite3.Error as error:
            raise failure(error, reading=True) from error
        self._statements = Statements()
        self._transaction: SqliteTransaction | None = None
        self.failed = False

    def run(self, script: Script[T]) -> T:
        """Run a script on a snapshot of the newest commit; its exceptions propagate."""
        connection = self._connection
        try:
            connection.execute("BEGIN")
        except sqlite3.Error as error:
            self.failed = True
            raise failure(error, reading=True) from error
        self._transaction = transaction = SqliteTransaction(
            connection, self._statements, reading=True
        )
        try:
            return transaction.drive(script)
        finally:
            self._transaction = None
            self.failed = isinstance(transaction.failure, StoreUnavailable)
            roll_back(connection)

    def interrupt(self) -> None:
        """End the running statement, from another thread, and prevent further ones."""
        transaction = self._transaction
        if transaction is not None:
            transaction.failure = StoreUnavailable("the read was cancelled")
            self._connection.interrupt()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class _Call(Generic[T]):
    """The state of one read in a thread.

    Attributes:
        outcomes: its outcome, until it is returned or raised: an error refers to the frames that it
            passed, and these refer to the call.
    """

    def __init__(self, reader: Reader | None) -> None:
        self.reader = reader
        self.outcomes: list[Outcome[T]] = []
        self.finished = False
        self.interrupted = False


class ReaderPool:
    """Readers for worker threads, opened when they are first needed.

    Args:
        connect: opens a connection for reading; called in the thread.
        size: the maximum number of concurrent reads, of which one holder
            (`octavo.store.fair_turns`) has at most half; further reads wait.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection], size: int) -> None:
        self._connect = connect
        self._turns = FairTurns(size, max(1, size // 2))
        self._threads = trio.CapacityLimiter(size)
        self._idle: list[Reader] = []

    async def run(self, script: Script[T]) -> T:
        """Run a script in a thread; its exceptions propagate.

        When cancelled, the running statement is interrupted, and this returns when the thread has
        finished.
        """
        async with self._turns.turn():
            # Readers are assigned in the event loop only: an interrupt never reaches another read.
            call = _Call[T](self._idle.pop() if self._idle else None)
            try:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(_interrupt_when_cancelled, call)
                    try:
                        await trio.to_thread.run_sync(
                            self._capture, call, script, limiter=self._threads
                        )
                    finally:
                        call.finished = True
                        self._give_back(call)
                    nursery.cancel_scope.cancel("the read has ended")
                await trio.lowlevel.checkpoint_if_cancelled()
                return call.outcomes.pop().unwrap()
            finally:
                call.outcomes.clear()

    def _capture(self, call: _Call[T], script: Script[T]) -> None:
        call.outcomes.append(capture(self._run, call, script))

    def _run(self, call: _Call[T], script: Script[T]) -> T:
        if call.reader is None:
            call.reader = Reader(self._connect)
        return call.reader.run(script)

    def _give_back(self, call: _Call[Any]) -> None:
        if call.reader is None:
            return
        if call.interrupted or call.reader.failed:
            call.reader.close()
        else:
            self._idle.append(call.reader)

    def close(self) -> None:
        """Close the connections of all readers, which must be idle."""
        while self._idle:
            self._idle.pop().close()


async def _interrupt_when_cancelled(call: _Call[Any]) -> None:
    try:
        await trio.sleep_forever()
    except trio.Cancelled:
        with trio.move_on_after(INTERRUPT_FOR, shield=True):
            while not call.finished:
                call.interrupted = True
                if call.reader is not None:
                    call.reader.interrupt()
                await trio.sleep(INTERRUPT_EVERY)
        raise
