"""Histories: the operations of clients on a system, with their outcomes and their order.

A history is a list of events: a process invokes an operation, and later learns its outcome. Time
is the index of the event, counted by the history itself, so a deterministic run always records the
same history. Operations that overlap ran concurrently; one that completed before another was
invoked precedes it in real time. The checkers of this package rely on that order.

The outcomes:

- `ok`: it took effect between its invocation and its completion, with this result;
- `refused`: in that interval the system replied that nothing changed;
- `not_executed`: it had no effect and never will;
- `unknown`: it may take effect at any time after its invocation, even after the test, or never.

A process whose operation has an unknown outcome may continue; its next operations are not ordered
after the effect of that one. An operation that is still open when the history is read counts as
unknown. A history must be used by one thread only.
"""

from collections.abc import Callable, Generator, Hashable, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from greenroom.testing.journal import note

OperationT = TypeVar("OperationT")
OperationT_co = TypeVar("OperationT_co", covariant=True)

Errors: TypeAlias = tuple[type[BaseException], ...]


class Status(Enum):
    """The outcome of an operation for its client."""

    OK = "ok"
    REFUSED = "refused"
    NOT_EXECUTED = "not-executed"
    UNKNOWN = "unknown"


class Seen(Enum):
    """What a refusal reports if it does not contain the conflicting value.

    `MOVED`: there was another value than the expected one. A model checks that.
    `NOTHING`: the refusal has another reason, which is not checked; it only guarantees no change.
    """

    MOVED = "moved"
    NOTHING = "nothing"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class HistoryEntry(Generic[OperationT_co]):
    """One operation of a history with its outcome.

    Args:
        process: the client that invoked it.
        operation: the operation.
        invoked: the index of the event of its invocation.
        status: the outcome.
        completed: the index of the event of its completion; `None` if there was none.
        result: the result of an `ok`, what a `refused` saw; otherwise `None`, unless the outcome of
            an `unknown` was found out later.

    Raises:
        ValueError: a definite status without a completion, or a completion before the invocation.
    """

    process: Hashable
    operation: OperationT_co
    invoked: int
    status: Status
    completed: int | None = None
    result: object = None

    def __post_init__(self) -> None:
        if self.completed is None:
            if self.status is not Status.UNKNOWN:
                raise ValueError(f"{self.status.value} without a completion: {self.operation}")
        elif self.completed <= self.invoked:
            raise ValueError(f"completed before it was invoked: {self.operation}")

    @property
    def deadline(self) -> int | None:
        """The event before which the outcome was decided; `None` if the outcome is unknown."""
        return None if self.status is Status.UNKNOWN else self.completed

    def __str__(self) -> str:
        return f"{self.process} {self.status.value} {describe(self)}"


def describe(entry: HistoryEntry[object]) -> str:
    """Render an operation with its result, without its client and time."""
    if entry.status is Status.OK:
        return f"{entry.operation} = {_result(entry)}"
    if entry.status is Status.UNKNOWN and entry.result is not None:
        return f"{entry.operation}, resolved to {_result(entry)}"
    if entry.status is Status.REFUSED and entry.result is not Seen.NOTHING:
        return f"{entry.operation}, seen {_result(entry)}"
    return f"{entry.operation}"


def render_entries(entries: Iterable[HistoryEntry[object]]) -> str:
    """Render entries as text, one event a line, in the order of the events.

    Args:
        entries: any selection from a history; an open operation has no line for its end.

    Returns:
        Aligned lines without a final line break; the empty string if there are no entries.
    """
    rows: list[tuple[int, str, str, str]] = []
    for entry in entries:
        process = str(entry.process)
        rows.append((entry.invoked, process, "invoke", str(entry.operation)))
        if entry.completed is not None:
            rows.append((entry.completed, process, entry.status.value, describe(entry)))
    rows.sort(key=lambda row: row[0])
    indexes = max((len(str(row[0])) for row in rows), default=0)
    names = max((len(row[1]) for row in rows), default=0)
    return "\n".join(
        f"{event:>{indexes}}  {process:<{names}}  {kind:<12}  {what}"
        for event, process, kind, what in rows
    )


def _result(entry: HistoryEntry[object]) -> str:
    return repr(entry.result) if isinstance(entry.result, str) else str(entry.result)


class HistoryError(Exception):
    """The test recorded something impossible: a mistake of the test, not of the system."""


class _Invoked(NamedTuple):
    process: Hashable
    operation: object

    def __str__(self) -> str:
        return f"{self.process} invokes {self.operation}"


