"""Transaction scripts: what is done to the database, written once for every engine.

A script is an ``async def`` over a `Transaction` that awaits nothing else. An engine may drive it
to its end without ever leaving the thread (SQLite), or inside another event loop (PostgreSQL); it
may also run it again from the start, when the database asks for that. So a script has no effect
but on the transaction.

The SQL is the common subset of the engines: placeholders are ``$1``, ``$2``, …; times are whole
milliseconds of Unix time; identifiers are text; what is true is 1.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

T = TypeVar("T")

Value = str | int | float | bytes | None
# What stands in a row is known by the statement that asked for it.
Row = Sequence[Any]


class Transaction(Protocol):
    """Statements of one transaction, each seeing what those before it did.

    Every method raises a `StoreError` when the database fails, and then the transaction is over.
    """

    async def fetch_one(self, sql: str, *arguments: Value) -> Row | None:
        """Answer the first row; None when there is none."""

    async def fetch_all(self, sql: str, *arguments: Value) -> Sequence[Row]:
        """Answer every row."""

    async def execute(self, sql: str, *arguments: Value) -> int:
        """Execute, and answer how many rows were inserted, changed or deleted."""

    async def execute_many(self, sql: str, rows: Iterable[Sequence[Value]]) -> None:
        """Execute once for each row of arguments."""

    async def notify(self, channel: str, payload: str) -> None:
        """Tell ``payload`` to the other processes on the database, once this is committed.

        Where one process has the database for itself, nobody is told.
        """


Script = Callable[[Transaction], Awaitable[T]]
