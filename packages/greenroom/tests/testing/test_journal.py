"""What the report of a failure tells of the run."""

from functools import partial

import pytest
import trio
from greenroom import ActorSpec, Runtime, Supervisor
from greenroom.testing import (
    CORE_POINTS,
    Fault,
    FaultPlan,
    History,
    ReadRegister,
    ScheduleFailure,
    explore,
    note,
    note_fault,
    run_deterministic,
)
from greenroom.testing.deterministic import EARLY, Attempt
from greenroom.testing.journal import EVENTS_SHOWN, FAULTS_SHOWN, JournalEntry, render_journal
from greenroom.testing.schedules import Schedule

from ..actors import Add, Counter


def entries(*events: tuple[str, ...], fault: bool = False) -> list[JournalEntry]:
    return [
        JournalEntry(number, 0.5, event, tuple(subjects), fault)
        for number, (event, *subjects) in enumerate(events, 1)
    ]


def rendered(events: list[JournalEntry], text: str, about: tuple[str, ...] = ()) -> list[str]:
    error = AssertionError(text)
    if about:
        error.about = about  # type: ignore[attr-defined]  # a subclass may have it
    return [line.strip() for line in render_journal(events, error)]


EVENTS = entries(
    ("v begins", "v"), ("e is made", "v", "v/e"), ("f is made", "v", "v/f"), ("w ends", "w")
)


@pytest.mark.parametrize(
    ("text", "title", "shown"),
    [
        ("v is torn", "history of v:", ["v begins", "e is made", "f is made"]),
        ("v: the file 'e' is torn", "history of v/e:", ["e is made"]),
        ("e and f of v differ", "history of v/e, v/f:", ["e is made", "f is made"]),
        ("w: there is no e", "history of w:", ["w ends"]),
        ("never wave", "history:", ["v begins", "e is made", "f is made", "w ends"]),
    ],
)
def test_error_names_whose_history_is_shown(text: str, title: str, shown: list[str]) -> None:
    first, *lines = rendered(EVENTS, text)
    assert first == title
    assert [line.partition(": ")[2] for line in lines] == shown


def test_subject_whose_name_begins_that_of_another_is_shown_too() -> None:
    events = entries(("a is made", "note-1"), ("b is made", "note-10"))
    first, *lines = rendered(events, "note-1 and note-10 differ")
    assert (first, len(lines)) == ("history of note-1, note-10:", 2)


def test_error_that_lists_its_subjects_is_not_searched_for_names() -> None:
    first, *lines = rendered(EVENTS, "v and w differ", about=("v/f",))
    assert (first, lines) == ("history of v/f:", ["step 3,    0.5 s: f is made"])


def test_faults_are_shown_first_whatever_the_error_names() -> None:
    faults = entries(("the power is lost",), fault=True)
    assert rendered([*EVENTS, *faults], "w ended")[:3] == [
        "faults:",
        "step 1,    0.5 s: the power is lost",
        "history of w:",
    ]


def test_long_journal_is_shown_from_its_end() -> None:
    many = [(f"event {number}", "v") for number in range(100)]
    lines = rendered([*entries(*many, fault=True), *entries(*many)], "v")
    assert lines[1] == f"… {100 - FAULTS_SHOWN} before"
    assert lines[FAULTS_SHOWN + 3] == f"… {100 - EVENTS_SHOWN} before"
    assert lines[-1].endswith("step 100,    0.5 s: event 99")
    assert len(lines) == FAULTS_SHOWN + EVENTS_SHOWN + 4


def test_journal_without_entries_is_not_shown() -> None:
    assert rendered([], "v") == []


def test_note_outside_a_run_is_ignored() -> None:
    note("nobody listens")
    note_fault("nor now")


@pytest.mark.parametrize("token", ["random:3", "random+time:4", "pct:2:20:5"])
def test_event_has_the_number_of_its_step(token: str) -> None:
    async def step_and_note(name: str) -> None:
        for _ in range(5):
            note(name)
            await trio.sleep(0.1)

    async def scenario() -> None:
        async with trio.open_nursery() as nursery:
            for name in "abc":
                nursery.start_soon(step_and_note, name, name=name)

    attempt: Attempt[None] = Attempt(Schedule.parse(token))
    attempt.run(scenario)
    steps = [attempt.names[index] for index in attempt.trace if index != EARLY]
    assert len(attempt.journal.entries) == 15
    for entry in attempt.journal.entries:
        assert steps[entry.step - 1] == entry.event


def failure_of(fault: str | None = None) -> str:
    async def scenario() -> None:
        history = History[ReadRegister](lambda operation: [str(operation.register)])
        probability = 1.0 if fault else 0.0
        faults = FaultPlan(0, [Fault("crash", fault or "*", probability=probability, times=1)])
        root = Supervisor("root", runtime=Runtime(faults=faults))
        counter = root.add(ActorSpec("counter", Counter))
        async with root.running():
            for key in ("here", "there"):
                with history.record("ann", ReadRegister(key), unknown=(Exception,), suppress=True):
                    await counter.ask(Add())
        raise AssertionError("here is nothing")

    with pytest.raises(ScheduleFailure) as failure:
        explore(partial(scenario), schedules=1)
    return str(failure.value)


def test_report_shows_the_operations_of_the_subject() -> None:
    report = failure_of()
    assert "  history of here:\n" in report
    assert report.count("ann invokes read here") == 1
    assert report.count("ann unknown read here") == 1
    assert "read there" not in report
    assert "faults:" not in report


def test_report_shows_the_injected_faults() -> None:
    point = CORE_POINTS[3]
    lines = failure_of(point).splitlines()
    at = lines.index("  faults:")
    assert lines[at + 1].endswith(f"crash at {point} of root/counter")


def test_scenario_without_a_name_is_called_scenario() -> None:
    async def nothing() -> None:
        pass

    nameless = run_deterministic(lambda name: nothing(), "a")
    assert nameless.tasks[1] == f"{__name__}.scenario"
    assert run_deterministic(partial(nothing)).tasks[1] == f"{__name__}.{nothing.__qualname__}"
