"""A person can follow the report of a failure: its faults, and the history of what failed."""

import re
from collections.abc import Awaitable, Callable
from functools import partial

import pytest
from greenroom.testing import ScheduleFailure
from greenroom.testing.plugin import Explore

from tests.features.accounts.simulation.broken import use_invitations_again
from tests.features.accounts.simulation.service import simulate_identity
from tests.features.archives.simulation.broken import forget_what_was_committed
from tests.features.archives.simulation.service import simulate_imports
from tests.features.history.simulation.broken import overwrite_what_others_write
from tests.features.history.simulation.service import simulate_restorations
from tests.features.images.simulation.broken import forget_before_the_deletion
from tests.features.publishing.simulation.broken import count_openings_later
from tests.features.publishing.simulation.service import simulate_publishing
from tests.features.usage.simulation.broken import add_again
from tests.features.usage.simulation.service import simulate_usage
from tests.simulation.access_broken import check_no_access_after_a_gap
from tests.simulation.access_service import simulate_access
from tests.simulation.broken import forget_announcements, refuse_without_receipts
from tests.simulation.broken_coincidences import lose_messages_at_passivation
from tests.simulation.housekeeping_broken import forget_receipts_early
from tests.simulation.housekeeping_service import simulate_housekeeping
from tests.simulation.service import simulate
from tests.simulation.simulation import Break
from tests.simulation.test_simulation import CI_SEEDS

Simulation = Callable[[], Awaitable[object]]

_EVENT = re.compile(r" +step +(?P<step>\d+), +(?P<seconds>[\d.]+) s: (?P<event>.+)")
_FAULT = re.compile(
    r"(crash|delay|cancel) at [\w.]+ of [\w/# -]+|the (disk|blobs) .+|a write fails .+"
    r"|the power is lost|p\d( #\d+)? (has started|is stopped|is killed)"
)
_PUSH = r"[abc] (pushes|sends) .+"
_STREAM = r"stream of \d\d at p\d #\d+ from [\d.]+ with [-0-9a-f]{36}"
_REQUEST = r".+: (is sent to p\d.*|(nothing is done|the outcome is unknown) at p\d.* after .+ s.*)"
_CALL = r"[abc] (invokes|ok|refused|unknown|not-executed)"


def report_of(
    broken: Break, simulation: Simulation, explore: Explore, *, early_time: bool = True
) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        broken(patch)
        with pytest.raises(ScheduleFailure) as caught:
            explore(simulation, schedules=CI_SEEDS, early_time=early_time)
    return str(caught.value).splitlines()


def section(report: list[str], title: str) -> tuple[str, list[str]]:
    """Return what a title ends with, and the events below it, whose steps ascend."""
    at = next(at for at, line in enumerate(report) if line.strip().startswith(title))
    steps: list[int] = []
    events: list[str] = []
    for line in report[at + 1 :]:
        found = _EVENT.fullmatch(line)
        if found is None:
            if "… " in line:
                continue
            break
        steps.append(int(found["step"]))
        events.append(found["event"])
    assert steps == sorted(steps)
    assert events
    return report[at].strip().removeprefix(title), events


@pytest.mark.parametrize(
    ("broken", "images", "about", "shown"),
    [
        (
            refuse_without_receipts,
            False,
            r" (?P<in>[vw])/\w(, (?P=in)/\w)*:",
            rf"{_CALL} (push|look) .+|(push|look) .+: (nothing is done|the outcome is unknown) .+",
        ),
        (
            forget_announcements,
            False,
            r" ([vwz], )+p\d's listener \d/[vwz](, p\d's listener \d/[vwz])*:",
            (
                rf"{_CALL} .+|[vwz] is committed at \d+|p\d's listener \d is told [vwz] at \d+"
                rf"|{_PUSH}|{_REQUEST}|[abc]z\d+ is (accepted at \d+|refused: \w+)"
            ),
        ),
        (
            forget_before_the_deletion,
            True,
            r" blob/[\w-]+(, blob/[\w-]+)*:",
            (
                r"[\w-]{73} is (stored|durable|named by the database|not named any more|back|lost"
                r"|deleted|deleted durably)"
            ),
        ),
        (
            lose_messages_at_passivation,
            False,
            r" [vwz]/\w+(, [vwz]/\w+)*:",
            rf"{_CALL} .+|{_REQUEST}|\w+ is (accepted at \d+|refused: \w+)",
        ),
    ],
    ids=["file", "listener", "blob", "request"],
)
def test_report_shows_the_faults_and_the_history_of_what_failed(
    broken: Break, images: bool, about: str, shown: str, explore: Explore
) -> None:
    simulation = partial(simulate, together=False, images=images)
    report = report_of(broken, simulation, explore)
    _, faults = section(report, "faults:")
    assert [each for each in faults if not _FAULT.fullmatch(each)] == []
    subjects, events = section(report, "history of")
    assert re.fullmatch(about, subjects), subjects
    assert [each for each in events if not re.fullmatch(shown, each)] == []


