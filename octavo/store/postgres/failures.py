"""The error codes of PostgreSQL, and the errors of asyncpg, as errors of the store.

The codes are those of https://www.postgresql.org/docs/current/errcodes-appendix.html.
"""

import asyncio

import asyncpg  # type: ignore[import-untyped]

from octavo.store.errors import (
    ConstraintViolated,
    StatementInvalid,
    StoreError,
    StoreFull,
    StoreUnavailable,
)

# What a statement or a connection raises: also for text that is not Unicode, identifiers that are
# not UUIDs, and numbers that are too large.
FAILURES = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
    asyncio.IncompleteReadError,
    OverflowError,
    ValueError,
)

_CONFLICTS = frozenset({"40001", "40P01"})
_DISK_FULL = "53100"
_READ_ONLY = "25006"
# Classes: integrity constraints; errors of a statement, its data or its context.
_CONSTRAINT = "23"
_MISTAKES = frozenset({"0A", "21", "22", "25", "26", "2B", "34", "42", "44"})
_NOT_ALLOWED = "42501"


class Conflict(StoreUnavailable):
    """The transaction conflicted with another, and was rolled back; it may be run again."""


def message_of(error: BaseException) -> str:
    """Return the message of an error; its name if it has none, as a timeout."""
    return str(error) or type(error).__name__


def failure(error: BaseException, *, reading: bool = False) -> StoreError:
    """Return the store's error for an error of a statement, with this as the cause.

    ``reading`` says that the transaction is read-only, so that an attempt to write is a bug of the
    script. In any other transaction, the server is a standby.
    """
    result = _failure(error, reading=reading)
    result.__cause__ = error
    return result


def _failure(error: BaseException, *, reading: bool) -> StoreError:
    code = getattr(error, "sqlstate", None)
    if code is None:
        # What the client refuses to send is a ValueError, or only known by its message.
        wrong = isinstance(error, ValueError | OverflowError)
        if wrong or (isinstance(error, asyncpg.InterfaceError) and "connection" not in str(error)):
            return StatementInvalid(str(error))
        return StoreUnavailable(f"the database can't be reached: {message_of(error)}")
    if code in _CONFLICTS:
        return Conflict(f"too many concurrent writes: {error}")
    if code.startswith(_CONSTRAINT):
        return ConstraintViolated(str(error))
    if code == _DISK_FULL:
        return StoreFull(f"the database has no room: {error}")
    if code == _READ_ONLY and not reading:
        return StoreUnavailable(f"the database is read-only: {error}")
    if code[:2] in _MISTAKES and code != _NOT_ALLOWED:
        return StatementInvalid(str(error))
    return StoreUnavailable(f"the database failed: {error}")


def commit_failure(error: BaseException) -> StoreError:
    """Return the store's error for an error of COMMIT, with this as the cause.

    Or of a statement that is a transaction of its own. After a conflict, a failed constraint or a
    mistake, the server has rolled back. After any other error, as a lost connection, the
    transaction may have been committed.
    """
    result = failure(error)
    rolled_back = Conflict | ConstraintViolated | StatementInvalid
    result.outcome_unknown = not isinstance(result, rolled_back)
    return result