class Invocation(Generic[OperationT]):
    """An operation in progress; created by `History.invoke`, completed exactly once."""

    def __init__(
        self,
        entry: HistoryEntry[OperationT],
        close: Callable[[], int],
        subjects: Iterable[str] = (),
    ) -> None:
        self._subjects = tuple(subjects)
        self._entry = entry
        self._close = close
        self._open = True

    @property
    def entry(self) -> HistoryEntry[OperationT]:
        """The operation with its outcome so far; an open one counts as unknown."""
        return self._entry

    @property
    def open(self) -> bool:
        """Whether the client has no outcome yet."""
        return self._open

    def ok(self, result: object = None) -> None:
        """Record that the operation took effect.

        Args:
            result: its result; the model defines what it expects here.

        Raises:
            HistoryError: the operation has been completed already.
        """
        self._complete(Status.OK, result)

    def refused(self, seen: object = Seen.NOTHING) -> None:
        """Record a definite reply that nothing changed.

        Args:
            seen: the conflicting value or other reason that the refusal reports.

        Raises:
            HistoryError: the operation has been completed already.
        """
        self._complete(Status.REFUSED, seen)

    def not_executed(self) -> None:
        """Record that the operation had no effect and never will.

        Raises:
            HistoryError: the operation has been completed already.
        """
        self._complete(Status.NOT_EXECUTED)

    def unknown(self) -> None:
        """Record that the client gave up: the effect may have happened, may still, or never will.

        Raises:
            HistoryError: the operation has been completed already.
        """
        self._complete(Status.UNKNOWN)

    def _complete(self, status: Status, result: object = None) -> None:
        entry = self._entry
        if not self._open:
            raise HistoryError(
                f"{entry.operation} of {entry.process} is completed already, {entry.status.value}"
            )
        self._open = False
        self._entry = replace(entry, status=status, completed=self._close(), result=result)
        note(self._entry, *self._subjects)


class History(Generic[OperationT]):
    """The operations of several processes on one system, in the order of their recording.

    Args:
        about: returns the subjects of an operation, for the report of a failure (see `note`).
    """

    def __init__(self, about: Callable[[OperationT], Iterable[str]] = lambda _: ()) -> None:
        self._about = about
        self._events = 0
        self._invocations: list[Invocation[OperationT]] = []
        self._open: dict[Hashable, OperationT] = {}

    def invoke(self, process: Hashable, operation: OperationT) -> Invocation[OperationT]:
        """Record that a process invokes an operation; call it just before the request.

        Args:
            process: identifies the client; any hashable value with a readable text.
            operation: the operation.

        Returns:
            The invocation, to be completed once.

        Raises:
            HistoryError: the process has another operation open.
        """
        if process in self._open:
            raise HistoryError(
                f"{process} invokes {operation} while its {self._open[process]} is open"
            )
        self._open[process] = operation
        invocation = Invocation(
            HistoryEntry(process, operation, self._tick(), Status.UNKNOWN),
            partial(self._close, process),
            self._about(operation),
        )
        note(_Invoked(process, operation), *invocation._subjects)
        self._invocations.append(invocation)
        return invocation

    @contextmanager
    def record(
        self,
        process: Hashable,
        operation: OperationT,
        *,
        refused: Errors = (),
        not_executed: Errors = (),
        unknown: Errors = (),
        seen: Callable[[BaseException], object] = lambda _: Seen.NOTHING,
        suppress: bool = False,
    ) -> Generator[Invocation[OperationT], None, None]:
        """Record an operation around the block that carries it out.

        The block completes the invocation. If it does not, the exception that leaves it does,
        according to the nearest of its classes that is listed here; otherwise the outcome is
        unknown, also after a cancellation. It is unknown, too, if the block ends without either.
        If the block completed the invocation and then raises, the completion stands.

        Args:
            process: identifies the client.
            operation: the operation.
            refused: errors that are a definite reply that nothing changed.
            not_executed: errors that mean that the operation had no effect and never will.
            unknown: errors after which the effect may have happened, as after all others.
            seen: extracts the conflicting value from a refusal.
            suppress: suppress the errors listed here. Every other error propagates, and so does
                always what is not an `Exception`, such as a cancellation.

        Yields:
            The invocation.

        Raises:
            HistoryError: the process has another operation open.
        """
        invocation = self.invoke(process, operation)
        named = {
            **dict.fromkeys(refused, Status.REFUSED),
            **dict.fromkeys(not_executed, Status.NOT_EXECUTED),
            **dict.fromkeys(unknown, Status.UNKNOWN),
        }
        try:
            yield invocation
        except BaseException as error:
            status = next((named[kind] for kind in type(error).__mro__ if kind in named), None)
            if invocation.open and status is Status.REFUSED:
                invocation.refused(seen(error))
            elif invocation.open and status is Status.NOT_EXECUTED:
                invocation.not_executed()
            if not (suppress and status is not None and isinstance(error, Exception)):
                raise
        finally:
            if invocation.open:
                invocation.unknown()

    @property
    def entries(self) -> tuple[HistoryEntry[OperationT], ...]:
        """All operations so far by the order of their invocation; open ones count as unknown."""
        return tuple(invocation.entry for invocation in self._invocations)

    def render(self) -> str:
        """Render the history as text, one event a line.

        Returns:
            For each event its index, the process, what happened, the operation and its result.
        """
        return render_entries(self.entries)

    def _tick(self) -> int:
        event = self._events
        self._events += 1
        return event

    def _close(self, process: Hashable) -> int:
        del self._open[process]
        return self._tick()
