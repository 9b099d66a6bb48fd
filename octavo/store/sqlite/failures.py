"""The errors of SQLite as errors of the store (https://www.sqlite.org/rescode.html)."""

import sqlite3

from octavo.store.errors import (
    ConstraintViolated,
    IndexDamaged,
    StatementInvalid,
    StoreError,
    StoreFull,
    StoreUnavailable,
)

# What a statement raises, besides the errors of the database: OverflowError for an integer of more
# than 64 bits, ValueError for text that is not Unicode and for an identifier that is not a UUID.
STATEMENT_ERRORS = (sqlite3.Error, OverflowError, ValueError)

_MISTAKES = frozenset(
    {
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_MISMATCH,
        sqlite3.SQLITE_MISUSE,
        sqlite3.SQLITE_RANGE,
        sqlite3.SQLITE_TOOBIG,
    }
)


def primary_code(error: BaseException) -> int | None:
    """Return the primary result code of an error; None if SQLite did not raise it."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def failure(error: BaseException, *, reading: bool = False) -> StoreError:
    """Return the store's error for an error of a statement, with this as the cause.

    ``reading`` says that the connection is read-only, so that an attempt to write is a bug of the
    script.
    """
    code = primary_code(error)
    result: StoreError
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_CORRUPT_VTAB:
        # The full text index is the only virtual table.
        result = IndexDamaged(f"the search index is damaged: {error}")
    elif code == sqlite3.SQLITE_CONSTRAINT:
        result = ConstraintViolated(str(error))
    elif code == sqlite3.SQLITE_FULL:
        result = StoreFull(f"the database has no room: {error}")
    elif code is None or code in _MISTAKES or (reading and code == sqlite3.SQLITE_READONLY):
        result = StatementInvalid(str(error))
    else:
        result = StoreUnavailable(f"the database failed: {error}")
    result.__cause__ = error
    return result


def commit_failure(error: BaseException) -> StoreError:
    """Return the store's error for an error of COMMIT, with this as the cause.

    In WAL mode a transaction is committed by the last frame that it appends to the log. That frame
    was not written when there was no space, when a deferred constraint failed, and when the
    database was locked. After any other error, for example of the fsync that follows, it may have
    been: if the machine stops now, the recovery of the log finds it.
    (https://www.sqlite.org/walformat.html, "Recovery")
    """
    result = failure(error)
    certain = isinstance(result, StoreFull | ConstraintViolated)
    result.outcome_unknown = not certain and primary_code(error) != sqlite3.SQLITE_BUSY
    return result
