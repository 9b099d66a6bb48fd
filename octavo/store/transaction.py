"""Transaction scripts: what is done to the database, written once for every engine.

A script is an ``async def`` over a `Transaction` that awaits nothing else. An engine may drive it
to its end without ever leaving the thread (SQLite), or inside another event loop (PostgreSQL); it
may also run it again from the start, when the database asks for that. So a script has no effect
but on the transaction.

The SQL is the common subset of the engines: placeholders are ``$1``, ``$2``, …; times are whole
milliseconds of Unix time; identifiers are text; what is true is 1.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from octavo.model.search import Clause

T = TypeVar("T")

Value = str | int | float | bytes | None
# What stands in a row is known by the statement that asked for it.
Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class IndexedNote:
    """What the full text index has of a note: the words of its path and title, and of a text.

    ``number`` is what the index knows it by, ``content_id`` names the text.
    """

    number: int
    content_id: str
    path: str
    title: str


@dataclass(frozen=True, slots=True)
class Matching:
    """Which notes are to be found.

    Attributes:
        clauses: what each has to hold, in its name or its body.
        names: whether its name has to hold all of them.
        below: what its path begins with, and the first text behind all that begin so.
        limit: how many are answered at most.
    """

    clauses: Sequence[Clause]
    names: bool
    below: tuple[str, str] | None
    limit: int


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

    # The full text index is the engine's own. It holds notes by numbers, which grow; a number
    # belongs to a row of the table ``worded``.

    async def put_words(
        self, workspace_id: str, notes: Sequence[tuple[str, str, str]]
    ) -> Sequence[int]:
        """Take notes into the full text index: path, title and text of each.

        Answers their numbers, in order.
        """

    async def rename_words(
        self, workspace_id: str, notes: Sequence[tuple[IndexedNote, str]]
    ) -> None:
        """Give notes that are in the full text index other paths; they keep their numbers."""

    async def drop_words(self, workspace_id: str, notes: Sequence[IndexedNote]) -> None:
        """Take notes out of the full text index, while their texts are still kept."""

    async def merge_words(self, *, begin: bool) -> bool:
        """Overwrite some of what the full text index still has of notes that were taken out.

        ``begin`` has it go over the whole index, from the first call on. Answers whether there
        may be more to do.
        """

    async def match_words(self, workspace_id: str, matching: Matching) -> Sequence[str]:
        """Answer the ids of notes that match, those first that were taken in last."""


Script = Callable[[Transaction], Awaitable[T]]
