"""What SQLite's result codes mean to whoever asked (https://www.sqlite.org/rescode.html)."""

import sqlite3

from octavo.store.errors import (
    ConstraintViolated,
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
    """Answer the primary result code of an error; None when it is the module's own."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def failure(error: BaseException, *, reading: bool = False) -> StoreError:
    """Answer what an error of a statement means; it is the cause.

    ``reading`` says that the connection takes no changes, so a refusal to write is a mistake of
    the script.
    """
    code = primary_code(error)
    result: StoreError
    if code == sqlite3.SQLITE_CONSTRAINT:
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
    """Answer what an error of COMMIT means; it is the cause.

    In WAL mode a commit is a frame at the end of what it appends to the log. When there was no
    room for it, when a constraint was deferred to the end, and when the database was locked, it
    isn't there. After any other error, as one of the fsync that follows, it may be: should the
    machine stop now, the recovery of the log finds it.
    (https://www.sqlite.org/walformat.html, "Recovery")
    """
    result = failure(error)
    certain = isinstance(result, StoreFull | ConstraintViolated)
    result.outcome_unknown = not certain and primary_code(error) != sqlite3.SQLITE_BUSY
    return result
