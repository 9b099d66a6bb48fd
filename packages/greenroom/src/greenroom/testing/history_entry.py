"""The entries of a history: an operation, when it ran, and its outcome for the client.

The outcomes:

- `ok`: it took effect between its invocation and its completion, with this result;
- `refused`: in that interval the system replied that nothing changed;
- `not_executed`: it had no effect and never will;
- `unknown`: it may take effect at any time after its invocation, even after the test, or never.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

OperationT_co = TypeVar("OperationT_co", covariant=True)


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
