"""Transaction scripts: what is done to the database, written once for every engine.

A script is an ``async def`` over a `Transaction` that awaits nothing else. An engine may drive it
to its end without leaving the thread (SQLite), or inside another event loop (PostgreSQL). It may
also run it again from the start, when the database asks for that. So a script has no effect outside
of the transaction.

The SQL is the common subset of the engines. Placeholders are ``$1``, ``$2``, …; times are
milliseconds of Unix time; booleans are 1 and 0. Identifiers are text for scripts and 16 bytes in
the database: see `octavo.store.identifiers`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from octavo_rules.identity import AccountId, Cursor, FileId, WorkspaceId

from octavo.model.search.query import ANY_HEAD, Clause, HeadFilter
from octavo.model.search.searched_text import title_of

if TYPE_CHECKING:
    from octavo.model.files.plan import Plan


T = TypeVar("T")

Value = str | int | float | bytes | None
# The statement that asks for a row knows the types of its columns.
Row = Sequence[Any]

_LONGEST_TITLE = 500


def indexed_title(text: str) -> str:
    """Return the title of a text as it is indexed: of limited length, and empty without one."""
    return (title_of(text) or "")[:_LONGEST_TITLE].strip()


class NewNote(NamedTuple):
    """A note that is added to the full text index."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class IndexedNote:
    """A note in the full text index: the words of a path, a text and its title.

    Attributes:
        pk: its key in the index.
        content: the key of its text.
        path: the path that is indexed; None when its words are not in the index.
        portions: those of its text that are in the index; 0 for a note that was indexed as a whole.
            See `octavo.model.search.searched_text`.
    """

    pk: int
    content: int
    path: str | None
    portions: int


@dataclass(frozen=True, slots=True)
class Matching:
    """Which notes to find.

    Attributes:
        clauses: what each contains, in its name or its body.
        names: whether the name has to contain all of them.
        below: the prefix of its path, and the first text after all that begin with it.
        limit: the maximum number of results.
        heads: which head it has.
    """

    clauses: Sequence[Clause]
    names: bool
    below: tuple[str, str] | None
    limit: int
    heads: HeadFilter = ANY_HEAD


class MatchedNote(NamedTuple):
    """A note that a search has found.

    Attributes:
        path: that of its head; the index may have an earlier one.
        changed_at: when its head was written, in milliseconds of Unix time.
        size: of its text, in bytes.
    """

    file_id: str
    revision_id: str
    path: str
    changed_at: int
    size: int


MATCHED = """
    files.file_id, files.revision_id, files.path, files.changed_at, files.size,
    fulltext_notes.pk
"""
"""The columns of a `MatchedNote`, and the order in which notes were indexed."""


FORGET_WORDS = (
    "DELETE FROM fulltext_notes",
    "DELETE FROM fulltext_beginnings",
    "DELETE FROM fulltext_removals",
    "DELETE FROM index_cursors WHERE name = 'words'",
)
"""Forget what is in the full text index, as it is empty: all notes are indexed anew."""


class TextSaves(NamedTuple):
    """New texts of live notes that stay at their paths; each note has one of them.

    Attributes:
        workspace_id: that of the notes.
        planned_at: the cursor from which they were planned.
        reached: the cursor of the last one.
        growth: the difference of the sizes in bytes.
        heads: the columns of each new head, as `octavo.store.queries.revision_rows` has them, and
            the revision that it replaces.
        texts: the text of each head, compressed.
        receipts: mutation id, fingerprint, position, mark, changes and time of each changeset that
            can be repeated.
        notice: channel and payload for the other processes.
    """

    workspace_id: str
    planned_at: Cursor
    reached: Cursor
    growth: int
    heads: Sequence[Sequence[Value]]
    texts: Sequence[bytes]
    receipts: Sequence[Sequence[Value]]
    notice: tuple[str, str]


