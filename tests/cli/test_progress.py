"""The progress of a long command: the bar and the lines."""

import io
import sys

import pytest

from octavo.cli.progress import ProgressDisplay, bar
from octavo.service.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("progress", "expected"),
    [
        (
            Progress("writing", 0, 190_000_000),
            "writing  [                              ]   0%  0.0 MB of 190 MB",
        ),
        (
            Progress("writing", 95_000_000, 190_000_000),
            "writing  [###############               ]  50%  95 MB of 190 MB",
        ),
        # The size was an estimate.
        (
            Progress("copying", 2_000_000, 1_000_000),
            "copying  [##############################] 100%  2.0 MB of 1.0 MB",
        ),
        (Progress("checking", 0, None), "checking …"),
        (Progress("receiving", 12_000_000, None), "receiving 12 MB …"),
    ],
)
def test_bar_shows_share_and_sizes(progress: Progress, expected: str) -> None:
    assert bar(progress) == expected


def test_terminal_gets_a_bar_that_is_cleared_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with ProgressDisplay() as display:
        display(Progress("writing", 1, 2))
        display(Progress("checking", 0, None))
    drawn = terminal.getvalue().split("\r")
    assert drawn[1].startswith("writing")
    assert drawn[2].rstrip() == "checking …"
    assert drawn[-2].strip() == drawn[-1] == ""
    assert len(drawn[1]) == len(drawn[2])


def test_other_output_gets_a_line_for_each_step(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressDisplay() as display:
        display(Progress("writing", 1, 2_000_000))
        display(Progress("writing", 2, 2_000_000))
        display(Progress("checking", 0, None))
    assert capsys.readouterr() == ("", "octavo: writing 2.0 MB\noctavo: checking\n")


def test_other_output_gets_no_lines_if_they_are_not_wanted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ProgressDisplay(lines=False) as display:
        display(Progress("sending", 1, 2_000_000))
    assert capsys.readouterr() == ("", "")
