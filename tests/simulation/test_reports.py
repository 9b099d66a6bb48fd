"""A person can follow the report of a failure: its faults, and the history of what failed."""

import re
from functools import partial

import pytest

from octavo.actors.testing import ScheduleFailure
from octavo.actors.testing.plugin import Explore
from tests.simulation.broken import Break, forget_announcements, refuse_without_receipts
from tests.simulation.broken_images import forget_before_the_deletion
from tests.simulation.service import simulate
from tests.simulation.test_simulation import CI_SEEDS

_EVENT = re.compile(r" +step +(?P<step>\d+), +(?P<seconds>[\d.]+) s: (?P<event>.+)")
_FAULT = re.compile(
    r"(crash|delay|cancel) at [\w.]+ of [\w/-]+|the (disk|blobs) .+|a write fails .+"
    r"|the power is lost|p\d (has started|is stopped|is killed)"
)
_PUSH = r"[abc] pushes .+"
_CALL = r"[abc] (invokes|ok|refused|unknown|not-executed)"


def report_of(broken: Break, images: bool, explore: Explore) -> list[str]:
    scenario = partial(simulate, together=False, images=images)
    with pytest.MonkeyPatch.context() as patch:
        broken(patch)
        with pytest.raises(ScheduleFailure) as caught:
            explore(scenario, schedules=CI_SEEDS)
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
            rf"{_CALL} (push|look) .+",
        ),
        (
            forget_announcements,
            False,
            r" ([vwz], )+p\d's listener \d/[vwz](, p\d's listener \d/[vwz])*:",
            rf"{_CALL} .+|[vwz] is committed at \d+|p\d's listener \d is told [vwz] at \d+|{_PUSH}",
        ),
        (
            forget_before_the_deletion,
            True,
            r" blob/[\w-]+:",
            r"[\w-]{73} is (stored|durable|named by the database|not named any more|back|lost)",
        ),
    ],
    ids=["file", "listener", "blob"],
)
def test_report_shows_the_faults_and_the_history_of_what_failed(
    broken: Break, images: bool, about: str, shown: str, explore: Explore
) -> None:
    report = report_of(broken, images, explore)
    _, faults = section(report, "faults:")
    assert [each for each in faults if not _FAULT.fullmatch(each)] == []
    subjects, events = section(report, "history of")
    assert re.fullmatch(about, subjects), subjects
    assert [each for each in events if not re.fullmatch(shown, each)] == []


def test_report_names_every_task(explore: Explore) -> None:
    report = report_of(forget_announcements, False, explore)
    (latest,) = [line for line in report if line.strip().startswith("latest:")]
    assert [each for each in ("<lambda>", "<locals>", "functools") if each in latest] == []
