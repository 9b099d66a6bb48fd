"""Many writes in one transaction of SQLite, with a single fsync."""

import sqlite3
from collections.abc import Sequence
from copy import copy
from typing import Any

from outcome import Error, Outcome, Value

from octavo.store.errors import IndexDamaged, StoreError, StoreUnavailable
from octavo.store.sqlite.connection import STATEMENT_ERRORS, commit_failure, failure
from octavo.store.sqlite.statement import Statements
from octavo.store.sqlite.transaction import SqliteTransaction
from octavo.store.transaction import Listeners, Script

Outcomes = list[Outcome[Any]]


def perform(
    connection: sqlite3.Connection,
    statements: Statements,
    listeners: Listeners,
    scripts: Sequence[Script[Any]],
) -> Outcomes:
    """Begin a transaction and run each script in it; return the result or exception of each.

    A script that raises has no effect. If it raised after a change, all scripts are run again. The
    transaction stays open, for `commit` or `roll_back`, unless this raises.

    Who raises an exception takes it out of the list: it refers to the frames that have the list.

    Raises:
        StoreUnavailable: the database failed or is locked. Nothing was committed.
    """
    outcomes: Outcomes = []
    try:
        if not _run_bare(connection, statements, listeners, scripts, outcomes):
            roll_back(connection)
            _begin(connection)
            outcomes.clear()
            for script in scripts:
                _run_in_savepoint(connection, statements, listeners, script, outcomes)
    except BaseException:
        roll_back(connection)
        raise
    return outcomes


def _run_bare(
    connection: sqlite3.Connection,
    statements: Statements,
    listeners: Listeners,
    scripts: Sequence[Script[Any]],
    outcomes: Outcomes,
) -> bool:
    """Run scripts without savepoints, which take a third longer; False if one must be undone.

    Most scripts that raise have only read. A single script needs no savepoint: the transaction is
    rolled back with it.
    """
    _begin(connection)
    for script in scripts:
        changes = connection.total_changes
        outcomes.append(_run(connection, statements, listeners, script))
        leaves_changes = connection.total_changes != changes and len(scripts) > 1
        # Not by isinstance, which calls a function of its abstract class.
        if leaves_changes and type(outcomes[-1]) is Error:
            return False
    return True


def _begin(connection: sqlite3.Connection) -> None:
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.Error as error:
        raise failure(error) from error


def _run_in_savepoint(
    connection: sqlite3.Connection,
    statements: Statements,
    listeners: Listeners,
    script: Script[Any],
    outcomes: Outcomes,
) -> None:
    try:
        connection.execute("SAVEPOINT script")
        outcomes.append(_run(connection, statements, listeners, script))
        if isinstance(outcomes[-1], Error):
            connection.execute("ROLLBACK TO script")
        connection.execute("RELEASE script")
    except STATEMENT_ERRORS as error:
        raise _unavailable(failure(error)) from error


def _run(
    connection: sqlite3.Connection,
    statements: Statements,
    listeners: Listeners,
    script: Script[Any],
) -> Outcome[Any]:
    transaction = SqliteTransaction(connection, statements, listeners)
    try:
        result = transaction.drive(script)
    except Exception as error:
        failed = transaction.failure
        # The others of the batch don't use the index.
        if isinstance(failed, StoreUnavailable) and not isinstance(failed, IndexDamaged):
            raise copy(failed) from None
        if not connection.in_transaction:
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