class Transaction(Protocol):
    """Statements of one transaction, each of which sees the effects of those before it.

    Every method raises a `StoreError` when the database fails, and then the transaction is over.

    """

    @property
    def listeners(self) -> Listeners:
        """The listeners that are called in it."""

    async def fetch_one(self, sql: str, *arguments: Value) -> Row | None:
        """Return the first row, or None."""

    async def fetch_all(self, sql: str, *arguments: Value) -> Sequence[Row]:
        """Return every row."""

    async def execute(self, sql: str, *arguments: Value) -> int:
        """Execute, and return how many rows were inserted, changed or deleted."""

    async def execute_many(self, sql: str, rows: Iterable[Sequence[Value]]) -> None:
        """Execute once for each row of arguments."""

    async def notify(self, channel: str, payload: str) -> None:
        """Send ``payload`` to the other processes on the database, once this is committed.

        Without other processes, do nothing.
        """

    async def new_contents(self, count: int) -> Sequence[int]:
        """Return numbers for new texts and images, which are to be inserted, in ascending order."""

    # The full text index belongs to the engine. Its keys of notes are numbers, which increase; the
    # table ``fulltext_notes`` has a row for each.

    async def put_words(self, workspace_id: str, notes: Sequence[NewNote]) -> Sequence[int]:
        """Add short notes to the full text index; return their numbers, in order."""

    async def new_words(self) -> int:
        """Return the number of a long note that is to be added to the full text index."""

    async def put_portion(
        self, workspace_id: str, number: int, portion: int, tokens: Sequence[str]
    ) -> None:
        """Add a portion of a long note's text, counted from 0, to the full text index."""

    async def put_name(self, workspace_id: str, number: int, path: str, title: str) -> None:
        """Add the path and the title of a long note to the full text index."""

    async def rename_words(
        self, workspace_id: str, notes: Sequence[tuple[IndexedNote, str]]
    ) -> None:
        """Change the paths of notes that are in the full text index; they keep their numbers."""

    async def remove_words(
        self, workspace_id: str, note: IndexedNote, text: str, portion: int
    ) -> int | None:
        """Remove words of a note from the full text index: those of one portion of its ``text``.

        Returns how many tokens the portion has, None when nothing of the note is left.
        """

    async def merge_words(self, *, begin: bool) -> bool:
        """Overwrite some entries of removed notes in the full text index.

        With ``begin``, start over with the whole index. Returns whether there may be more to do.
        """

    async def settle_words(self) -> None:
        """Make changes of the full text index fail now instead of in the commit.

        Raises `IndexDamaged`. A script that changes the index ends with it, so that it fails no
        other one of its batch.
        """

    async def words_are_worn_out(self) -> bool:
        """Return whether the full text index can't take many more changes."""

    async def clear_words(self) -> None:
        """Empty the full text index, even if it is damaged."""

    async def match_words(self, workspace_id: str, matching: Matching) -> Sequence[MatchedNote]:
        """Return the live notes that match, those first that were indexed last.

        Raises `IndexDamaged`.
        """


@dataclass(frozen=True, slots=True)
class Listeners:
    """Functions that are called in a transaction, in their order.

    Each takes the transaction, awaits nothing else and does bounded work. An exception aborts the
    transaction. The save of texts in one statement calls none of them: what has to follow every
    save is an index (`octavo.store.queries.index_backlog`). Workspaces are named by their ids, by
    their numbers, or by both.

    Attributes:
        committing: before the heads of some plans are stored; the position has moved already.
        files_moving: before some files get other paths or states.
        files_purged: before the texts and earlier paths of files are erased.
        texts_sweeping: before texts are deleted; returns whether it did something and is to be
            called again first.
        texts_swept: after texts of purged files were deleted.
        workspace_deleted: after a workspace was deleted, whose files are still stored.
        workspace_sweeping: before these files are deleted; returns as `texts_sweeping`.
        account_removing: before an account is deleted.
        access_ended: when everything ends that had access to an account before its address was
            proven.
    """

    committing: Sequence[
        Callable[[Transaction, WorkspaceId, int, Sequence[Plan]], Awaitable[object]]
    ] = ()
    files_moving: Sequence[Callable[[Transaction, int, Sequence[FileId]], Awaitable[object]]] = ()
    files_purged: Sequence[
        Callable[[Transaction, WorkspaceId, int, Sequence[FileId]], Awaitable[object]]
    ] = ()
    texts_sweeping: Sequence[Callable[[Transaction], Awaitable[bool]]] = ()
    texts_swept: Sequence[Callable[[Transaction], Awaitable[object]]] = ()
    workspace_deleted: Sequence[Callable[[Transaction, WorkspaceId], Awaitable[object]]] = ()
    workspace_sweeping: Sequence[Callable[[Transaction, int], Awaitable[bool]]] = ()
    account_removing: Sequence[Callable[[Transaction, AccountId], Awaitable[object]]] = ()
    access_ended: Sequence[Callable[[Transaction, AccountId], Awaitable[object]]] = ()