def test_report_names_every_task(explore: Explore) -> None:
    simulation = partial(simulate, together=False, images=False)
    report = report_of(forget_announcements, simulation, explore)
    (latest,) = [line for line in report if line.strip().startswith("latest:")]
    assert [each for each in ("<lambda>", "<locals>", "functools") if each in latest] == []


_ID = r"[0-9a-f]{8}-[0-9a-f]{4}-7000-[0-9a-f]{4}-[0-9a-f]{12}"
_COMMITTED = rf"{_ID} is committed at \d+"


@pytest.mark.parametrize(
    ("broken", "simulation", "early_time", "about", "shown"),
    [
        (
            check_no_access_after_a_gap,
            simulate_access,
            False,
            rf" ({_ID}, )*{_STREAM}(, {_STREAM})*:",
            rf"{_REQUEST}|committed: .+|sent .+|the stream .+|.+ #\d+.*: \w.+|{_COMMITTED}",
        ),
        (
            use_invitations_again,
            simulate_identity,
            True,
            rf" {_ID}(, {_ID})*:",
            rf"\w+ of {_ID} by ({_ID}|operator|system) from [\d.]+ is committed",
        ),
        (
            forget_receipts_early,
            simulate_housekeeping,
            False,
            r" [0-9A-F]{32}(, [0-9A-F]{32})*:",
            r"[0-9A-F]{32} of (receipts|restorations) is (inserted in p\d, .+|removed, with .+)",
        ),
        (
            count_openings_later,
            simulate_publishing,
            True,
            rf" {_ID}(, {_ID})*:",
            (
                rf"{_REQUEST}|(read|open) {_ID} at .+: \w+|published .+|{_ID} is .+"
                rf"|(dismiss|take) .+|committed at \d+: .+|push .+: \w+|.+: (accepted|refused: \w+)"
            ),
        ),
        (
            forget_what_was_committed,
            simulate_imports,
            False,
            ":",
            (
                rf"{_REQUEST}|(send|complete|create|abort|replace) .+: .+|w is committed at \d+"
                r"|p\d's listener \d is told w at \d+"
            ),
        ),
        (
            overwrite_what_others_write,
            simulate_restorations,
            False,
            rf" {_ID}(, {_ID})*:",
            rf"{_REQUEST}|push {_ID}: accepted at \d+|the restoration: \w+ at \d+",
        ),
        (
            add_again,
            simulate_usage,
            True,
            ":",
            r"p\d (has counted|refuses|can't count) \d+ bytes|p\d (has stored|could not store) .+",
        ),
    ],
    ids=lambda given: given.__name__ if callable(given) else "",
)
def test_report_of_other_simulations_shows_the_history_of_what_failed(
    broken: Break,
    simulation: Simulation,
    early_time: bool,
    about: str,
    shown: str,
    explore: Explore,
) -> None:
    report = report_of(broken, simulation, explore, early_time=early_time)
    _, faults = section(report, "faults:")
    assert [each for each in faults if not _FAULT.fullmatch(each)] == []
    subjects, events = section(report, "history of" if about != ":" else "history")
    assert re.fullmatch(about, subjects), subjects
    assert [each for each in events if not re.fullmatch(shown, each)] == []
