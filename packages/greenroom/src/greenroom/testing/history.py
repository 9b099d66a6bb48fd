"""Recording the operations of clients on a system, with their outcomes and their order.

A history is a list of events: a process invokes an operation, and later learns its outcome. Time
is the index of the event, counted by the history itself, so a deterministic run always records the
same history. Operations that overlap ran concurrently; one that completed before another was
invoked precedes it in real time. The checkers of this package rely on that order.

A process whose operation has an unknown outcome may continue; its next operations are not ordered
after the effect of that one. An operation that is still open when the history is read counts as
unknown. A history must be used by one thread only.
"""

from collections.abc import Callable, Generator, Hashable, Iterable
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from greenroom.testing.history_entry import HistoryEntry, Seen, Status, render_entries
from greenroom.testing.journal import note

OperationT = TypeVar("OperationT")

Errors: TypeAlias = tuple[type[BaseException], ...]


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
