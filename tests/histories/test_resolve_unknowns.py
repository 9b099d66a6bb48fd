import pytest
from greenroom.testing.history import History, HistoryEntry, Status
from greenroom.testing.linearizability import NotLinearizable, check_linearizable
from hypothesis import given

from tests.histories.feed_order import FeedEntry
from tests.histories.operations import Commit, Operation, Read, Register, Snapshot, View
from tests.histories.resolve_unknowns import resolve_unknowns
from tests.histories.runs import Run, runs
from tests.histories.workspace_model import WorkspaceModel

CREATE = Commit.of("w", "m", {"a": (None, 1)})
READ = Read(Register("w", "a"))


def test_unknown_commit_in_the_feed_gets_its_position_and_keeps_its_status() -> None:
    history: History[Operation] = History()
    history.invoke("p", CREATE).unknown()
    settled = resolve_unknowns(history, {"w": [FeedEntry(1, "m", {"a": 1})]})
    assert settled == (HistoryEntry("p", CREATE, 0, Status.UNKNOWN, 1, 1),)
    assert str(settled[0]) == "p unknown commit w m {a: None→1}, resolved to 1"


def test_unknown_commit_that_is_not_in_the_feed_is_left_out() -> None:
    history: History[Operation] = History()
    history.invoke("p", CREATE)
    assert resolve_unknowns(history, {"v": [FeedEntry(1, "m", {"a": 1})]}) == ()


def test_everything_else_stays_unchanged() -> None:
    history: History[Operation] = History()
    history.invoke("p", CREATE).not_executed()
    history.invoke("p", READ).unknown()
    history.invoke("p", CREATE).ok(1)
    assert resolve_unknowns(history, {}) == history.entries


def test_settled_outcome_holds_the_model_to_its_position() -> None:
    unknown: HistoryEntry[Operation] = HistoryEntry("p", CREATE, 0, Status.UNKNOWN, None, 2)
    look: HistoryEntry[Operation] = HistoryEntry(
        "q", Snapshot("w", ("a",)), 1, Status.OK, 2, View({"a": 1}, position=1)
    )
    with pytest.raises(NotLinearizable) as caught:
        check_linearizable([unknown, look], WorkspaceModel())
    assert caught.value.stuck is look


@given(runs(processes=5, length=600))
def test_settled_run_of_a_correct_service_is_accepted(run: Run) -> None:
    check_linearizable(resolve_unknowns(run.history, run.feed), WorkspaceModel())


def test_lost_responses_over_registers_read_only_at_the_end_need_few_states() -> None:
    run = Run()
    for number in range(200):
        commit = Commit.of("w", f"m{number}", {f"k{number}": (None, number)})
        call = run.history.invoke(number % 10, commit)
        if number % 4 == 0:
            call.unknown()
        if number % 8:
            position = run.service.execute(commit)
        if number % 4:
            call.ok(position)
    look = Snapshot("w", tuple(f"k{number}" for number in range(200)))
    run.history.invoke("end", look).ok(run.service.execute(look))
    settled = resolve_unknowns(run.history, run.feed)
    check_linearizable(settled, WorkspaceModel(), max_states=1_000)