def combined(listeners: Iterable[Listeners]) -> Listeners:
    """Return the listeners of all, in their order."""
    groups = [*listeners]
    names = [field.name for field in fields(Listeners)]
    return Listeners(
        **{
            name: tuple(listener for group in groups for listener in getattr(group, name))
            for name in names
        }
    )


NO_LISTENERS = Listeners()


Script = Callable[[Transaction], Awaitable[T]]


class SingleStatement(Protocol):
    """A write of one statement, on an engine where each statement is a round trip."""

    async def save_texts(self, saves: TextSaves) -> None:
        """Save new texts, or raise `NotInOneStatement`."""


class NotInOneStatement(Exception):
    """The statement does not suffice, and has changed nothing: run the whole script."""


_SINGLE, _SHORTCUT = "single_statement", "shortcut"
_Marked = TypeVar("_Marked", bound=Callable[..., Awaitable[Any]])


def single_statement(script: _Marked) -> _Marked:
    """Mark a script that reads with one statement at most, whatever it finds.

    A statement is a transaction of its own, so a server needs no BEGIN and no COMMIT around it,
    each of which is a round trip. There, a second statement raises `StatementInvalid`.
    """
    setattr(script, _SINGLE, True)
    return script


def set_shortcut(script: Script[T], shortcut: Callable[[SingleStatement], Awaitable[T]]) -> None:
    """Let ``shortcut`` do the same as the writing ``script``, if it can, with one statement.

    An engine with round trips runs it without a transaction around it, and the script if it raises
    `NotInOneStatement`. Without it, PostgreSQL takes 0.78 of the saves of one writer, and 0.92 of
    those of 16 (medians of 3 pairs of servers, 2026-11-30).
    """
    setattr(script, _SHORTCUT, shortcut)


def shortcut_of(script: Script[T]) -> Callable[[SingleStatement], Awaitable[T]] | None:
    """Return the shortcut of a script; None without one."""
    return getattr(script, _SHORTCUT, None)


def is_single_statement(script: Script[T]) -> bool:
    """Return whether ``script`` was marked with `single_statement`."""
    return getattr(script, _SINGLE, False)


class Store(Protocol):
    """Runs scripts in serializable transactions.

    When a call is cancelled, a read ends. A write that has begun is finished, and may have been
    committed or not.
    """

    async def read(self, script: Script[T]) -> T:
        """Run a script that changes nothing and reads a few rows; return its result.

        It sees every write that was acknowledged before. Exceptions of the script propagate. Raises
        `StoreUnavailable`. Not every read is a checkpoint.
        """

    async def read_much(self, script: Script[T]) -> T:
        """Run a script that reads many rows, without blocking other calls; see `read`."""

    async def write(self, script: Script[T]) -> T:
        """Run a script and commit it; when this returns, the commit is durable.

        When the script raises, nothing is committed and its exception propagates. Raises
        `StoreUnavailable`, whose ``outcome_unknown`` says whether the write may have been
        committed.
        """
