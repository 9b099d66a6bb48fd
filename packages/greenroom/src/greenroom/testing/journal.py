"""What happened in a run and at which step, for the report of its failure.

Faults are noted by the kit, and so are the operations of a `History` that knows their subjects. A
scenario adds what else a reader needs to follow its failure, such as commits and notices. The
report shows all faults, and of the other events those whose subject the error names.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from typing import NamedTuple

FAULTS_SHOWN = 40
EVENTS_SHOWN = 40
"""How many of the last faults and events a report shows."""


class JournalEntry(NamedTuple):
    """An event of a run.

    Attributes:
        step: the number of the step in which it happened, from 1.
        seconds: the virtual time.
        event: what happened; its text is composed when a report needs it.
        subjects: what it concerns, such as ``workspace`` and ``workspace/file``.
        fault: whether it is an injected fault.
    """

    step: int
    seconds: float
    event: object
    subjects: tuple[str, ...]
    fault: bool


class Journal:
    """The events of one run.

    Args:
        now: returns the number of the current step, and the virtual time.

    Attributes:
        entries: the events in their order.
    """

    def __init__(self, now: Callable[[], tuple[int, float]]) -> None:
        self._now = now
        self.entries: list[JournalEntry] = []

    def add(self, event: object, subjects: tuple[str, ...], *, fault: bool) -> None:
        """Add an event of the current step."""
        self.entries.append(JournalEntry(*self._now(), event, subjects, fault))


_running: ContextVar[Journal | None] = ContextVar("greenroom_journal", default=None)


def enter_journal(journal: Journal) -> None:
    """Set the journal of the run; called at the start of its main task."""
    _running.set(journal)


def note(event: object, *subjects: str) -> None:
    """Add an event to the journal of the current run; do nothing outside one.

    Args:
        event: what happened; its text must not change any more.
        *subjects: what it concerns. A part of something else is written ``whole/part``.
    """
    journal = _running.get()
    if journal is not None:
        journal.add(event, subjects, fault=False)


def note_fault(event: object) -> None:
    """Add a fault that was injected, such as the end of a process; do nothing outside a run."""
    journal = _running.get()
    if journal is not None:
        journal.add(event, (), fault=True)


def render_journal(entries: Sequence[JournalEntry], error: BaseException) -> Iterator[str]:
    """Yield the lines of a report: the faults, then the history of what the error is about.

    That is what its attribute ``about`` lists; without one, each subject that its text names, the
    parts of a subject being separate words there. When a part of a whole is named, the events that
    concern the whole alone are left out. If no subject is named, these are the last events.
    """
    faults = [entry for entry in entries if entry.fault]
    events = [entry for entry in entries if not entry.fault]
    if faults:
        yield from _section("faults:", faults, FAULTS_SHOWN)
    known = dict.fromkeys(subject for entry in events for subject in entry.subjects)
    about = [*getattr(error, "about", ())] or _named(known, str(error))
    concerned = [entry for entry in events if not set(about).isdisjoint(entry.subjects)]
    if concerned:
        yield from _section(f"history of {', '.join(about)}:", concerned, EVENTS_SHOWN)
    elif events:
        yield from _section("history:", events, EVENTS_SHOWN)


def _section(title: str, entries: Sequence[JournalEntry], most: int) -> Iterator[str]:
    yield title
    left_out = len(entries) - most
    if left_out > 0:
        yield f"  … {left_out} before"
    shown = entries[-most:]
    width = len(str(shown[-1].step))
    for entry in shown:
        yield f"  step {entry.step:>{width}}, {entry.seconds:6.1f} s: {entry.event}"


def _named(subjects: Iterable[str], text: str) -> list[str]:
    named = [name for name in subjects if all(_holds(text, part) for part in name.split("/"))]
    return [name for name in named if not any(other.startswith(f"{name}/") for other in named)]


def _holds(text: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None
