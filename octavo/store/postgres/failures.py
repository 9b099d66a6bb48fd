"""What PostgreSQL's error codes, and asyncpg's errors, mean to whoever asked.

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

# What a statement or a connection raises; text that is no Unicode and numbers that are too large
# among them.
FAILURES = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
    asyncio.IncompleteReadError,
    OverflowError,
    UnicodeError,
)

_CONFLICTS = frozenset({"40001", "40P01"})
_DISK_FULL = "53100"
_READ_ONLY = "25006"
# Classes: integrity constraints; what is wrong with a statement, its data or its place.
_CONSTRAINT = "23"
_MISTAKES = frozenset({"0A", "21", "22", "25", "26", "2B", "34", "42", "44"})
_NOT_ALLOWED = "42501"


class Conflict(StoreUnavailable):
    """Another transaction came in between: nothing was kept, and the script may be run again."""


def told(error: BaseException) -> str:
    """Answer what an error says; its name when it says nothing, as a timeout does."""
    return str(error) or type(error).__name__


def failure(error: BaseException, *, reading: bool = False) -> StoreError:
    """Answer what an error of a statement means; it is the cause.

    ``reading`` says that the transaction takes no changes, so a refusal to write is a mistake of
    the script; in one that writes, the server is a standby.
    """
    result = _failure(error, reading=reading)
    result.__cause__ = error
    return result


def _failure(error: BaseException, *, reading: bool) -> StoreError:
    code = getattr(error, "sqlstate", None)
    if code is None:
        # What the client refuses to send is a ValueError, too, or is told by its words alone.
        wrong = isinstance(error, ValueError | OverflowError)
        if wrong or (isinstance(error, asyncpg.InterfaceError) and "connection" not in str(error)):
            return StatementInvalid(str(error))
        return StoreUnavailable(f"the database can't be reached: {told(error)}")
    if code in _CONFLICTS:
        return Conflict(f"too many others write at the same time: {error}")
    if code.startswith(_CONSTRAINT):
        return ConstraintViolated(str(error))
    if code == _DISK_FULL:
        return StoreFull(f"the database has no room: {error}")
    if code == _READ_ONLY and not reading:
        return StoreUnavailable(f"the database takes no changes: {error}")
    if code[:2] in _MISTAKES and code != _NOT_ALLOWED:
        return StatementInvalid(str(error))
    return StoreUnavailable(f"the database failed: {error}")


def commit_failure(error: BaseException) -> StoreError:
    """Answer what an error of COMMIT means; it is the cause.

    A conflict or a constraint is the server's word that it was rolled back. After anything else,
    as a lost connection, it may have been kept.
    """
    result = failure(error)
    result.outcome_unknown = not isinstance(result, Conflict | ConstraintViolated)
    return result
